/**
 * Refused uploads: the last uploads that were refused or set aside, with their documents.
 *
 * The store keeps the outcome of a refused upload and nothing else. So the sync explanation finds
 * here what became of a write. The list is in memory and holds the newest uploads.
 */

import { documentId, type OutcomeKind, PeerError, type Site, type Value } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { UploadRecord } from "../../store/records.ts";
import type { Upload } from "../../store/upload.ts";

export interface RefusedUpload {
  readonly peerKey: string;
  /** A peer may claim any key: the same key with another credential is another peer. */
  readonly credential: string;
  readonly site: Site;
  readonly number: number;
  /** The transaction that it became, in which nothing of it has an effect, or only a part. */
  readonly txn: number;
  readonly kind: Exclude<OutcomeKind, "applied">;
  readonly reason: string;
}

interface Remembered extends RefusedUpload {
  readonly documents: ReadonlySet<string>;
  readonly bytes: number;
}

export const REFUSED_UPLOADS_MAX = 1000;

/** Approximate bytes of all document names. */
const BYTES_MAX = 8 * 1024 * 1024;

/** Operations that are processed between two pauses. */
const OPERATIONS_PER_PAUSE = 64;

export class RefusedUploads {
  /** Oldest first. */
  readonly #uploads = new Map<string, Remembered>();
  #bytes = 0;

  get count(): number {
    return this.#uploads.size;
  }

  /** Adds an upload that has an outcome. Does nothing if it was applied or is known. */
  *add(
    { peerKey, credential }: Pick<RefusedUpload, "peerKey" | "credential">,
    { site, number, steps }: Upload,
    record: UploadRecord,
  ): Steps<void> {
    const { outcome: kind, txnId: txn, reason } = record;
    const name = `${site}/${number}`;
    if (kind === "applied" || this.#uploads.has(name)) return;
    const documents = new Set<string>();
    let bytes = 0;
    let count = 0;
    for (const { operations } of steps) {
      for (const { collection, id } of operations) {
        if (++count % OPERATIONS_PER_PAUSE === 0) yield;
        const place = writtenPlace(collection, id);
        if (place === undefined || documents.has(place) || bytes > BYTES_MAX) continue;
        documents.add(place);
        bytes += place.length;
      }
    }
    if (this.#uploads.has(name)) return;
    const refused = { peerKey, credential, site, number, txn, kind, reason };
    this.#uploads.set(name, { ...refused, documents, bytes });
    this.#bytes += bytes;
    this.#forget();
  }

  /** Uploads of a peer that wrote a document, oldest first. */
  of(peerKey: string, collection: string, idKey: string): RefusedUpload[] {
    const place = placeOf(collection, idKey);
    const found: RefusedUpload[] = [];
    for (const upload of this.#uploads.values()) {
      if (upload.peerKey === peerKey && upload.documents.has(place)) found.push(upload);
    }
    return found;
  }

  #forget(): void {
    for (const [name, { bytes }] of this.#uploads) {
      if (this.#uploads.size <= REFUSED_UPLOADS_MAX && this.#bytes <= BYTES_MAX) return;
      this.#uploads.delete(name);
      this.#bytes -= bytes;
    }
  }
}

/** Includes the length of the name, so that no two places are equal. */
function placeOf(collection: string, idKey: string): string {
  return `${collection.length}/${collection}/${idKey}`;
}

/** An upload may have been refused because it names no valid document. */
function writtenPlace(collection: unknown, id: Value): string | undefined {
  if (typeof collection !== "string") return undefined;
  try {
    return placeOf(collection, documentId(id).key);
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
