/**
 * UploadStep: one statement of an upload, whose operations share a time.
 */

import type { UploadOperation } from "@bigpeer/protocol";

/**
 * One statement of a local write: its time, and the operations that it made.
 *
 * @example
 * const collectionsOf = (steps: readonly UploadStep[]): string[] =>
 *   steps.flatMap(({ operations }) => operations.map(({ collection }) => collection));
 * peer.on("refused", ({ steps }) => console.error("refused in", collectionsOf(steps)));
 */
export interface UploadStep {
  /** When it was written, in ticks of the hybrid logical clock (docs/glossary.md). */
  readonly time: number;
  /** Its operations, in their order. */
  readonly operations: readonly UploadOperation[];
}
