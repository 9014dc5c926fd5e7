/**
 * Descriptions of plans for people: EXPLAIN, PROFILE and ADVISE. An entry of its own, because a
 * browser loads it on use. A host returns it by `Platform.explainer`.
 */

export { PLAN_EXPLAINER } from "../query/explain/explainer.ts";
