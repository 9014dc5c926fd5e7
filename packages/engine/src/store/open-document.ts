/**
 * OpenDocument: a document as one transaction sees and changes it.
 *
 * Most transactions need only its shown fields and version, or overwrite it as a whole. So its CRDT
 * state is decoded from the records on demand.
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
import { simpleWrite } from "../crdt/simple-state.ts";
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
  /** The shown fields before this transaction. */
  readonly before: Shown | undefined;
  /** Index of the operation that changed it first; -1 while it is unchanged. */
  operation = -1;
  /** Whether the transaction depends on its version before. */
  isGuarded = false;
  /** Bytes counted for its current shown fields. */
  bytes = 0;
  #shown: Shown | undefined;
  /** Undefined until it is decoded from the metadata. */
  #state: DocumentState | undefined;
  /** Undefined when only the state is known. */
  #meta: Uint8Array | undefined;
  #offset = 0;

  /** `record` is the metadata record; undefined when there is none. */
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

  /** Decodes the state, as `state` does on first use: for a large document a step of its own. */
  readState(): DocumentState {
    this.#state ??= decodeState(this.#shown, this.#meta ?? NO_BYTES, this.#offset);
    return this.#state;
  }

  /** Whether anything of it is stored: shown or hidden fields, or a tombstone. */
  get isHeld(): boolean {
    return this.#meta !== undefined || !isEmptyState(this.state);
  }

  /** Whether it is absent or has a plain state: no tokens, no floors. */
  get isPlain(): boolean {
    if (this.#meta === undefined) return !this.isHeld;
    return readPlain(this.#shown, this.#meta, this.#offset) !== undefined;
  }

  /** Whether its records equal these. False also where only its state is known. */
  hasParts([fields, types, meta]: StateParts): boolean {
    if (this.#meta === undefined || compareBytes(this.#meta.subarray(this.#offset), meta) !== 0) {
      return false;
    }
    const isSame = equalValues(this.#shown?.fields, fields ?? undefined);
    return isSame && equalValues(this.#shown?.types, types ?? undefined);
  }

  /** The records after an operation of this store, if no merge is needed; see simpleWrite. */
  plainWrite(operation: StateOperation, stamp: Stamp, version: number): PlainWrite | undefined {
    if (this.#meta !== undefined) {
      const records = {
        shown: this.#shown,
        meta: this.#meta,
        offset: this.#offset,
        state: this.#state,
      };
      return simpleWrite(records, operation, stamp, version);
    }
    return this.isHeld ? undefined : plainWrite(undefined, operation, stamp, version);
  }

  become(state: DocumentState, shown: Shown | undefined): void {
    this.#state = state;
    this.#meta = undefined;
    this.#shown = shown;
  }

  /**
   * Drops the state, which is several times as large as the records that it can be decoded from.
   * `record` is the current metadata record.
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

  /** Whether its decoded state is in memory beside its records. */
  get hasState(): boolean {
    return this.#state !== undefined && this.#state !== EMPTY_STATE;
  }

  becomePlain(shown: Shown | undefined, { meta, state }: PlainWrite): void {
    this.#state = state;
    this.#meta = meta;
    this.#offset = metaOffset(meta);
    this.#shown = shown;
  }
}

/** The keys of a document. */
export interface DocumentPlace {
  readonly collection: number;
  readonly idKey: string;
  readonly metaKey: Key;
}

const NO_BYTES = new Uint8Array();
