/**
 * Texts of statements for editors: tokens, words, the place of a completion, syntax errors and what
 * a statement does. An entry of its own, with the parser and without the rest of the engine, because
 * a shell and a browser load it.
 */

export { type CompletionPlace, completionPlace, type NamedCollection } from "./completion.ts";
export { type Split, type StatementText, split, splitStatements, statementAt } from "./split.ts";
export {
  findMistake,
  outlineStatement,
  type StatementMistake,
  type StatementOutline,
  type WholeCollectionWrite,
} from "./statement-outline.ts";
export { type Token, type TokenKind, tokensOf } from "./token.ts";
export { FUNCTIONS, isFunction, isKeyword, KEYWORDS, SYSTEM_COLLECTIONS } from "./words.ts";
