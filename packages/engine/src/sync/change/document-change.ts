/**
 * Document change: the entries that describe one changed document in a round (S17). The records of
 * the document are read once, and each kind of entry is encoded once for all filters.
 */

import { type DocumentEntry, encodeCbor, NONE, type Site, type Value } from "@bigpeer/protocol";
import { restrict } from "../../crdt/delta.ts";
import { decodeState, stateToBytes } from "../../crdt/state-codec.ts";
import { metaKey } from "../../store/keys.ts";
import { approximateSize, type MetaRecord, readMetaRecord } from "../../store/records.ts";
import type { StoredDocument, View } from "../../store/view.ts";
import { stampName } from "../log/written-stamps.ts";
import { tombstoneEntry } from "./link-change.ts";

/** Smaller states are sent whole: a delta would hardly be smaller. */
const WHOLE_BYTES = 1024;

/** Input of a delta. */
export interface DeltaSource {
  /** Version that the peers hold. */
  readonly from: number;
  /** Stamps written since that version; undefined if they are not completely known. */
  readonly stamps: () => ReadonlySet<string> | undefined;
}

export class DocumentChange {
  readonly #view: View;
  readonly #collection: string;
  readonly #id: Value;
  readonly #idKey: string;
  readonly #after: StoredDocument | undefined;
  #put: Uint8Array | undefined;
  #left: Uint8Array | undefined;
  #drop: Uint8Array | undefined;
  #gone: Uint8Array | undefined;
  /** Null if there is none. */
  #tombstone: Uint8Array | null | undefined;
  /** Null if no delta is worth sending. */
  #delta: Uint8Array | null | undefined;
  #knownSize: number | undefined;
  /** Bytes of all encoded entries. */
  bytes = 0;

  constructor(
    view: View,
    { collection, id, idKey }: { collection: string; id: Value; idKey: string },
    after: StoredDocument | undefined,
  ) {
    this.#view = view;
    this.#collection = collection;
    this.#id = id;
    this.#idKey = idKey;
    this.#after = after;
  }

  put(): Uint8Array {
    return (this.#put ??= this.#encode(this.#whole("put")));
  }

  left(): Uint8Array {
    return (this.#left ??= this.#encode(this.#whole("left")));
  }

  drop(): Uint8Array {
    return (this.#drop ??= this.#encode(["drop", this.#id]));
  }

  /** Entry of a document that is no longer visible: deleted, or only evicted here. */
  gone(isEvicted: boolean): Uint8Array {
    return (this.#gone ??= this.#encode(this.#goneEntry(isEvicted)));
  }

  /** Deletion for a link; undefined if the document is visible or only no longer held here. */
  tombstone(): Uint8Array | undefined {
    if (this.#tombstone === undefined) {
      const meta = this.#after === undefined ? this.#meta() : undefined;
      const entry = tombstoneEntry(this.#id, meta);
      this.#tombstone = entry === undefined ? null : this.#encode(entry);
    }
    return this.#tombstone ?? undefined;
  }

  /** Whether the document is large enough to look for a delta. */
  get isLarge(): boolean {
    return this.#after !== undefined && this.#size > WHOLE_BYTES;
  }

  get #size(): number {
    return (this.#knownSize ??= approximateSize(this.#after?.fields ?? null));
  }

  /** Changes since the version that peers hold, if they are much smaller than the whole state. */
  delta(source: DeltaSource): Uint8Array | undefined {
    if (this.#delta === undefined) {
      const entry = this.#deltaEntry(source);
      this.#delta = entry === undefined ? null : this.#encode(entry);
    }
    return this.#delta ?? undefined;
  }

  #encode(entry: DocumentEntry): Uint8Array {
    const bytes = encodeCbor(entry);
    this.bytes += bytes.length;
    return bytes;
  }

  #whole(kind: "put" | "left"): DocumentEntry {
    const after = this.#after;
    if (after === undefined) return ["drop", this.#id];
    return wholeEntry(kind, after, this.#meta());
  }

  #goneEntry(isEvicted: boolean): DocumentEntry {
    return goneEntry(this.#id, isEvicted ? undefined : this.#meta());
  }

  #meta(): MetaRecord | undefined {
    return metaOf(this.#view, this.#collection, this.#idKey);
  }

  #deltaEntry({ from, stamps }: DeltaSource): DocumentEntry | undefined {
    const after = this.#after;
    if (after === undefined || from === 0 || !this.isLarge) return undefined;
    const size = this.#size;
    // The store may have removed UNSETs of such a document that peers still hold (S18).
    if (from <= this.#view.head.floor) return undefined;
    const names = stamps();
    const meta = names && this.#meta();
    if (names === undefined || meta === undefined) return undefined;
    const { fields, types } = after;
    const state = decodeState({ fields, types }, meta.bytes, meta.offset);
    const delta = stateToBytes(restrict(state, (stamp) => names.has(stampName(stamp))));
    if (delta.length > size / 2) return undefined;
    return ["delta", this.#id, meta.version, from, delta];
  }
}

export function metaOf(view: View, collection: string, idKey: string): MetaRecord | undefined {
  const number = view.collectionNumber(collection);
  const record = number === undefined ? undefined : view.reader.get(metaKey(number, idKey));
  return record === undefined ? undefined : readMetaRecord(record);
}

/** Entry with both records of a document, as the store holds them. */
export function wholeEntry(
  kind: "put" | "left",
  { id, fields, types }: StoredDocument,
  meta: MetaRecord | undefined,
): DocumentEntry {
  const bytes = meta?.bytes.subarray(meta.offset) ?? new Uint8Array(0);
  return [kind, id, meta?.version ?? 0, [fields, types ?? null, bytes]];
}

/** `mayReport` decides by the site of a deletion whether the peer may know of it. */
export function goneEntry(
  id: Value,
  meta: MetaRecord | undefined,
  mayReport: (site: Site) => boolean = () => true,
): DocumentEntry {
  if (meta === undefined) return ["drop", id];
  const { dead } = decodeState(undefined, meta.bytes, meta.offset);
  if (dead === NONE || !mayReport(dead.site)) return ["drop", id];
  return ["deleted", id, meta.version, dead.time, dead.site];
}
