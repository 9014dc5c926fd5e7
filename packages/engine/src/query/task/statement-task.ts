/**
 * STATEMENT: the task of `execute`, which runs any statement of the query language.
 */

import type { StatementRequest, StatementResult } from "../request.ts";
import type { StatementOutput } from "../statement/work.ts";
import type { TaskKind } from "./task-kind.ts";

export const STATEMENT: TaskKind<StatementRequest, StatementOutput, StatementResult> = {
  requestType: "execute",
  isStatement: true,
  textOf: ({ statement }) => statement,
  labelOf: ({ statement }) => statement,
  prepare: ({ statement }, preparation, { texts }) => texts.takeStatement(statement, preparation),
  countOf: ({ items, ids }) => Math.max(items.length, ids.length),
  resultOf: (done, { queryType }) => {
    const result: StatementResult = {
      queryType,
      items: done.result.items,
      mutatedDocumentIds: done.result.ids,
      warnings: done.warnings,
      totalWarningsCount: done.totalWarnings,
      transactionId: done.txnId,
    };
    return done.isReplay ? { ...result, isReplay: true } : result;
  },
};
