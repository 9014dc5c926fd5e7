/**
 * Attachment check: the part of verify that compares the references, records and orphan entries of
 * attachments with each other and with the documents.
 *
 * Every token in a state has its reference, and every reference its token. A record is marked as an
 * orphan exactly while it has no reference. The check does not look at the content, which lies
 * outside the store.
 */

import { ATTACHMENT_ID_SIZE_MAX, isArray, isObject, type Value } from "@bigpeer/protocol";
import { attachmentIds } from "../crdt/attachments.ts";
import type { DocumentState } from "../crdt/state.ts";
import type { Key, Reader } from "../platform.ts";
import { isReferenced } from "./attachment-writer.ts";
import {
  attachmentKey,
  attachmentOfKey,
  HEAD_KEY,
  orphanKey,
  readOrphanKey,
  readReferenceKey,
  referenceKey,
} from "./keys.ts";
import { type AttachmentRecord, type Head, UPLOADERS_MAX } from "./records.ts";
import type { View } from "./view.ts";

type Report = (key: Key, message: string) => void;

export class AttachmentCheck {
  readonly #reader: Reader;
  readonly #view: View;
  readonly #report: Report;
  #records = 0;

  constructor(view: View, report: Report) {
    this.#reader = view.reader;
    this.#view = view;
    this.#report = report;
  }

  /** Checks that every token of a document has its reference. `key` is that of the metadata. */
  checkState(key: Key, state: DocumentState, collection: number, idKey: string): void {
    for (const id of attachmentIds(state)) {
      if (!this.#reader.has(referenceKey(id, collection, idKey))) {
        this.#report(key, `expected a reference to the attachment ${id}`);
      }
    }
  }

  checkReference(key: Key, value: Value): void {
    const { attachment, collection, idKey } = readReferenceKey(key);
    if (value !== true) this.#report(key, "expected a reference without content");
    const isCanonical = referenceKey(attachment, collection, idKey) === key;
    const { state } = this.#view.stateByKey(collection, idKey);
    if (!isCanonical || !attachmentIds(state).has(attachment)) {
      this.#report(key, "expected a document with this attachment");
    }
  }

  checkRecord(key: Key, value: Value): void {
    this.#records++;
    const id = attachmentOfKey(key);
    if (attachmentKey(id) !== key || id === "" || id.length > ATTACHMENT_ID_SIZE_MAX) {
      return this.#report(key, "expected the id of an attachment");
    }
    if (!isAttachmentRecord(value))
      return this.#report(key, "expected the record of an attachment");
    const { orphanedAt } = value;
    const isInUse = isReferenced(this.#reader, id);
    if (isInUse && orphanedAt !== undefined) {
      this.#report(key, "expected no time in the record of an attachment that is referred to");
    }
    if (!isInUse && orphanedAt === undefined) {
      this.#report(key, "expected the time since when no document refers to the attachment");
    }
    if (orphanedAt !== undefined && !this.#reader.has(orphanKey(orphanedAt, id))) {
      this.#report(key, "expected an entry among the unreferenced attachments");
    }
  }

  checkOrphan(key: Key, value: Value): void {
    const { time, attachment } = readOrphanKey(key);
    if (value !== true) this.#report(key, "expected an entry without content");
    const record = this.#reader.get(attachmentKey(attachment));
    const isOrphan = isObject(record) && (record as AttachmentRecord).orphanedAt === time;
    if (!isOrphan || orphanKey(time, attachment) !== key) {
      this.#report(key, "expected an attachment without a reference since then");
    }
  }

  checkTotal({ attachments }: Head): void {
    const recorded = attachments ?? 0;
    if (recorded === this.#records) return;
    this.#report(HEAD_KEY, `expected ${this.#records} attachments, found ${recorded}`);
  }
}

function isAttachmentRecord(value: Value): value is AttachmentRecord {
  if (!isObject(value)) return false;
  const { len, by, orphanedAt } = value as { [field: string]: Value | undefined };
  return (
    isWhole(len) &&
    isArray(by) &&
    by.length >= 1 &&
    by.length <= UPLOADERS_MAX &&
    by.every((name) => typeof name === "string") &&
    (orphanedAt === undefined || isWhole(orphanedAt))
  );
}

function isWhole(value: Value | undefined): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
