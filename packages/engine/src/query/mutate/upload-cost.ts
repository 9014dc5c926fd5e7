/**
 * UploadCost: limits what an upload costs the store beyond its own size.
 *
 * Each write costs as much as the whole document. So many small steps on one large document could
 * block all other writes for hours. An upload that names many births or removes many fields could
 * make a small document too large for any message.
 */

import { documentId, PeerError } from "@bigpeer/protocol";
import { DOCUMENT_META_SIZE_MAX, UPLOAD_COST_MAX, UPLOAD_META_WEIGHT } from "../../limits.ts";
import type { Steps } from "../../steps.ts";
import type { CheckedStep } from "../../store/upload.ts";
import { encodedSize } from "./document-size.ts";

type Applied = Pick<CheckedStep, "transaction" | "operations">;

/** Counts the writes of one upload to documents that it has already written. */
export class UploadCost {
  readonly #written = new Map<string, Set<string>>();
  #sum = 0;

  /** Call it before a step is applied. Throws beyond the limit. */
  *spend({ transaction, operations }: Applied): Steps<void> {
    const { view } = transaction;
    for (const { collection, id } of operations) {
      yield;
      if (this.#isFirst(collection, documentId(id).key)) continue;
      const shown = view.get(collection, id);
      this.#sum += shown === undefined ? 0 : encodedSize(shown.fields);
      this.#sum += view.metaSize(collection, id) * UPLOAD_META_WEIGHT;
      if (this.#sum <= UPLOAD_COST_MAX) continue;
      const message = "the upload writes too often to documents that are large";
      throw new PeerError("operation.refused", message);
    }
  }

  #isFirst(collection: string, idKey: string): boolean {
    let keys = this.#written.get(collection);
    if (keys === undefined) {
      keys = new Set();
      this.#written.set(collection, keys);
    }
    const { size } = keys;
    return keys.add(idKey).size > size;
  }
}

/** Bytes of the invisible state of the documents of a step, in its order. */
export function* metaSizes({ transaction, operations }: Applied): Steps<readonly number[]> {
  const sizes: number[] = [];
  for (const { collection, id } of operations) {
    sizes.push(transaction.view.metaSize(collection, id));
    yield;
  }
  return sizes;
}

/** Call it after a step was applied, with the sizes before it. */
export function* checkMetaSizes(step: Applied, before: readonly number[]): Steps<void> {
  for (const [i, size] of (yield* metaSizes(step)).entries()) {
    // A document that arrived too large may still be made smaller.
    if (size <= DOCUMENT_META_SIZE_MAX || size <= (before[i] ?? 0)) continue;
    const limit = `it would have more than ${DOCUMENT_META_SIZE_MAX} bytes`;
    throw new PeerError("operation.refused", `the history of the document is too large: ${limit}`);
  }
}
