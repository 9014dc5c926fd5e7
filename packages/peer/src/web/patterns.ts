/**
 * Patterns of statements, in a bundle of their own that the worker loads on use (lazy-code.ts).
 */

export { PatternCompiler } from "@bigpeer/engine/pattern";
