/**
 * OpenDocuments: the documents that a transaction has opened, with an estimate of their memory.
 *
 * There may be very many, so only the most recent ones keep their decoded states. Most transactions
 * open a single document; nothing is counted for it.
 */

import type { Operation } from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import { metaKey } from "./keys.ts";
import { OpenDocument } from "./open-document.ts";
import type { Overlay } from "./overlay.ts";
import { approximateSize } from "./records.ts";

/**
 * Decoded states that are kept beside the records: for documents that are written to again and
 * again. The widest document has a state of about eight megabytes.
 */
export const STATES_MAX = 8;

/** Memory of a document beside its values: keys, map entries, its change in the log. */
const DOCUMENT_BYTES = 700;

/** Written values are also encoded, and copied to pages of the storage. */
const WRITTEN_WEIGHT = 1.5;

export class OpenDocuments {
  readonly #overlay: Overlay;
  /** Allocated with the second document. */
  #all: Map<string, OpenDocument> | undefined;
  /** The last document that was opened: most are read and then written. */
  #last: OpenDocument | undefined;
  /** Ring buffer of the documents before it whose states are kept. */
  #recent: OpenDocument[] | undefined;
  #recentAt = 0;
  /** Estimated bytes of all of them and of what was written to them. */
  bytes = 0;

  constructor(overlay: Overlay) {
    this.#overlay = overlay;
  }

  values(): Iterable<OpenDocument | undefined> {
    return this.#all?.values() ?? [this.#last];
  }

  /** Number of documents whose states are in memory. */
  get stateCount(): number {
    let count = 0;
    for (const document of this.values()) if (document?.hasState === true) count++;
    return count;
  }

  open(collection: number, idKey: string): OpenDocument {
    const last = this.#last;
    if (last?.collection === collection && last.idKey === idKey) return last;
    if (last?.hasState === true) this.#keepState(last);
    const key = metaKey(collection, idKey);
    let document = this.#all?.get(key);
    if (document === undefined) {
      const place = { collection, idKey, metaKey: key };
      document = new OpenDocument(place, this.#overlay.get(key), this.#overlay);
      if (last !== undefined) this.#all ??= new Map([[last.metaKey, last]]);
      if (this.#all !== undefined) this.#add(this.#all, document);
    }
    this.#last = document;
    return document;
  }

  #add(all: Map<string, OpenDocument>, document: OpenDocument): void {
    const { before } = document;
    all.set(document.metaKey, document);
    this.bytes += DOCUMENT_BYTES + (before === undefined ? 0 : approximateSize(before.fields));
  }

  #keepState(document: OpenDocument): void {
    this.#recent ??= [];
    const oldest = this.#recent[this.#recentAt];
    this.#recent[this.#recentAt] = document;
    this.#recentAt = (this.#recentAt + 1) % STATES_MAX;
    if (oldest === undefined || oldest === document) return;
    oldest.forgetState(this.#overlay.get(oldest.metaKey));
  }

  /** Counts an applied operation: it will be in the log. */
  countOperation(operation: Operation): void {
    if (this.#all === undefined) return;
    const isWhole = operation.kind === "insert" || operation.kind === "initial";
    // The shown fields of a whole document were measured just before.
    this.bytes += isWhole ? (this.#last?.bytes ?? 0) : WRITTEN_WEIGHT * approximateSize(operation);
  }

  /** Counts the new shown fields of a document: in memory, and in pages of the storage. */
  countShown(document: OpenDocument, shown: Shown | undefined, meta: Uint8Array): void {
    if (this.#all === undefined) return;
    const shownSize = shown === undefined ? 0 : approximateSize(shown.fields);
    const bytes = WRITTEN_WEIGHT * shownSize + meta.length;
    this.bytes += bytes - document.bytes;
    document.bytes = bytes;
  }
}
