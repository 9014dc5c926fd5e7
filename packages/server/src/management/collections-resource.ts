/**
 * Collections resource: `…/collection` shows the collections of an app with their indexes (M60). Sizes
 * are estimated from a few documents, so that the answer does not depend on their number.
 */

import type { IndexUses } from "@bigpeer/engine/query";
import type { View } from "@bigpeer/engine/store";
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

/** Documents whose size stands for that of all, and their total size. */
const SAMPLE_MAX = 50;
const SAMPLE_SIZE_MAX: number = 256 * 1024;

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
  return { name, documents, bytes: estimatedSize(view, name, documents), indexes };
}

/** Null if it is not known. */
function showUse(uses: IndexUses, number: number): Value {
  const use = uses.of(number);
  if (use === undefined) return null;
  const { count, lastMs } = use;
  return { count, lastAt: showOptionalTime(lastMs), since: showTime(uses.sinceMs) };
}

/** The mean size of the first documents, for all of them. */
function estimatedSize(view: View, name: string, documents: number): number {
  let count = 0;
  let size = 0;
  for (const { id, fields } of view.scan(name)) {
    count++;
    size += encodeCbor(id).length + encodeCbor(fields).length;
    if (count >= SAMPLE_MAX || size >= SAMPLE_SIZE_MAX) break;
  }
  return count === 0 ? 0 : Math.round((size / count) * documents);
}
