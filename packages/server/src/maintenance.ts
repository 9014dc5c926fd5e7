/**
 * Maintenance: lets every store forget what its retention allows, at the start and every hour.
 *
 * It works in the background and in bounded transactions of the stores themselves. What fails is
 * logged and tried again an hour later.
 */

import { PeerError } from "@bigpeer/protocol";
import { describeError, type Log } from "./log.ts";
import { RepeatedPass } from "./repeated-pass.ts";
import type { StoreFolder } from "./store-folder.ts";

export interface MaintenanceOptions {
  readonly log: Log;
  readonly everyMs?: number;
}

/** Begins at once. To be stopped before the stores are closed, which ends what is under way. */
export function startMaintenance(
  stores: readonly StoreFolder[],
  { log, everyMs }: MaintenanceOptions,
): RepeatedPass {
  return new RepeatedPass(async (isStopped) => {
    for (const opened of stores) {
      if (isStopped()) return;
      try {
        await opened.store.maintain();
        if (!isStopped()) opened.recordLife();
      } catch (error) {
        if (isStopped() && error instanceof PeerError && error.code === "store.closed") return;
        log("error", `maintenance of ${opened.folder} failed: ${describeError(error)}`);
      }
    }
  }, everyMs);
}
