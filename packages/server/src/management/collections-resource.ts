/**
 * Collections resource: `…/collection` shows the collections of an app with their indexes (M60). Sizes
 * are estimated from a few documents, so that the answer does not depend on their number.
 */

import type { IndexUses } from "@bigpeer/engine/query";
import type { StoredDocument, View } from "@bigpeer/engine/store";
import { encodeCbor, type Value } from "@bigpeer/protocol";
import { showOptionalTime, showTime } from "../validation/time-text.ts";
import { withApp } from "./app-use.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";

export const COLLECTION_RESOURCES: readonly Resource[] = [
  {
    name: "collections",
    path: "/app/{app}/collection",
    access: "signedIn",
    methods: { GET: showCollections },
  },
];

/** Documents whose size stands for that of all, half of them at each end, and bytes of each half. */
const SAMPLE_MAX = 50;
const SAMPLE_SIZE_MAX: number = 128 * 1024;

function showCollections(call: ManagementCall): Promise<Value> {
  return withApp(call, ({ store, indexUses }) =>
    store.read((view) =>
      pageBody(view.collections(), call.query, (name) => showCollection(view, name, indexUses)),
    ),
  );
}

function showCollection(view: View, name: string, uses: IndexUses): Value {
  const documents = view.count(name);
  const indexes = view.indexes(name).map(({ name: index, number, keys, building }) => ({
    name: index,
    fields: keys.map(({ path, isDescending }) => ({ path: [...path], isDescending })),
    state: building === undefined ? "complete" : "building",
    progress:
      building === undefined
        ? null
        : { done: Math.min(building.done, documents), total: documents },
    use: showUse(uses, number),
  }));
  return { name, documents, ...sizeOf(view, name, documents), indexes };
}

/** Null if it is not known. */
function showUse(uses: IndexUses, number: number): Value {
  const use = uses.of(number);
  if (use === undefined) return null;
  const { count, lastMs } = use;
  return { count, lastAt: showOptionalTime(lastMs), since: showTime(uses.sinceMs) };
}

interface Size {
  readonly bytes: number;
  readonly isEstimated: boolean;
}

/** Of few documents their sum, of many the mean of the first and the last ones for all of them. */
function sizeOf(view: View, name: string, documents: number): Size {
  const half = SAMPLE_MAX / 2;
  const first = sampleOf(view.scan(name), documents <= SAMPLE_MAX ? SAMPLE_MAX : half);
  if (first.count === documents) return { bytes: first.bytes, isEstimated: false };
  const last = sampleOf(view.scan(name, { reverse: true }), half);
  const mean = (first.bytes + last.bytes) / (first.count + last.count);
  return { bytes: Math.round(mean * documents), isEstimated: true };
}

function sampleOf(
  documents: Iterable<StoredDocument>,
  countMax: number,
): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const { id, fields } of documents) {
    count++;
    bytes += encodeCbor(id).length + encodeCbor(fields).length;
    if (count >= countMax || bytes >= SAMPLE_SIZE_MAX) break;
  }
  return { count, bytes };
}
