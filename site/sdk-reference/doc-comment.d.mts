/**
 * Types of doc-comment.mjs, for the tests.
 */

export interface DocExample {
  readonly caption: string;
  readonly code: string;
  /** The line of its file that the code begins at. */
  readonly line: number;
}

export interface DocComment {
  readonly description: string;
  readonly parameters: readonly { readonly name: string; readonly description: string }[];
  readonly returns: string;
  readonly errors: readonly string[];
  readonly examples: readonly DocExample[];
  readonly tags: readonly string[];
}

export declare function parseDocComment(comment: string, line: number): DocComment;

export declare function printedLines(code: string): string[];
