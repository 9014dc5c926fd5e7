/**
 * REPLAYING_AUTOCOMMIT: runs each request as AUTOCOMMIT does, and replays write requests with an
 * idempotency key. Only the data API has such keys.
 */

import { AUTOCOMMIT, type Autocommit } from "./autocommit.ts";
import { replayableOf } from "./replay.ts";
import { TransactionWrite } from "./transaction-write.ts";

export const REPLAYING_AUTOCOMMIT: Autocommit = {
  isAtOnce: false,
  run: (ready, taskRun) => {
    const replayable = ready.work.kind === "write" ? replayableOf(taskRun) : undefined;
    if (replayable === undefined) return AUTOCOMMIT.run(ready, taskRun);
    return new TransactionWrite(ready.work, taskRun, replayable).run();
  },
};
