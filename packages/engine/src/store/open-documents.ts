/**
 * OpenDocuments: the documents that a transaction has opened, and about what they take in memory.
 *
 * There may be very many: only the last ones keep their states. Most transactions open a single document,
 * for which nothing is counted.
 */

import type { Operation } from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import { metaKey } from "./keys.ts";
import { OpenDocument } from "./open-document.ts";
import type { Overlay } from "./overlay.ts";
import { approximateSize } from "./records.ts";

/**
 * States that are kept beside the records of their documents: those of documents that are written to
 * again and again. The widest document has one of about eight megabytes.
 */
export const STATES_MAX = 8;

/** What a document takes beside its values: keys, their places, its change in the log. */
const DOCUMENT_BYTES = 700;

/** What is written is also encoded, and in pages of the storage. */
const WRITTEN_WEIGHT = 1.5;

export class OpenDocuments {
  readonly #overlay: Overlay;
  /** Made with the second one. */
  #all: Map<string, OpenDocument> | undefined;
  /** The last one that was asked for: it is mostly read and then written. */
  #last: OpenDocument | undefined;
  /** Those before it whose states are kept, the oldest where the next will be. */
  #recent: OpenDocument[] | undefined;
  #recentAt = 0;
  /** About what all of them take, and what was written to them. */
  bytes = 0;

  constructor(overlay: Overlay) {
    this.#overlay = overlay;
  }

  values(): Iterable<OpenDocument | undefined> {
    return this.#all?.values() ?? [this.#last];
  }

  /** Documents whose states are in memory. */
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

  /** An operation was applied: it will be in the log. */
  countOperation(operation: Operation): void {
    if (this.#all === undefined) return;
    const isWhole = operation.kind === "insert" || operation.kind === "initial";
    // What a whole document shows was measured just before.
    this.bytes += isWhole ? (this.#last?.bytes ?? 0) : WRITTEN_WEIGHT * approximateSize(operation);
  }

  /** What a document shows from now on is in memory, and will be in pages of the storage. */
  countShown(document: OpenDocument, shown: Shown | undefined, meta: Uint8Array): void {
    if (this.#all === undefined) return;
    const shownSize = shown === undefined ? 0 : approximateSize(shown.fields);
    const bytes = WRITTEN_WEIGHT * shownSize + meta.length;
    this.bytes += bytes - document.bytes;
    document.bytes = bytes;
  }
}
