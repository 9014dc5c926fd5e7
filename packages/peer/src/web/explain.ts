/**
 * EXPLAIN, PROFILE and ADVISE, in a bundle of their own that the worker loads on use (lazy-code.ts).
 */

export { PLAN_EXPLAINER } from "@bigpeer/engine/explain";
