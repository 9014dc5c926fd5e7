/**
 * Open document: a document as one transaction has it.
 *
 * Most transactions need of it what shows and its version, or write it as a whole; so its state is
 * read from the records only when somebody asks for it.
 */

import {
  compareBytes,
  equalValues,
  PeerError,
  type Stamp,
  type StateParts,
  type Value,
} from "@bigpeer/protocol";
import type { StateOperation } from "../crdt/edit.ts";
import { type PlainWrite, plainWrite, readPlain } from "../crdt/plain-state.ts";
import type { Shown } from "../crdt/show.ts";
import { type DocumentState, EMPTY_STATE, isEmptyState } from "../crdt/state.ts";
import { decodeState, isShownByMeta } from "../crdt/state-codec.ts";
import type { Key } from "../platform.ts";
import { documentKey } from "./keys.ts";
import type { Overlay } from "./overlay.ts";
import { metaOffset, readMetaRecord, shownOfRecord } from "./records.ts";

export class OpenDocument {
  readonly collection: number;
  readonly idKey: string;
  readonly metaKey: Key;
  readonly documentKey: Key;
  /** The version before this transaction. */
  readonly previous: number;
  /** What showed before this transaction. */
  readonly before: Shown | undefined;
  /** The operation that changed it first; -1 while it is unchanged. */
  operation = -1;
  /** Whether the transaction rests on it as it was. */
  isGuarded = false;
  /** What is counted for what it shows now. */
  bytes = 0;
  #shown: Shown | undefined;
  /** Undefined while only the metadata are known. */
  #state: DocumentState | undefined;
  /** Undefined when only the state is known. */
  #meta: Uint8Array | undefined;
  #offset = 0;

  /** `record` is what lies under the key of the metadata. */
  constructor(place: DocumentPlace, record: Value | undefined, overlay: Overlay) {
    this.collection = place.collection;
    this.idKey = place.idKey;
    this.metaKey = place.metaKey;
    this.documentKey = documentKey(place.collection, place.idKey);
    if (record === undefined) {
      if (overlay.has(this.documentKey)) {
        throw new PeerError("store.corrupt", "expected the metadata of a document that shows");
      }
      this.previous = 0;
      this.before = undefined;
      this.#state = EMPTY_STATE;
    } else {
      const { version, bytes, offset } = readMetaRecord(record);
      const shown = overlay.get(this.documentKey);
      if (shown === undefined && isShownByMeta(bytes, offset)) {
        throw new PeerError("store.corrupt", "expected the fields of a document that shows");
      }
      this.previous = version;
      this.before = shown === undefined ? undefined : shownOfRecord(shown);
      this.#meta = bytes;
      this.#offset = offset;
    }
    this.#shown = this.before;
  }

  get shown(): Shown | undefined {
    return this.#shown;
  }

  get state(): DocumentState {
    return this.readState();
  }

  /** What `state` does when it is first asked for: for a large document a piece of work of its own. */
  readState(): DocumentState {
    this.#state ??= decodeState(this.#shown, this.#meta ?? NO_BYTES, this.#offset);
    return this.#state;
  }

  /** Whether anything of it is kept: shown, hidden or a tombstone. */
  get isHeld(): boolean {
    return this.#meta !== undefined || !isEmptyState(this.state);
  }

  /** Whether nothing is kept of it but a plain state: no tokens, no floors. */
  get isPlain(): boolean {
    if (this.#meta === undefined) return !this.isHeld;
    return readPlain({ shown: this.#shown, meta: this.#meta, offset: this.#offset }) !== undefined;
  }

  /** Whether its records are these. False also where only its state is known. */
  hasParts([fields, types, meta]: StateParts): boolean {
    if (this.#meta === undefined || compareBytes(this.#meta.subarray(this.#offset), meta) !== 0) {
      return false;
    }
    const isSame = equalValues(this.#shown?.fields, fields ?? undefined);
    return isSame && equalValues(this.#shown?.types, types ?? undefined);
  }

  /** What an operation of this store leaves, where it is easily told; see plainWrite. */
  plainWrite(operation: StateOperation, stamp: Stamp, version: number): PlainWrite | undefined {
    if (this.#meta !== undefined) {
      const records = { shown: this.#shown, meta: this.#meta, offset: this.#offset };
      return plainWrite(records, operation, stamp, version);
    }
    return this.isHeld ? undefined : plainWrite(undefined, operation, stamp, version);
  }

  become(state: DocumentState, shown: Shown | undefined): void {
    this.#state = state;
    this.#meta = undefined;
    this.#shown = shown;
  }

  /**
   * Forgets the state, which is several times as large as the records that it is read from again. `record`
   * is what lies under the key of the metadata now.
   */
  forgetState(record: Value | undefined): void {
    if (this.#meta === undefined) {
      if (record === undefined) return;
      const { bytes, offset } = readMetaRecord(record);
      this.#meta = bytes;
      this.#offset = offset;
    }
    this.#state = undefined;
  }

  /** Whether its state is in memory beside its records. */
  get hasState(): boolean {
    return this.#state !== undefined && this.#state !== EMPTY_STATE;
  }

  becomePlain(shown: Shown | undefined, { meta }: PlainWrite): void {
    this.#state = undefined;
    this.#meta = meta;
    this.#offset = metaOffset(meta);
    this.#shown = shown;
  }
}

/** Where a document lies. */
export interface DocumentPlace {
  readonly collection: number;
  readonly idKey: string;
  readonly metaKey: Key;
}

const NO_BYTES = new Uint8Array();
