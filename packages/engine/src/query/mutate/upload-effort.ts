/**
 * Upload effort: what an upload costs the writer of the store, beyond its own size.
 *
 * Each write to a document costs as much as the whole of it. So an upload of many small steps on one
 * large document could hold up everybody for hours; and one that names many births or removes many
 * fields could make of a small document one that no message has room for.
 */

import { documentId, PeerError } from "@bigpeer/protocol";
import { DOCUMENT_META_SIZE_MAX, UPLOAD_EFFORT_MAX, UPLOAD_META_WEIGHT } from "../../limits.ts";
import type { Steps } from "../../steps.ts";
import type { JudgedStep } from "../../store/upload.ts";
import { encodedSize } from "./document-size.ts";

type Applied = Pick<JudgedStep, "transaction" | "operations">;

/** Counts the writes of one upload to documents that it has written to before. */
export class UploadEffort {
  readonly #written = new Map<string, Set<string>>();
  #sum = 0;

  /** To be called before a step is applied. Refuses one that is too much. */
  *spend({ transaction, operations }: Applied): Steps<void> {
    const { view } = transaction;
    for (const { collection, id } of operations) {
      yield;
      if (this.#isFirst(collection, documentId(id).key)) continue;
      const shown = view.get(collection, id);
      this.#sum += shown === undefined ? 0 : encodedSize(shown.fields);
      this.#sum += view.metaSize(collection, id) * UPLOAD_META_WEIGHT;
      if (this.#sum <= UPLOAD_EFFORT_MAX) continue;
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

/** What is held of the documents of a step beside what shows of them, in its order. */
export function* metaSizes({ transaction, operations }: Applied): Steps<readonly number[]> {
  const sizes: number[] = [];
  for (const { collection, id } of operations) {
    sizes.push(transaction.view.metaSize(collection, id));
    yield;
  }
  return sizes;
}

/** To be called after a step was applied, with the sizes of before. */
export function* checkMetaSizes(step: Applied, before: readonly number[]): Steps<void> {
  for (const [i, size] of (yield* metaSizes(step)).entries()) {
    // What came too large from elsewhere may still be made smaller.
    if (size <= DOCUMENT_META_SIZE_MAX || size <= (before[i] ?? 0)) continue;
    const limit = `it would have more than ${DOCUMENT_META_SIZE_MAX} bytes`;
    throw new PeerError("operation.refused", `the history of the document is too large: ${limit}`);
  }
}
