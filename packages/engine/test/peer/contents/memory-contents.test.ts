/**
 * Contents in memory keep the contract of a ContentPlace.
 */

import { MemoryContents } from "../../../src/peer/contents/memory-contents.ts";
import { contentPlaceContract } from "../../contract/content-place-contract.ts";
import { testHash } from "../../support/content-server.ts";

contentPlaceContract("MemoryContents", async () => ({
  place: new MemoryContents(testHash),
  restart: async () => new MemoryContents(testHash),
  isDurable: false,
}));
