/**
 * BATCH: the task of the data API that writes commands, all or none.
 */

import {
  documentsOf,
  labelOf,
  type PreparedBatch,
  prepareBatch,
  usesOfCommands,
} from "../command/batch.ts";
import type { WriteResult } from "../command/command.ts";
import type { BatchResult, WriteRequest } from "../request.ts";
import { NOTHING_HELD } from "../run/time-slicer.ts";
import { filtersOf } from "./prepared-filters.ts";
import type { Ready, TaskKind } from "./task-kind.ts";

export const BATCH: TaskKind<WriteRequest, readonly WriteResult[], BatchResult> = {
  requestType: "write",
  isStatement: false,
  textOf: () => "",
  labelOf: ({ commands }) => labelOf(commands),
  prepare: (request, { budget, owner }, context) => {
    const { commands, isUnknownRefused = false } = request;
    const steps = prepareBatch(commands, { isUnknownRefused, texts: filtersOf(context) });
    const work = context.slicer.take(steps, budget, NOTHING_HELD, owner);
    return work instanceof Promise
      ? work.then((late) => readyWith(late, request))
      : readyWith(work, request);
  },
  countOf: documentsOf,
  resultOf: ({ result, txnId, isReplay }) => ({ results: result, transactionId: txnId, isReplay }),
};

function readyWith(
  work: PreparedBatch,
  { commands, authority }: WriteRequest,
): Ready<readonly WriteResult[]> {
  const access = authority === undefined ? [] : usesOfCommands(commands);
  return { kind: "write", queryType: "mutation", plan: undefined, parameters: [], access, work };
}
