/**
 * FIND and COUNT: the tasks of the data API that read the documents that a filter selects.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { checkCollectionName, refuseUnknown } from "../command/known-collection.ts";
import type { Steps } from "../frame/steps.ts";
import type { CountRequest, CountResult, FindRequest, FindResult } from "../request.ts";
import { explainedChoosing, explaining } from "../run/choose.ts";
import type { Execution } from "../run/execution.ts";
import { explainerOf } from "../run/plan-explainer.ts";
import { filterLabel, type PreparedFind } from "../statement/find.ts";
import { filtersOf } from "./prepared-filters.ts";
import type { Ready, TaskKind } from "./task-kind.ts";

/** The parts in which the two differ. */
interface FilterParts<R, T, Result>
  extends Pick<TaskKind<R & CountRequest, T, Result>, "requestType" | "countOf" | "resultOf"> {
  /** Reads the selected documents. */
  readonly read: (prepared: PreparedFind, request: R, execution: Execution) => Steps<T>;
}

function filterTask<R extends CountRequest, T, Result>(
  parts: FilterParts<R, T, Result>,
): TaskKind<R, T, Result> {
  const readyWith = (prepared: PreparedFind, request: R): Ready<T> => {
    const { collection, isUnknownRefused } = request;
    const { label: text, plan, parameters } = prepared;
    const run = (execution: Execution): Steps<T> => {
      if (isUnknownRefused === true) refuseUnknown(execution.view, collection);
      return parts.read(prepared, request, execution);
    };
    return {
      text,
      kind: parts.requestType,
      queryType: "select",
      plan,
      parameters,
      access: [{ kind: "read", collection }],
      work: { kind: "read", run },
    };
  };
  return {
    ...parts,
    isStatement: false,
    textOf: ({ query }) => query,
    labelOf: filterLabel,
    prepare: (request, preparation, context) => {
      checkCollectionName(request.collection, "collection");
      const made = filtersOf(context).takeFind(request, preparation);
      return made instanceof Promise
        ? made.then((late) => readyWith(late, request))
        : readyWith(made, request);
    },
  };
}

interface Found {
  readonly documents: readonly StoredDocument[];
  readonly plan: ValueObject | undefined;
}

export const FIND: TaskKind<FindRequest, Found, FindResult> = filterTask({
  requestType: "find",
  *read(prepared, { offset = 0, limit = Infinity, isPlanWanted }, execution) {
    const how = isPlanWanted === true && explaining(yield* explainedChoosing(execution));
    const plan = how === false ? undefined : explainerOf(execution.run).explain(prepared.plan, how);
    return { documents: yield* prepared.documents(execution, { offset, limit }), plan };
  },
  countOf: ({ documents }) => documents.length,
  resultOf: ({ result: { documents, plan }, txnId }) => {
    const found = { documents, transactionId: txnId };
    return plan === undefined ? found : { ...found, plan };
  },
});

export const COUNT: TaskKind<CountRequest, number, CountResult> = filterTask({
  requestType: "count",
  read: (prepared, _, execution) => prepared.count(execution),
  countOf: () => 1,
  resultOf: ({ result, txnId }) => ({ count: result, transactionId: txnId }),
});
