/**
 * State rows: walks the documents of the store as they were at a position, in bounded pieces.
 *
 * It walks the metadata, which deleted documents have as well. A document that changed since comes
 * from its images. So a reader may take its time: no snapshot is held between two pieces.
 */

import { idOfKey } from "@bigpeer/protocol";
import type { Steps } from "../steps.ts";
import { metaKey } from "../store/keys.ts";
import { approximateSize, readMetaRecord } from "../store/records.ts";
import type { StoreSnapshot } from "../store/store.ts";
import type { StoredDocument } from "../store/view.ts";
import type { Position, RowPlace } from "./cursor.ts";
import type { DocumentImages } from "./document-images.ts";

export interface StateRow {
  readonly place: RowPlace;
  readonly document: StoredDocument;
}

export interface RowPiece {
  readonly rows: readonly StateRow[];
  /** The last document that was looked at; undefined when there are no more. */
  readonly through: RowPlace | undefined;
}

/** Documents and approximate bytes after which a piece ends. */
const LOOKED_MAX = 512;
const PIECE_BYTES_MAX: number = 256 * 1024;

export interface RowSource {
  readonly snapshot: StoreSnapshot;
  readonly images: DocumentImages;
  /** Undefined for all collections. */
  readonly collection: string | undefined;
}

/** The next documents after a row, at a position. */
export function* rowsAt(
  { snapshot, images, collection }: RowSource,
  at: Position,
  after: RowPlace | undefined,
): Steps<RowPiece> {
  const names = collection === undefined ? snapshot.collections().sort() : [collection];
  const rows: StateRow[] = [];
  let looked = 0;
  let bytes = 0;
  for (const name of names) {
    if (after !== undefined && name < after.collection) continue;
    const number = snapshot.collectionNumber(name);
    if (number === undefined) continue;
    const from =
      after?.collection === name ? `${metaKey(number, after.idKey)}\x00` : metaKey(number, "");
    const prefix = metaKey(number, "").length;
    for (const { key, value } of snapshot.reader.entries({ from, to: metaKey(number + 1, "") })) {
      const place = { collection: name, idKey: key.slice(prefix) };
      const document = yield* documentAt(snapshot, images, place, {
        at,
        version: readMetaRecord(value).version,
      });
      if (document !== undefined) {
        rows.push({ place, document });
        bytes += approximateSize(document.fields);
      }
      if (++looked >= LOOKED_MAX || bytes >= PIECE_BYTES_MAX) return { rows, through: place };
      yield;
    }
  }
  // They have no metadata any more.
  for (const place of yield* images.evictedAfter(snapshot, at.txnId)) {
    const { collection: name, idKey } = place;
    if (!names.includes(name) || isKnown(snapshot, place)) continue;
    const fields = yield* images.after(snapshot, place, at.txnId, true);
    if (fields === undefined) continue;
    rows.push({ place, document: { id: idOfKey(idKey), fields, types: undefined } });
  }
  return { rows, through: undefined };
}

function isKnown(snapshot: StoreSnapshot, { collection, idKey }: RowPlace): boolean {
  const number = snapshot.collectionNumber(collection);
  return number !== undefined && snapshot.reader.has(metaKey(number, idKey));
}

function* documentAt(
  snapshot: StoreSnapshot,
  images: DocumentImages,
  place: RowPlace,
  { at, version }: { readonly at: Position; readonly version: number },
): Steps<StoredDocument | undefined> {
  const { collection, idKey } = place;
  const isPart = at.index !== undefined;
  if (version < at.txnId || (version === at.txnId && !isPart)) {
    return snapshot.getByKey(collection, idKey);
  }
  let { txnId } = at;
  if (isPart) {
    const found = yield* images.changeOf(snapshot, txnId, place);
    if (found !== undefined && found.index > (at.index ?? 0)) txnId--;
  }
  const fields = yield* images.after(snapshot, place, txnId, true);
  return fields && { id: idOfKey(idKey), fields, types: undefined };
}
