/**
 * Stream start: where a new stream begins, by the cursor of the peer (S12 to S14, S69, S72).
 */

import { compareBytes, documentId, type StreamMode, type SyncCursor } from "@bigpeer/protocol";
import type { PreparedStream } from "./filter.ts";
import { Progress } from "./progress.ts";
import type { Stream } from "./stream.ts";

/** The state of the store that the choice depends on. */
export interface StoreState {
  readonly historyId: string;
  readonly txnId: number;
  /** The first transaction that is still in the change log. */
  readonly logStart: () => number;
  /** Transactions since a cursor beyond which the server compares. */
  readonly resumeTransactions: number;
}

export interface StreamStart {
  /** The mode for `subscribed`. */
  readonly mode: StreamMode;
  readonly progress: Progress;
}

/** `former`: the stream of the session that already has the filter. */
export function startOf(
  prepared: PreparedStream,
  cursor: SyncCursor | undefined,
  former: Stream | undefined,
  store: StoreState,
): StreamStart {
  if (cursor === undefined) return { mode: "fill", progress: Progress.ofScan("fill") };
  const mode = modeOf(prepared, cursor, former, store);
  if (mode !== "resume") return { mode, progress: Progress.ofScan(mode) };
  const { txn, after } = cursor;
  if (after === undefined) return { mode, progress: Progress.ofCursor(txn) };
  return { mode: "fill", progress: Progress.ofInterruptedFill(documentId(after).key, txn) };
}

/** `resume`: the stream continues at the cursor. */
function modeOf(
  { filter, link }: PreparedStream,
  cursor: SyncCursor,
  former: Stream | undefined,
  store: StoreState,
): StreamMode {
  const { historyId, txnId, logStart, resumeTransactions } = store;
  if (cursor.history !== historyId || cursor.txn > txnId) return "fill";
  const isSame = compareBytes(cursor.filter, filter) === 0;
  if (link !== undefined) {
    // A link does not compare (S50), and it never removes a document (S51).
    return former === undefined && isSame && cursor.txn >= logStart() ? "resume" : "fill";
  }
  // Two subscriptions with one filter and different positions can only start over (S69).
  if (former !== undefined) return former.scan?.kind === "fill" ? "fill" : "compare";
  const isFar = txnId - cursor.txn > resumeTransactions;
  return isSame && !isFar && cursor.txn >= logStart() ? "resume" : "compare";
}
