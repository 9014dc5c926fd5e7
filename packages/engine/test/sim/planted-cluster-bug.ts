/**
 * Bugs that are planted to see whether the simulator of a cluster finds them.
 */

import type { AppendOutcome } from "../../src/cluster/shared-log.ts";
import { UploadRelay } from "../../src/cluster/upload-relay.ts";
import { replace } from "../support/replaced-method.ts";
import { SimulatedLog } from "../support/simulated-log.ts";
import { ClusterNode } from "./cluster-node.ts";
import type { PlantedBug } from "./planted-bug.ts";

/** An entry at which a log has lost its tail is one of so many. */
const LOST_EVERY = 40;

export const PLANTED_CLUSTER_BUGS: readonly PlantedBug[] = [
  {
    name: "the log loses entries that it has acknowledged",
    shows: ["every node follows the log", "the entries of the log are one history"],
    plant: () =>
      replace(
        SimulatedLog.prototype,
        "append",
        (original) =>
          async function append(this: SimulatedLog, bytes, target): Promise<AppendOutcome> {
            const outcome = await original.call(this, bytes, target);
            if (outcome.kind === "appended" && outcome.sequence % LOST_EVERY === 0) this.lose(2);
            return outcome;
          },
      ),
  },
  {
    name: "a node says welcome while it lags",
    shows: [
      "[S4] welcome is said by a server that is up to date",
      "[S30] no peer takes a server for a restored one that is not",
    ],
    plant: () => replace(ClusterNode.prototype, "catchUp", () => async () => undefined),
  },
  {
    name: "uploads of a session overtake each other on their way to the evaluating node",
    shows: [
      "[S32] the uploads of a session are taken in their order",
      "[S29] a site of one store is not forked",
    ],
    plant: () =>
      replace(
        UploadRelay.prototype,
        "upload",
        (original) =>
          function upload(this: UploadRelay<never>, asked) {
            return original.call(this, { ...asked, channel: { ...asked.channel } } as never);
          },
      ),
  },
];
