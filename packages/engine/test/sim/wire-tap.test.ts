/**
 * The judge of the wire on its own: which writes go to another site when one is forked.
 */

import { encodeMessage, type PeerMessage, type ServerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { seededRandom } from "../support/test-platform.ts";
import { Scheduler } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import { type AppliedUpload, type ServerOracle, uploadName } from "./server-oracle.ts";
import type { End } from "./sim-network.ts";
import { WireTap } from "./wire-tap.ts";

const SITE = "000000000000000a";
const DIGEST = new Uint8Array(32);

function upload(number: number, tag: string): PeerMessage {
  const operation = { kind: "insert", collection: "c", id: number, fields: { tag } } as const;
  return {
    t: "upload",
    number,
    digest: DIGEST,
    steps: [{ time: number, operations: [operation] }],
  };
}

/** A tap on one connection of a peer that writes as SITE. */
function tapOf(uploads: Map<string, AppliedUpload>): {
  readonly tap: WireTap;
  readonly says: (message: PeerMessage) => void;
  readonly hears: (message: ServerMessage) => void;
} {
  const scheduler = new Scheduler(seededRandom(1), false);
  const disk = {};
  const tap = new WireTap({
    scheduler,
    sent: new SentUploads(scheduler),
    oracle: () => ({ uploads, forgotten: new Set() }) as unknown as ServerOracle,
    credential: () => undefined,
    restores: () => 0,
    serverMs: () => 0,
    queueBytes: () => 1000,
    diskOf: () => disk,
    unsent: () => [],
    known: () => 0,
  });
  const end = { connection: { dialler: "p", number: 1 }, queuedBytes: 0 } as End;
  return {
    tap,
    says: (message) => tap.fromPeer(end, encodeMessage(message)),
    hears: (message) => tap.fromServer(end, encodeMessage(message)),
  };
}

test("[S75] uploads that a peer sends before it learns of the fork are part of it (seed 11014714)", () => {
  const { tap, says, hears } = tapOf(new Map());
  says({ t: "site", site: SITE });
  says(upload(1, "#p.1"));
  says(upload(2, "#p.2"));
  hears({ t: "forked", site: SITE, number: 2 });
  says(upload(3, "#p.3"));
  expect([...tap.restamped]).toEqual(["#p.2", "#p.3"]);
});

test("[S75] uploads of a forked site that the server took are not part of the fork", () => {
  const taken: AppliedUpload = { txn: 1, kind: "applied", tags: ["#p.1"] };
  const { tap, says, hears } = tapOf(new Map([[uploadName(SITE, 1), taken]]));
  says({ t: "site", site: SITE });
  says(upload(1, "#p.1"));
  hears({ t: "forked", site: SITE, number: 1 });
  expect([...tap.restamped]).toEqual([]);
});
