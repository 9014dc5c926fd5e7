/**
 * The pure parts of `npm run prove -- cluster`: what the checker finds in a history, how gaps are
 * measured, and the options.
 */
import { expect, test } from "vitest";
import { Random } from "../compare/random.mjs";
import {
  check,
  type HistoryEvent,
  type NodeEnd,
  type PeerEnd,
  PLANTS,
  type RunEnd,
} from "../prove/cluster/checker.mjs";
import { checkGaps, gapsOf, gapTable, longestGap } from "../prove/cluster/gaps.mjs";
import { parseOptions } from "../prove/cluster/options.mjs";

const DONE = { outcome: "acknowledged", node: "node-1", writer: "w" } as const;

/** Three inserts, one claim of two clients, two increments and a write of a peer. */
const HISTORY: readonly HistoryEvent[] = [
  { ...DONE, type: "insert", id: "w-1", startMs: 0, endMs: 10, txnId: 1 },
  { ...DONE, type: "insert", id: "w-2", startMs: 20, endMs: 40, txnId: 2 },
  { ...DONE, type: "insert", id: "w-3", startMs: 30, endMs: 45, txnId: 3 },
  { ...DONE, type: "claim", id: "w-4", document: "c", startMs: 50, endMs: 60, txnId: 4 },
  { type: "claim", id: "v-1", document: "c", outcome: "refused", startMs: 50, endMs: 60 },
  { type: "repeat", id: "w-1", outcome: "refused", startMs: 61, endMs: 62 },
  { type: "read", id: "w-1", outcome: "found", txnId: 1, seenTxnId: 4, node: "node-2" },
  increment(5, 70, 5),
  increment(6, 80, 6),
  { type: "mark", id: "p-1", team: 0 },
];

function increment(number: number, startMs: number, txnId: number): HistoryEvent {
  const counters = ["w", "total"];
  const times = { startMs, endMs: startMs + 5 };
  return { ...DONE, type: "increment", id: `w-${number}`, number, counters, ...times, txnId };
}

function nodeOf(changes: Partial<NodeEnd["collections"]> = {}, name = "node-1"): NodeEnd {
  const documents = [1, 2, 3].map((n) => [`w-${n}`, { by: `w-${n}`, version: n }] as const);
  const collections = {
    documents: new Map(documents),
    claims: new Map([["c", { by: "w-4", version: 4 }]]),
    counters: new Map([
      ["w", { n: 2, last: 6 }],
      ["total", { n: 2, last: 6 }],
    ]),
    totals: new Map([[0, { n: 1 }]]),
    marks: new Map([["p-1", { team: 0 }]]),
    ...changes,
  };
  return { name, collections, stores: { app: { sequence: 9, digest: "d" } }, problems: [] };
}

const PEER: PeerEnd = {
  name: "peer-1",
  team: 0,
  total: 1,
  marks: ["p-1"],
  pending: 0,
  refused: 0,
  state: "connected",
};

function endOf(node: NodeEnd = nodeOf(), peers: readonly PeerEnd[] = [PEER]): RunEnd {
  return { nodes: [node], peers };
}

function withEvent(event: HistoryEvent): HistoryEvent[] {
  return [...HISTORY, event];
}

test("a history that the nodes and the peers agree with has no violations", () => {
  expect(check(HISTORY, endOf())).toEqual([]);
});

test("a planted lost write, a double write and a reordering are found", () => {
  expect(check(PLANTS.lost(HISTORY), endOf())).toEqual([
    "node-1: acknowledged writes lost: planted",
  ]);
  expect(check(PLANTS.double(HISTORY), endOf())).toEqual([
    "node-1: counters are not exact: w is 2, expected 1, total is 2, expected 1",
  ]);
  const found = check(PLANTS.reordered(HISTORY), endOf());
  expect(found).toContain("writes out of order: w-2 (1) after w-1 (2)");
});

test("a write that began before the other was acknowledged may have any order", () => {
  const [one, two] = HISTORY.filter(({ id }) => id === "w-2" || id === "w-3");
  const swapped = HISTORY.map((event) => {
    if (event === one) return { ...event, txnId: 3 };
    return event === two ? { ...event, txnId: 2 } : event;
  });
  const documents = new Map([
    ["w-1", { by: "w-1", version: 1 }],
    ["w-2", { by: "w-2", version: 3 }],
    ["w-3", { by: "w-3", version: 2 }],
  ]);
  expect(check(swapped, endOf(nodeOf({ documents })))).toEqual([]);
});

test("a write of unknown outcome may be there once or not at all", () => {
  const unknown = { ...DONE, outcome: "unknown", startMs: 90, endMs: 99 } as const;
  const inserted = withEvent({ ...unknown, type: "insert", id: "w-9" });
  expect(check(inserted, endOf())).toEqual([]);
  const documents = new Map(nodeOf().collections.documents).set("w-9", { by: "w-9", version: 7 });
  expect(check(inserted, endOf(nodeOf({ documents })))).toEqual([]);
  const counted = withEvent({ ...increment(9, 90, 0), ...unknown });
  for (const [n, violations] of [
    [2, 0],
    [3, 0],
    [4, 1],
    [1, 1],
  ] as const) {
    const counters = new Map([
      ["w", { n, last: 6 }],
      ["total", { n, last: 6 }],
    ]);
    expect(check(counted, endOf(nodeOf({ counters })))).toHaveLength(violations);
  }
});

test("documents that were refused, that no one wrote, or that another wrote are found", () => {
  const documents = new Map(nodeOf().collections.documents).set("x", { by: "x", version: 8 });
  const claims = new Map([["c", { by: "v-1", version: 4 }]]);
  expect(check(HISTORY, endOf(nodeOf({ documents, claims })))).toEqual([
    "node-1: acknowledged writes lost: w-4",
    "node-1: documents that no client wrote, or whose write was refused: x, c",
  ]);
});

test("answers that cannot all be true are found", () => {
  const again = { ...DONE, startMs: 100, endMs: 101 };
  const cases: readonly (readonly [HistoryEvent, string])[] = [
    [
      { ...again, type: "claim", id: "v-2", document: "c", txnId: 7 },
      "claims that two clients won: c by w-4 and v-2",
    ],
    [{ ...again, type: "repeat", id: "w-1" }, "documents inserted a second time: w-1"],
    [
      { type: "read", id: "w-1", outcome: "missing", txnId: 1, node: "node-2" },
      "reads without the own write: w-1 of transaction 1 on node-2",
    ],
    [
      { type: "read", id: "w-1", outcome: "found", txnId: 4, seenTxnId: 3, node: "node-2" },
      "reads before the named transaction: w-1 on node-2: 3 < 4",
    ],
    [
      { ...again, type: "insert", id: "w-7", txnId: 6, startMs: 84 },
      "transaction ids acknowledged twice: 6 for w-6 and w-7",
    ],
    [{ ...increment(9, 90, 7), isMatched: false }, "increments that found no document: w-9"],
  ];
  for (const [event, violation] of cases) {
    expect(check(withEvent(event), endOf())).toContain(violation);
  }
});

test("stores that differ, and problems of a store, are found", () => {
  const other = (stores: NodeEnd["stores"]): NodeEnd => ({ ...nodeOf({}, "node-2"), stores });
  const compare = (node: NodeEnd): string[] => {
    return check(HISTORY, { nodes: [nodeOf(), node], peers: [PEER] });
  };
  expect(compare(other({ app: { sequence: 9, digest: "e" } }))).toEqual([
    "node-2: store app differs from that of node-1",
  ]);
  expect(compare(other({ app: { sequence: 8, digest: "d" } }))).toEqual([
    "node-2: store app is at entry 8, not at 9 as node-1",
  ]);
  expect(compare({ ...nodeOf({}, "node-2"), problems: ["bad page"] })).toEqual([
    "node-2: problems found by verify: bad page",
  ]);
});

test("peers with writes left, other totals or other marks are found", () => {
  const found = (changes: Partial<PeerEnd>): string[] =>
    check(HISTORY, endOf(nodeOf(), [{ ...PEER, ...changes }]));
  const what = "peers that differ from the nodes: peer-1";
  expect(found({ pending: 2 })).toEqual([`${what} (connected) has 2 writes to send`]);
  expect(found({ total: 3 })).toEqual([`${what} has the total 3 of team 0, not 1`]);
  expect(found({ marks: [] })).toEqual([`${what} has 0 marks of team 0, not the 1`]);
});

test("a mark that was lost, or counted twice, is found", () => {
  expect(check(HISTORY, endOf(nodeOf({ totals: new Map([[0, { n: 2 }]]) })))).toContain(
    "node-1: totals of peers are not exact: team 0 is 2, expected 1",
  );
  expect(check(HISTORY, endOf(nodeOf({ marks: new Map() })))).toContain(
    "node-1: writes of peers lost: p-1",
  );
});

test("a gap is the longest time without an acknowledged write during an episode", () => {
  expect(longestGap([0, 100, 900, 1_000], 50, 1_000)).toBe(800);
  expect(longestGap([], 50, 1_000)).toBe(950);
  const fault = { kind: "evaluating node killed", startMs: 100, endMs: 2_000 };
  const [gap] = gapsOf([50, 150, 16_150], [{ faults: [fault], startMs: 100, endMs: 17_000 }]);
  expect(gap).toEqual({ kind: fault.kind, gapMs: 16_000, boundMs: 5_000, startMs: 100 });
  expect(gap && checkGaps([gap])).toEqual([
    "evaluating node killed: 16.0 s without an acknowledged write after 0.1 s; expected at most 3 times 5.0 s",
  ]);
  expect(gap && gapTable([gap])).toContain(
    "| evaluating node killed | 1 | 16.0 s | 16.0 s | 5.0 s |",
  );
});

test("without a quorum of NATS, a gap counts from its return", () => {
  const fault = { kind: "NATS quorum lost", startMs: 100, endMs: 20_000 };
  const [gap] = gapsOf([50, 24_000], [{ faults: [fault], startMs: 100, endMs: 25_000 }]);
  expect(gap?.gapMs).toBe(4_000);
});

test("the bounds of faults at the same time add up", () => {
  const kinds = ["NATS leader killed", "evaluating node stopped"];
  const faults = kinds.map((kind) => ({ kind, startMs: 0, endMs: 1 }));
  const [gap] = gapsOf([1], [{ faults, startMs: 0, endMs: 2 }]);
  expect(gap).toMatchObject({ kind: kinds.join(" + "), boundMs: 14_000 });
});

test("command-line options have defaults and are checked", () => {
  expect(parseOptions([])).toMatchObject({ runs: 1, minutes: 3, peers: 100 });
  expect(parseOptions(["--seed", "7", "--plant", "lost"])).toMatchObject({
    seed: 7,
    plant: "lost",
  });
  expect(() => parseOptions(["--plant", "all"])).toThrow(
    "expected one of lost, double, reordered, found 'all' at --plant",
  );
  expect(() => parseOptions(["--runs", "0"])).toThrow("expected an integer of at least 1");
});

test("the same seed gives the same random numbers", () => {
  const [a, b] = [new Random(7), new Random(7)];
  const numbers = Array.from({ length: 5 }, () => a.next());
  expect(Array.from({ length: 5 }, () => b.next())).toEqual(numbers);
  expect(new Set(numbers).size).toBe(5);
  expect(a.between(2, 3)).toBeGreaterThanOrEqual(2);
});
