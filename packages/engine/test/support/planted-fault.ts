/**
 * Planted faults: indexes and their planner with one mistake each, such as somebody could make. A
 * comparison that finds none of them proves nothing.
 */

import { documentId, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Found } from "../../src/query/frame/document-view.ts";
import { NarrowedView } from "../../src/query/permission/narrowed-view.ts";
import type { Access, Chosen, IndexAccess, Walk } from "../../src/query/plan/access.ts";
import { IndexEntry, type IndexRange } from "../../src/store/index-entry.ts";
import { IndexWriter } from "../../src/store/index-writer.ts";
import type { Bound } from "../../src/store/keys.ts";
import { type StoredDocument, View } from "../../src/store/view.ts";
import { plantSeams } from "./fault-seams.ts";
import { plantOpenChecker, uncheckedEach } from "./open-checker.ts";
import { all, replace } from "./replaced-method.ts";

export interface PlantedFault {
  /** What is wrong. */
  readonly name: string;
  /** Makes it so; returns what makes it right again. */
  readonly plant: () => () => void;
}

/** Another range than the one that was asked for. */
function withRange(change: (range: IndexRange) => IndexRange): () => void {
  return replace(
    View.prototype,
    "scanIndex",
    (original) =>
      function scanIndex(this: View, index, range = {}) {
        return original.call(this, index, change(range));
      },
  );
}

function excluded(bound: Bound): Bound {
  return { ...bound, isIncluded: false };
}

const ENTRY_FAULTS: readonly PlantedFault[] = [
  {
    name: "entries that are cut are taken for exact ones",
    plant: () => {
      const { prototype } = IndexEntry;
      const isExact = Object.getOwnPropertyDescriptor(prototype, "isExact") ?? {};
      Object.defineProperty(prototype, "isExact", { ...isExact, get: () => true });
      return () => void Object.defineProperty(prototype, "isExact", isExact);
    },
  },
  {
    name: "entries that begin alike are taken for equal ones",
    plant: () =>
      replace(
        IndexEntry.prototype,
        "tie",
        (original) =>
          function tie(this: IndexEntry, keyCount) {
            return { ...original.call(this, keyCount), isExact: true };
          },
      ),
  },
  {
    name: "the entry of what a document was stays",
    plant: () =>
      replace(
        IndexWriter.prototype,
        "move",
        (original) =>
          function move(this: IndexWriter, document, after) {
            const isGone = after === undefined;
            original.call(this, isGone ? document : { ...document, shown: undefined }, after);
          },
      ),
  },
];

const SCAN_FAULTS: readonly PlantedFault[] = [
  {
    name: "an index is used before it is complete",
    plant: () =>
      replace(
        View.prototype,
        "indexesOf",
        (original) =>
          function indexesOf(this: View, collection) {
            return original.call(this, collection).map((index) => {
              const { building: _, ...complete } = index;
              return complete;
            });
          },
      ),
  },
  {
    name: "a low bound is never included",
    plant: () => withRange(({ low, ...rest }) => ({ ...rest, ...(low && { low: excluded(low) }) })),
  },
  {
    name: "a high bound is never included",
    plant: () =>
      withRange(({ high, ...rest }) => ({ ...rest, ...(high && { high: excluded(high) }) })),
  },
  {
    name: "what is missing is looked up as null",
    plant: () =>
      withRange(({ equal, ...rest }) => ({
        ...rest,
        ...(equal && { equal: equal.map((value) => value ?? null) }),
      })),
  },
  {
    name: "an index is always walked forward",
    plant: () => withRange((range) => ({ ...range, reverse: false })),
  },
];

/** Another way than the one that was chosen. */
function withAccess(change: (access: Access) => Access): () => void {
  return plantSeams({
    chooseAccess: (original, ...args): Chosen => {
      const chosen = original(...args);
      return { ...chosen, access: change(chosen.access) };
    },
  });
}

function withWalk(change: (walk: Walk) => Walk): () => void {
  return withAccess((access) =>
    access.kind === "index" && access.walk !== undefined
      ? { ...access, walk: change(access.walk) }
      : access,
  );
}

const PLANNER_FAULTS: readonly PlantedFault[] = [
  {
    name: "ties of a reverse walk come in the order of the walk",
    plant: () => withWalk((walk) => ({ ...walk, areIdsDescending: walk.isReversed })),
  },
  {
    name: "a walk takes all entries that share their first key for ties",
    plant: () => withWalk((walk) => ({ ...walk, tieKeys: Math.min(1, walk.tieKeys) })),
  },
  {
    name: "NULLS FIRST and NULLS LAST are overlooked where an index has the order",
    plant: () =>
      plantSeams({
        orderPaths: (original, order, slot, isAlone) =>
          original(
            order.map((term) => {
              const { nulls: _, ...plain } = term;
              return plain;
            }),
            slot,
            isAlone,
          ),
      }),
  },
  {
    name: "a union forgets its last way",
    plant: () =>
      withAccess((access) =>
        access.kind === "union" ? { ...access, arms: access.arms.slice(0, -1) } : access,
      ),
  },
  {
    name: "an index is taken for a covering one",
    plant: () =>
      withAccess((access) => (access.kind === "index" ? { ...access, isCovering: true } : access)),
  },
  {
    name: "strict mode and declared types look into indexes",
    plant: () =>
      plantSeams({
        chooseFor: (original, source, wish, choosing) =>
          original({ ...source, types: undefined }, wish, { ...choosing, isStrict: false }),
      }),
  },
  {
    name: "a way is kept when its index is gone",
    plant: () => {
      const kept = new WeakMap<object, Chosen>();
      return plantSeams({
        chooseAccess: (original, term, wish, indexes) => {
          const chosen = kept.get(term) ?? original(term, wish, indexes);
          kept.set(term, chosen);
          return chosen;
        },
      });
    },
  },
];

/** In the order of ids, with all that is there twice. */
function* sortedById(documents: readonly StoredDocument[]): Found<StoredDocument> {
  const keyed = documents.map((document) => ({ document, key: documentId(document.id).key }));
  yield* keyed
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ document }) => document);
}

function allOf(found: Found<StoredDocument>): StoredDocument[] {
  return [...found].filter((document) => document !== undefined);
}

const inIndexOrder = ({ index }: IndexAccess): Walk => ({
  order: [],
  isReversed: false,
  tieKeys: index.keys.length,
  areIdsDescending: false,
});

function withoutMinus(fields: ValueObject): ValueObject {
  const zero = (value: Value): Value => (Object.is(value, -0) ? 0 : value);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, zero(value)]));
}

const WALK_FAULTS: readonly PlantedFault[] = [
  {
    name: "the documents of a range come in the order of the index",
    plant: () =>
      plantSeams({
        findDocuments: (original, access, search) => {
          const isFree = access.kind === "index" && access.walk === undefined;
          return original(isFree ? { ...access, walk: inIndexOrder(access) } : access, search);
        },
      }),
  },
  {
    name: "a union gives a document as often as it is found",
    plant: () =>
      plantSeams({
        findDocuments: (original, access, search) =>
          access.kind === "union"
            ? sortedById(access.arms.flatMap((arm) => allOf(original(arm, search))))
            : original(access, search),
      }),
  },
  {
    name: "a covering index gives 0 for -0",
    plant: () =>
      plantSeams({
        findDocuments: function* find(original, access, search) {
          const isCovering = access.kind === "index" && access.isCovering;
          for (const found of original(access, search)) {
            yield isCovering && found ? { ...found, fields: withoutMinus(found.fields) } : found;
          }
        },
      }),
  },
  {
    name: "of the fields that are needed the last is left out",
    plant: () =>
      plantSeams({
        findDocuments: (original, access, search) => {
          const fields = search.needed.fields?.slice(0, -1);
          return original(access, { ...search, needed: { fields } });
        },
      }),
  },
  {
    name: "an index gives no more than are wanted, before the condition is asked",
    plant: () =>
      plantSeams({
        findDocuments: function* find(original, access, search) {
          let given = 0;
          for (const found of original(access, search)) {
            if (found !== undefined && access.kind === "index" && given++ >= search.wanted) return;
            yield found;
          }
        },
      }),
  },
];

/** What the lookup leads to is not judged a second time. */
function plantUncheckedLookup(): () => void {
  return all(
    plantOpenChecker(),
    replace(
      NarrowedView.prototype,
      "scanIndex",
      (original) =>
        function scanIndex(this: NarrowedView, ...args) {
          return uncheckedEach(original.apply(this, args));
        },
    ),
  );
}

/** Within the ranges of a rule nothing is hidden: it takes two mistakes to show what may not be read. */
const PERMISSION_FAULTS: readonly PlantedFault[] = [
  {
    name: "an index is read around the rule and the judge",
    plant: () =>
      all(plantUncheckedLookup(), plantSeams({ allowedRanges: (_, __, ___, range) => [range] })),
  },
  {
    name: "of several values of a rule the last is not looked up",
    plant: () =>
      plantSeams({
        knownValuesOf: (original, key) =>
          original(key).map(({ path, values }) => {
            return { path, values: values.length < 2 ? values : values.slice(0, -1) };
          }),
      }),
  },
];

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...ENTRY_FAULTS,
  ...SCAN_FAULTS,
  ...PLANNER_FAULTS,
  ...WALK_FAULTS,
  ...PERMISSION_FAULTS,
];
