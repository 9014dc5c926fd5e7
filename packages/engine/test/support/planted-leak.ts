/**
 * Planted leaks: the barrier with a hole in it. A comparison that finds none of them proves nothing.
 */

import { ChangeFeed } from "../../src/changes/change-feed.ts";
import { MatchIndex } from "../../src/query/live/match-index.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import type { CollectionRule } from "../../src/query/permission/collection-rule.ts";
import { NarrowedView } from "../../src/query/permission/narrowed-view.ts";
import { PermissionChecker } from "../../src/query/permission/permission-checker.ts";
import { Requests } from "../../src/query/system/requests.ts";
import { Failure } from "../../src/query/value/datum.ts";
import { plantOpenChecker, unchecked, uncheckedEach } from "./open-checker.ts";
import { all, replace } from "./replaced-method.ts";

export interface PlantedLeak {
  /** What is wrong. */
  readonly name: string;
  /** Makes it so; returns what makes it right again. */
  readonly plant: () => () => void;
}

/** The rules of a collection, changed. */
function withRules(change: (rule: CollectionRule) => CollectionRule): () => void {
  return replace(
    Authority.prototype,
    "readRule",
    (original) =>
      function readRule(this: Authority, ...args) {
        return change(original.apply(this, args));
      },
  );
}

const VIEW_LEAKS: readonly PlantedLeak[] = [
  {
    name: "get does not judge",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          NarrowedView.prototype,
          "get",
          (original) =>
            function get(this: NarrowedView, ...args) {
              return unchecked(() => original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "scan does not judge",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          NarrowedView.prototype,
          "scan",
          (original) =>
            function scan(this: NarrowedView, ...args) {
              return uncheckedEach(original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "count is that of the store",
    plant: () =>
      replace(
        NarrowedView.prototype,
        "count",
        (original) =>
          function count(this: NarrowedView, ...args) {
            const undo = withRules((rule) => ({ ...rule, isWhole: true }));
            try {
              return original.apply(this, args);
            } finally {
              undo();
            }
          },
      ),
  },
  {
    name: "collections are those of the store",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          NarrowedView.prototype,
          "collections",
          (original) =>
            function collections(this: NarrowedView, ...args) {
              return uncheckedEach(original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "indexes are those of the store",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          NarrowedView.prototype,
          "indexes",
          (original) =>
            function indexes(this: NarrowedView, ...args) {
              return uncheckedEach(original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "a collection is known when it has documents",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          NarrowedView.prototype,
          "collectionNumber",
          (original) =>
            function collectionNumber(this: NarrowedView, name) {
              const [first] = uncheckedEach(this.scan(name));
              return first === undefined ? undefined : original.call(this, name);
            },
        ),
      ),
  },
];

const CHECKER_LEAKS: readonly PlantedLeak[] = [
  {
    name: "every content may be read",
    plant: () =>
      replace(
        PermissionChecker.prototype,
        "checkAttachment",
        () =>
          // oxlint-disable-next-line require-yield -- nothing is looked at
          function* allowed() {
            return true;
          },
      ),
  },
  {
    name: "writing is not judged",
    plant: () => replace(PermissionChecker.prototype, "mayWrite", () => () => true),
  },
  {
    name: "only the first query of several is asked",
    plant: () => withRules((rule) => ({ ...rule, filters: rule.filters.slice(0, 1) })),
  },
  {
    name: "a query that fails allows",
    plant: () =>
      withRules(({ isWhole, filters }) => ({
        isWhole,
        filters: filters.map((filter) => ({
          ...filter,
          evaluate: (frame) => {
            const outcome = filter.evaluate(frame);
            return outcome instanceof Failure ? true : outcome;
          },
        })),
      })),
  },
  {
    name: "a query that is null allows",
    plant: () =>
      withRules(({ isWhole, filters }) => ({
        isWhole,
        filters: filters.map((filter) => ({
          ...filter,
          evaluate: (frame) => filter.evaluate(frame) ?? true,
        })),
      })),
  },
  {
    name: "collections without a rule are not refused",
    plant: () => replace(Authority.prototype, "require", () => () => {}),
  },
];

const OTHER_LEAKS: readonly PlantedLeak[] = [
  {
    name: "what is overwritten need not be readable",
    plant: () => {
      let inView = 0;
      const judged = replace(
        PermissionChecker.prototype,
        "mayRead",
        (original) =>
          function mayRead(this: PermissionChecker, ...args) {
            return inView === 0 || original.apply(this, args);
          },
      );
      const got = replace(
        NarrowedView.prototype,
        "get",
        (original) =>
          function get(this: NarrowedView, ...args) {
            inView++;
            try {
              return original.apply(this, args);
            } finally {
              inView--;
            }
          },
      );
      const scanned = replace(
        NarrowedView.prototype,
        "scan",
        (original) =>
          function* scan(this: NarrowedView, ...args) {
            const iterator = original.apply(this, args)[Symbol.iterator]();
            for (;;) {
              inView++;
              const { done, value } = iterator.next();
              inView--;
              if (done === true) return;
              yield value;
            }
          },
      );
      return all(scanned, got, judged);
    },
  },
  {
    name: "the history is that of everybody",
    plant: () =>
      replace(
        Requests.prototype,
        "historyRows",
        (original) =>
          function historyRows(this: Requests) {
            return original.call(this);
          },
      ),
  },
  {
    name: "the running requests are those of everybody",
    plant: () =>
      replace(
        Requests.prototype,
        "activeRows",
        (original) =>
          function activeRows(this: Requests) {
            return original.call(this);
          },
      ),
  },
];

/** Of the change feed. */
export const FEED_LEAKS: readonly PlantedLeak[] = [
  {
    name: "changes are not judged",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          MatchIndex.prototype,
          "matchOf",
          (original) =>
            function matchOf(this: MatchIndex<unknown>, ...args) {
              return unchecked(() => original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "rows at the beginning are not judged",
    plant: () =>
      all(
        plantOpenChecker(),
        replace(
          ChangeFeed.prototype,
          "matches",
          (original) =>
            function matches(this: ChangeFeed, ...args) {
              return unchecked(() => original.apply(this, args));
            },
        ),
      ),
  },
  {
    name: "only the document after a change is judged",
    plant: () =>
      replace(
        MatchIndex.prototype,
        "matchOf",
        (original) =>
          function matchOf(this: MatchIndex<unknown>, entry, change) {
            const match = original.call(this, entry, change);
            return match?.kind === "enter" && change.before !== undefined
              ? { kind: "stay", entry }
              : match;
          },
      ),
  },
  {
    name: "readers of collections without a rule are not refused",
    plant: () => replace(Authority.prototype, "require", () => () => {}),
  },
];

export const PLANTED_LEAKS: readonly PlantedLeak[] = [
  ...VIEW_LEAKS,
  ...CHECKER_LEAKS,
  ...OTHER_LEAKS,
];
