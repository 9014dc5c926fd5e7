/**
 * Own writes: the document operations of one transaction of this store, as a small peer uploads
 * them.
 *
 * Each operation is noted as its writer's view resolved it, and only if it wrote something.
 * Evictions are noted beside them: they are local and never uploaded.
 */

import type { OnDocument, Operation, UploadOperation } from "@bigpeer/protocol";
import type { Step } from "./records.ts";

export interface OwnStep {
  readonly time: number;
  readonly operations: readonly UploadOperation[];
}

export class OwnWrites {
  readonly #steps: { readonly time: number; readonly operations: UploadOperation[] }[] = [];
  readonly #evicted: OnDocument[] = [];

  /** In the order of their times. */
  get steps(): readonly OwnStep[] {
    return this.#steps;
  }

  get evicted(): readonly OnDocument[] {
    return this.#evicted;
  }

  add(time: number, operation: UploadOperation): void {
    const last = this.#steps.at(-1);
    if (last?.time === time) last.operations.push(operation);
    else this.#steps.push({ time, operations: [operation] });
  }

  addEvicted({ collection, id }: OnDocument): void {
    this.#evicted.push({ collection, id });
  }
}

/**
 * A step as the log keeps it. Of a layer operation it keeps only the name of the document, of local
 * operations nothing. Undefined when nothing is left.
 */
export function loggedStep(step: Step): Step | undefined {
  if (!step.operations.some(({ kind }) => kind === "layer" || kind === "local")) return step;
  const operations: Operation[] = [];
  for (const operation of step.operations) {
    if (operation.kind === "layer") {
      operations.push({ kind: "layer", collection: operation.collection, id: operation.id });
    } else if (operation.kind !== "local") {
      operations.push(operation);
    }
  }
  return operations.length === 0 ? undefined : { ...step, operations };
}
