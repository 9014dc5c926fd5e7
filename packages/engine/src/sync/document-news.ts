/**
 * Document news: what is said about one document in a round, in each of the ways that it can be said
 * (S17). Its records are read once and each way is encoded once, however many filters it goes to.
 */

import { type DocumentEntry, encodeCbor, NONE, type Site, type Value } from "@bigpeer/protocol";
import { restrict } from "../crdt/delta.ts";
import { decodeState, stateToBytes } from "../crdt/state-codec.ts";
import { metaKey } from "../store/keys.ts";
import { approximateSize, type MetaRecord, readMetaRecord } from "../store/records.ts";
import type { StoredDocument, View } from "../store/view.ts";
import { stampName } from "./change-window.ts";
import { tombstoneEntry } from "./link-news.ts";

/** Smaller states are sent whole: a delta would hardly be smaller. */
const WHOLE_BYTES = 1024;

/** What a delta is made from. */
export interface DeltaSource {
  /** The version that the peers hold. */
  readonly from: number;
  /** The stamps that were written since; undefined where they do not tell. */
  readonly stamps: () => ReadonlySet<string> | undefined;
}

export class DocumentNews {
  readonly #view: View;
  readonly #collection: string;
  readonly #id: Value;
  readonly #idKey: string;
  readonly #after: StoredDocument | undefined;
  #put: Uint8Array | undefined;
  #left: Uint8Array | undefined;
  #drop: Uint8Array | undefined;
  #gone: Uint8Array | undefined;
  /** Null when there is none. */
  #tombstone: Uint8Array | null | undefined;
  /** Null when there is none that is worth it. */
  #delta: Uint8Array | null | undefined;
  #knownSize: number | undefined;
  /** Bytes of all that was encoded. */
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

  /** It shows no longer: that it was deleted, unless it is only no longer held here. */
  gone(isEvicted: boolean): Uint8Array {
    return (this.#gone ??= this.#encode(this.#goneEntry(isEvicted)));
  }

  /** For a link: that it was deleted; undefined where it shows, or is only no longer held. */
  tombstone(): Uint8Array | undefined {
    if (this.#tombstone === undefined) {
      const meta = this.#after === undefined ? this.#meta() : undefined;
      const entry = tombstoneEntry(this.#id, meta);
      this.#tombstone = entry === undefined ? null : this.#encode(entry);
    }
    return this.#tombstone ?? undefined;
  }

  /** Whether it is so large that what changed of it is worth looking for. */
  get isLarge(): boolean {
    return this.#after !== undefined && this.#size > WHOLE_BYTES;
  }

  get #size(): number {
    return (this.#knownSize ??= approximateSize(this.#after?.fields ?? null));
  }

  /** What changed since the version that peers hold, where that is much less than the whole. */
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
    // Of what was not changed since the floor, UNSETs may be forgotten here that peers still hold.
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

/** The two records of a document as they lie in the store. */
export function wholeEntry(
  kind: "put" | "left",
  { id, fields, types }: StoredDocument,
  meta: MetaRecord | undefined,
): DocumentEntry {
  const bytes = meta?.bytes.subarray(meta.offset) ?? new Uint8Array(0);
  return [kind, id, meta?.version ?? 0, [fields, types ?? null, bytes]];
}

/** `isTold` says of a deletion by whom it was whether it may be told. */
export function goneEntry(
  id: Value,
  meta: MetaRecord | undefined,
  isTold: (site: Site) => boolean = () => true,
): DocumentEntry {
  if (meta === undefined) return ["drop", id];
  const { dead } = decodeState(undefined, meta.bytes, meta.offset);
  if (dead === NONE || !isTold(dead.site)) return ["drop", id];
  return ["deleted", id, meta.version, dead.time, dead.site];
}
