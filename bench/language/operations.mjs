/**
 * Operations of the language benchmark, in the order of a round, with the target ratio to the
 * reference SDK. The operations after CREATE INDEX need the index.
 */

/** Target ratio to raw LMDB, for every operation. */
export const FLOOR_GOAL = 0.6;

/** Requests in flight in concurrent operations. */
export const FLIGHT = 64;
export const BULK = 1000;

/** `unit`: operations a second, or milliseconds for one operation. */
export const OPERATIONS = [
  { name: "bulk-insert", title: "INSERT, 1000 documents/statement", unit: "/s", goal: 2 },
  { name: "insert", title: "INSERT, one after the other", unit: "/s" },
  { name: "insert-flight", title: `INSERT, ${FLIGHT} in flight`, unit: "/s", goal: 10 },
  { name: "by-id", title: "SELECT by _id = :i", unit: "/s", goal: 10 },
  { name: "use-ids", title: "SELECT … USE IDS :i", unit: "/s", goal: 10 },
  { name: "scan-equality", title: "full scan, equality, 50 hits", unit: "ms", goal: 3 },
  { name: "scan-count", title: "full scan count, 2 predicates", unit: "ms", goal: 3 },
  { name: "group", title: "GROUP BY, 100 groups", unit: "ms", goal: 3 },
  { name: "order", title: "ORDER BY unindexed LIMIT 10", unit: "ms", goal: 3 },
  { name: "index-build", title: "CREATE INDEX, until complete", unit: "ms", goal: 2 },
  { name: "by-index", title: "index equality, 50 hits each", unit: "/s", goal: 10 },
  { name: "update", title: "UPDATE by _id, one after the other", unit: "/s" },
  { name: "update-flight", title: `UPDATE by _id, ${FLIGHT} in flight`, unit: "/s", goal: 10 },
  { name: "select-all", title: "SELECT * with decoding", unit: "ms", goal: 2 },
  { name: "delete-range", title: "DELETE 5,000 by indexed range", unit: "ms", goal: 2 },
];

/** Run in every round, because other operations depend on them. */
const NEEDED = new Set(["bulk-insert", "index-build"]);

/** Operations of a round if only some are selected. */
export function roundOf(asked) {
  const last = Math.max(...asked.map((name) => OPERATIONS.findIndex((one) => one.name === name)));
  return OPERATIONS.filter(
    ({ name }, i) => asked.includes(name) || (NEEDED.has(name) && i < last),
  ).map(({ name }) => name);
}
