/**
 * Attachment writer: maintains the records and references of attachments inside one transaction.
 *
 * It is a part of the applier: it changes keys only through the overlay of the transaction and
 * depends on nothing else (K20). References move with each document. Orphan marks follow at the end
 * of a step, so that a statement that changes many references reads each attachment once. A
 * document without a token costs one comparison.
 */

import type { AttachOperation } from "@bigpeer/protocol";
import { attachmentIds, mayDifferInAttachments } from "../crdt/attachments.ts";
import type { DocumentState } from "../crdt/state.ts";
import type { Reader } from "../platform.ts";
import type { Steps } from "../steps.ts";
import { attachmentKey, orphanKey, referenceKey, referenceRange } from "./keys.ts";
import type { Overlay } from "./overlay.ts";
import { type AttachmentRecord, UPLOADERS_MAX } from "./records.ts";

export class AttachmentWriter {
  readonly #overlay: Overlay;
  /** Attachments that this step recorded, or that gained or lost a reference in it. */
  #touched: Set<string> | undefined;

  constructor(overlay: Overlay) {
    this.#overlay = overlay;
  }

  /** Moves the references of a document from its current state to its next one. */
  move(
    document: {
      readonly collection: number;
      readonly idKey: string;
      readonly state: DocumentState;
    },
    after: DocumentState,
  ): void {
    const { collection, idKey, state: before } = document;
    if (!mayDifferInAttachments(before, after)) return;
    const from = attachmentIds(before);
    const to = attachmentIds(after);
    for (const id of from) {
      if (to.has(id)) continue;
      this.#overlay.remove(referenceKey(id, collection, idKey));
      this.#touch(id);
    }
    for (const id of to) {
      if (from.has(id)) continue;
      this.#overlay.put(referenceKey(id, collection, idKey), true);
      this.#touch(id);
    }
  }

  isKnown(id: string): boolean {
    return this.#read(id) !== undefined;
  }

  isReferenced(id: string): boolean {
    return isReferenced(this.#overlay, id);
  }

  /** Records an attachment. False when it is known and referenced, with the same last uploader. */
  attach({ id, len, by }: AttachOperation): boolean {
    const before = this.#read(id);
    const uploaders = [...(before?.by ?? []).filter((name) => name !== by), by];
    const after = { ...before, len, by: uploaders.slice(-UPLOADERS_MAX) };
    const isSame = before !== undefined && isSameRecord(before, after);
    if (isSame && this.isReferenced(id)) return false;
    if (!isSame) this.#overlay.put(attachmentKey(id), after);
    this.#touch(id);
    return true;
  }

  /** Removes the record of a known attachment. */
  detach(id: string): void {
    const orphanedAt = this.#read(id)?.orphanedAt;
    if (orphanedAt !== undefined) this.#overlay.remove(orphanKey(orphanedAt, id));
    this.#overlay.remove(attachmentKey(id));
  }

  /** Whether a step must end with settle(). */
  get isTouched(): boolean {
    return this.#touched !== undefined;
  }

  /** Ends a step: touched attachments without a reference become orphans at `time`. */
  *settle(time: number): Steps<void> {
    const due: [id: string, record: AttachmentRecord, isReferenced: boolean][] = [];
    // All reads before all writes: reading a range just after a write to it is slow.
    for (const id of this.#touched ?? []) {
      const record = this.#read(id);
      if (record !== undefined) due.push([id, record, this.isReferenced(id)]);
      yield;
    }
    this.#touched = undefined;
    for (const [id, record, isInUse] of due) {
      this.#mark(id, record, isInUse ? undefined : time);
      yield;
    }
  }

  #touch(id: string): void {
    this.#touched ??= new Set();
    this.#touched.add(id);
  }

  #mark(id: string, { len, by, orphanedAt: before }: AttachmentRecord, after?: number): void {
    if (before === after) return;
    if (before !== undefined) this.#overlay.remove(orphanKey(before, id));
    if (after !== undefined) this.#overlay.put(orphanKey(after, id), true);
    const record = after === undefined ? { len, by } : { len, by, orphanedAt: after };
    this.#overlay.put(attachmentKey(id), record);
  }

  #read(id: string): AttachmentRecord | undefined {
    return this.#overlay.get(attachmentKey(id)) as AttachmentRecord | undefined;
  }
}

/** Whether a document of the store refers to the attachment. */
export function isReferenced(reader: Reader, id: string): boolean {
  for (const _ of reader.keys(referenceRange(id))) return true;
  return false;
}

function isSameRecord(a: AttachmentRecord, b: AttachmentRecord): boolean {
  if (a.len !== b.len || a.by.length !== b.by.length) return false;
  return a.by.every((name, i) => name === b.by[i]);
}
