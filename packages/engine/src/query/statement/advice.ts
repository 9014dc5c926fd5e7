/**
 * ADVISE statement: suggests indexes for a statement and lists the existing ones that it uses. AND
 * PROVISION creates the suggested indexes.
 */

import { semanticFault } from "../fault.ts";
import { transactionOf } from "../mutate/application.ts";
import { explainedChoosing } from "../run/choose.ts";
import { explainerOf } from "../run/plan-explainer.ts";
import type { AdviseStatement } from "../syntax/tree.ts";
import { type Prepared, type RunWork, slowRead } from "./work.ts";

export function advisePrepared(advise: AdviseStatement, inner: Prepared): Prepared {
  const { statement, isProvision, at } = advise;
  const { plan } = inner;
  if (plan === undefined || statement.kind === "profile" || statement.kind === "explain") {
    throw semanticFault(`ADVISE expects a statement with a plan, found ${statement.kind}`, at);
  }
  if (!isProvision) {
    return slowRead(function* advised(execution) {
      const { view } = yield* explainedChoosing(execution);
      const explainer = explainerOf(execution.run);
      const advice = explainer.advise(plan, (collection) => view.indexesOf(collection));
      return [explainer.adviceRow(statement, advice)];
    });
  }
  const run: RunWork = function* run(execution) {
    const transaction = transactionOf(execution);
    const explainer = explainerOf(execution.run);
    const advice = explainer.advise(plan, (collection) => execution.view.indexesOf(collection));
    const done = yield* explainer.provision(advice, transaction);
    return { items: [explainer.adviceRow(statement, advice, done)], ids: [] };
  };
  return { queryType: "select", work: { kind: "write", run }, plan: undefined };
}
