/**
 * Code use: which code that a host may load late a statement can use, by its text alone.
 *
 * The host asks before the statement is prepared. The answer may be yes for a statement that uses
 * none, such as one with the word in a string.
 */

/** The functions on patterns, and SIMILAR TO. A name cannot be written with escapes. */
const PATTERN_USE = /regexp_|similar/i;

/** Whether it can use `Platform.pattern`. */
export function mayUsePatterns(statement: string): boolean {
  return PATTERN_USE.test(statement);
}

/** The statements about statements, and the collections that show the plans of running ones. */
const EXPLAINER_USE = /\b(explain|profile|advise|active_requests|actives)\b/i;

/** Whether it can use `Platform.explainer`. */
export function mayUseExplainer(statement: string): boolean {
  return EXPLAINER_USE.test(statement);
}
