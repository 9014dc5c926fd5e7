/**
 * Pages of documents: the pages one after the other have all documents in their order, whatever the
 * types of their ids.
 */

import { parseJson } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openPeer, type Peer } from "../../peer/src/index.ts";
import {
  type Cursor,
  conditionFault,
  formatCursor,
  formatSort,
  idText,
  type PageRequest,
  pageStatements,
  parseCursor,
  parseSort,
  parseSorts,
} from "../src/data/document-page.ts";
import { EVERYTHING } from "../src/data/filter.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

const IDS: readonly unknown[] = [
  false,
  true,
  -3,
  0,
  7,
  2n ** 53n + 1n,
  2n ** 53n + 2n,
  "",
  "a",
  "b",
  "z",
  [],
  [1],
  [2],
  {},
  { k: 1 },
];

const FIRST: PageRequest = {
  collection: "docs",
  condition: EVERYTHING,
  sort: undefined,
  cursor: undefined,
  size: 3,
};

async function openDocuments(ids: readonly unknown[]): Promise<Peer> {
  const peer = await openPeer({ appId: APP, url: "http://127.0.0.1:9", memory: true, token: "t" });
  const all = ids.map((id, i) => ({ _id: id, n: i % 4, isOdd: i % 2 === 1 }));
  await peer.store.execute("INSERT INTO docs DOCUMENTS (:all)", { all });
  return peer;
}

/** As the console does: statement after statement until the page is full. */
async function idsOf(peer: Peer, request: PageRequest): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const { text, args } of pageStatements(request)) {
    const { items } = await peer.store.execute(text, { ...args });
    found.push(...items.map(({ _id }) => _id));
    if (found.length > request.size) break;
  }
  return found;
}

test.each([
  ["all documents", EVERYTHING, IDS],
  [
    "a filter",
    { text: "isOdd OR n = :n", args: { n: 0 } },
    IDS.filter((_, i) => i % 2 === 1 || i % 4 === 0),
  ],
])("pages forward and backward have %s in the order of ids", async (_, condition, expected) => {
  const peer = await openDocuments(IDS);
  const forward: unknown[] = [];
  for (let cursor: Cursor | undefined; ; cursor = { after: forward.at(-1) }) {
    const page = await idsOf(peer, { ...FIRST, condition, cursor });
    forward.push(...page.slice(0, 3));
    if (page.length <= 3) break;
  }
  expect(forward).toEqual(expected);
  const backward: unknown[] = [];
  for (let cursor: Cursor = { before: expected.at(-1) }; ; cursor = { before: backward.at(-1) }) {
    const page = await idsOf(peer, { ...FIRST, condition, cursor });
    backward.push(...page.slice(0, 3));
    if (page.length <= 3) break;
  }
  expect(backward).toEqual(expected.slice(0, -1).toReversed());
  await peer.close();
});

test("the clauses of a page stand behind a filter, whatever its end", async () => {
  const peer = await openDocuments(["a", "b", "c", "d", "e", "f"]);
  const page = (text: string): Promise<unknown[]> => {
    const condition = { text, args: {} };
    return idsOf(peer, { ...FIRST, size: 1, condition, cursor: { after: "a" } });
  };
  expect(await page("n >= 0 -- all")).toEqual(["b", "c"]);
  expect(await page("n >= 0 /* all */")).toEqual(["b", "c"]);
  expect(await page("'--)' = '--)' OR (n = 1) -- )")).toEqual(["b", "c"]);
  for (const text of [
    "n = 1 UNION SELECT * FROM docs",
    "n = 1 LIMIT 1 --",
    "n = 1; --",
    "n = 1 /*",
  ]) {
    await expect(page(text), text).rejects.toThrow(/expected/);
  }
  await expect(page("n = 1) OR (n = 0")).rejects.toThrow(
    'expected an operator, found ")" at character 6 of the condition',
  );
  await peer.close();
});

test("a field with the name of its collection orders and filters", async () => {
  const peer = await openPeer({ appId: APP, url: "http://127.0.0.1:9", memory: true, token: "t" });
  const all = [2, 3, 1].map((docs) => ({ _id: `d${docs}`, docs }));
  await peer.store.execute("INSERT INTO docs DOCUMENTS (:all)", { all });
  const sort = { path: ["docs"], isDescending: true };
  expect(await idsOf(peer, { ...FIRST, sort })).toEqual(["d3", "d2", "d1"]);
  await peer.store.execute("INSERT INTO _id DOCUMENTS (:all)", { all });
  const cursor = { after: "d1" };
  expect(await idsOf(peer, { ...FIRST, collection: "_id", cursor })).toEqual(["d2", "d3"]);
  await peer.close();
});

test("a page after an id is a range of ids, not a scan", () => {
  const [statement, ...others] = pageStatements({ ...FIRST, cursor: { after: "m" } });
  expect(statement?.text).toBe("SELECT * FROM docs WHERE _id > :cursor ORDER BY _id LIMIT 4");
  expect(others.map(({ text }) => text)).toEqual([
    "SELECT * FROM docs WHERE _id >= [] ORDER BY _id LIMIT 4",
    "SELECT * FROM docs WHERE _id >= {} ORDER BY _id LIMIT 4",
  ]);
});

test("in another order a page begins after a number of documents", async () => {
  const peer = await openDocuments(["a", "b", "c", "d", "e", "f"]);
  const sort = { path: ["n"], isDescending: true };
  const pages = [undefined, { offset: 3 }].map((cursor) => idsOf(peer, { ...FIRST, sort, cursor }));
  const [first = [], second = []] = await Promise.all(pages);
  expect([...first.slice(0, 3), ...second]).toEqual(["d", "c", "b", "f", "a", "e"]);
  await peer.close();
});

test("cursors and orders survive the address", () => {
  const cursors: Cursor[] = [
    { after: "a" },
    { before: [1, "x"] },
    { after: false },
    { after: 2n ** 63n },
    { offset: 50 },
  ];
  for (const cursor of cursors) {
    const entries = Object.entries(formatCursor(cursor)).filter(([, value]) => value !== undefined);
    expect(parseCursor(Object.fromEntries(entries) as Record<string, string>)).toEqual(cursor);
  }
  for (const text of ["year", "`odd name` desc", "owner.city", "`a desc`", "`a\nb` desc"]) {
    expect(formatSort(parseSort(text))).toBe(text);
  }
  expect(parseSort("")).toBeUndefined();
  expect(parseSorts("state, `a, b`.c DESC,n asc")).toEqual([
    { path: ["state"], isDescending: false },
    { path: ["a, b", "c"], isDescending: true },
    { path: ["n"], isDescending: false },
  ]);
  for (const text of ["", "state, placed at", "a,", "`a"]) expect(parseSorts(text)).toBeUndefined();
});

test("a failure names its place in the condition", async () => {
  const peer = await openDocuments(["a"]);
  const faultOf = async (text: string, cursor?: Cursor): Promise<string> => {
    const condition = { text, args: {} };
    const [statement] = pageStatements({ ...FIRST, condition, cursor });
    const failure: unknown = await peer.store
      .execute(statement?.text ?? "", statement?.args ?? {})
      .catch((error: unknown) => error);
    return conditionFault((failure as Error).message, statement?.text ?? "", condition);
  };
  expect(await faultOf("n >")).toBe("expected an expression, found the end of the condition");
  expect(await faultOf("n = = 1")).toBe(
    'expected an expression, found "=" at character 5 of the condition',
  );
  expect(await faultOf("isodd(n)", { after: "a" })).toContain("at character 1 of the condition");
  await peer.close();
});

test.each([
  "",
  "1.5",
  "-0",
  "1e3",
  "null",
  "true",
  " 7",
  '"quoted"',
  "[1]",
  '{"a": 1}',
  "plain",
  "o0001",
  "null and void",
])("the id %j as short text is the same id for the server, which reads JSON where it can", (id) => {
  expect(readAsServer(idText(id))).toBe(id);
});

test("only an id that could be a value in JSON has quotes", () => {
  expect(["plain", "o-1", "1.5", "null", 7, { lot: 3 }].map(idText)).toEqual([
    "plain",
    "o-1",
    '"1.5"',
    '"null"',
    "7",
    '{"lot":3}',
  ]);
});

/** As the parameter `id` of EXPLAIN SYNC. */
function readAsServer(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
