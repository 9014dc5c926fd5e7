/**
 * Patterns of users on every platform: re2js, the one library that the engine brings. A host makes
 * its `Platform.pattern` of it.
 */

export { PATTERN_LIMITS, PatternCompiler, type PatternLimits } from "./pattern-compiler.ts";
