/**
 * Bugs of attachments that are planted to see whether the simulator finds them.
 */

import { DeviceContents } from "../../src/peer/contents/device-contents.ts";
import { MemoryContents } from "../../src/peer/contents/memory-contents.ts";
import { replace } from "../support/replaced-method.ts";
import type { PlantedBug } from "./planted-bug.ts";

const TOO_EARLY = "[S90] a content is uploaded before its document";

export const PLANTED_CONTENT_BUGS: readonly PlantedBug[] = [
  {
    name: "uploads do not wait for contents",
    shows: [TOO_EARLY],
    plant: () =>
      replace(
        DeviceContents.prototype,
        "holds",
        () =>
          function holds() {
            return false;
          },
      ),
  },
  {
    name: "an upload goes on at another byte than it ended",
    shows: ["no transfer fails for good", "what is fetched is what was created"],
    plant: () =>
      replace(
        MemoryContents.prototype,
        "read",
        (original) =>
          function read(this: MemoryContents, id, len, offset) {
            return original.call(this, id, len, Math.max(0, offset - 1));
          },
      ),
  },
];
