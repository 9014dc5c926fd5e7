import { documentId, type Operation, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { ChangeFeed } from "../../src/changes/change-feed.ts";
import { ChangesGone } from "../../src/changes/cursor.ts";
import type { ChangeBatch, ChangeLine, ChangeReader, FeedLine } from "../../src/changes/reader.ts";
import { MatchIndex } from "../../src/query/live/match-index.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { readPermissions } from "../../src/query/permission/permissions.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { Store } from "../../src/store/store.ts";
import { type OpenStore, openStore } from "../support/open-store.ts";
import { type TestPlatform, testPlatform } from "../support/test-platform.ts";

interface OpenFeed extends OpenStore {
  readonly feed: ChangeFeed;
  readonly write: (...operations: Operation[]) => Promise<number>;
}

async function openFeed(on?: TestPlatform): Promise<OpenFeed> {
  const opened = await openStore({}, on);
  const { store, platform } = opened;
  const feed = new ChangeFeed({ store, platform, appId: "test" });
  const write = async (...operations: Operation[]): Promise<number> => {
    const by = { credential: "writer" };
    return (await store.transact((transaction) => transaction.apply(operations), { by })).txnId;
  };
  return { ...opened, feed, write };
}

function insert(id: Value, fields: ValueObject, collection = "cars"): Operation {
  return { kind: "insert", collection, id, fields };
}

function set(id: Value, name: string, value: Value, collection = "cars"): Operation {
  const edits = [{ kind: "set", path: [name], value }];
  return { kind: "update", collection, id, edits } as unknown as Operation;
}

function remove(id: Value, collection = "cars"): Operation {
  return { kind: "delete", collection, id };
}

function evict(id: Value, collection = "cars"): Operation {
  return { kind: "evict", collection, id };
}

/** Everything until the reader has nothing more. */
async function drain(reader: ChangeReader): Promise<ChangeBatch> {
  const lines: ChangeBatch["lines"][number][] = [];
  for (;;) {
    const next = reader.next();
    const outcome = { isSettled: false };
    const settle = (): void => {
      outcome.isSettled = true;
    };
    void next.then(settle, settle);
    for (let turns = 0; turns < 300 && !outcome.isSettled; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!outcome.isSettled) reader.wake();
    const batch = await next;
    lines.push(...batch.lines);
    if (batch.lines.length === 0 && batch.isCurrent) return { ...batch, lines };
  }
}

async function changesOf(reader: ChangeReader): Promise<ChangeLine[]> {
  return (await drain(reader)).lines.flatMap(({ change }) => change ?? []);
}

function shortOf({ type, id, document, before }: ChangeLine): unknown[] {
  return [type, id, document, before];
}

function reading(queries: { readonly [collection: string]: readonly string[] }): Authority {
  const permissions = readPermissions({
    read: { everything: false, queriesByCollection: queries },
  });
  return new Authority(permissions, "caller");
}

describe("[C1] a change", () => {
  test("is a line with its type, the document and what it was", async () => {
    const { feed, write, platform } = await openFeed();
    const reader = feed.open({ collection: "cars" });
    const first = await write(insert(1, { colour: "red", n: 1 }));
    await write(set(1, "colour", "blue"));
    await write(remove(1));
    const changes = await changesOf(reader);
    expect(changes.map(shortOf)).toEqual([
      ["insert", 1, { _id: 1, colour: "red", n: 1 }, undefined],
      ["update", 1, { _id: 1, colour: "blue", n: 1 }, { _id: 1, colour: "red", n: 1 }],
      ["delete", 1, undefined, { _id: 1, colour: "blue", n: 1 }],
    ]);
    const at = new Date(platform.nowMs).toISOString();
    expect(changes[0]).toMatchObject({ txnId: first, at, by: { credential: "writer" } });
  });

  test("has the JSON of the line", async () => {
    const { feed, write } = await openFeed();
    const reader = feed.open({});
    await write(insert(1, { a: 2n ** 60n }));
    const [line] = (await drain(reader)).lines;
    expect(JSON.parse(line?.json ?? "")).toMatchObject({
      type: "insert",
      collection: "cars",
      id: 1,
    });
    expect(line?.json).toContain("1152921504606846976");
  });
});

test("[C2] entering the query is an insert, leaving it is a leave", async () => {
  const { feed, write } = await openFeed();
  const reader = feed.open({ collection: "cars", query: "colour == :c", args: { c: "red" } });
  await write(insert(1, { colour: "blue" }), insert(2, { colour: "red" }));
  await write(set(1, "colour", "red"));
  await write(set(1, "colour", "green"), set(2, "n", 1));
  await write(remove(1), remove(2));
  expect((await changesOf(reader)).map(({ type, id }) => [type, id])).toEqual([
    ["insert", 2],
    ["insert", 1],
    ["leave", 1],
    ["update", 2],
    ["delete", 2],
  ]);
});

test("[C1] documents are told apart, whatever characters their collections and ids have", async () => {
  const { feed, write } = await openFeed();
  const reader = feed.open({});
  const key = documentId("x").key;
  const tag = key.slice(0, key.indexOf("x"));
  const others = `a\n${tag}b`;
  await write(insert(`b\n${tag}x`, { of: "a" }, "a"), insert("x", { of: "others" }, others));
  const found = (await changesOf(reader)).map(({ collection, document }) => [
    collection,
    document?.["of"],
  ]);
  expect(found).toEqual([
    ["a", "a"],
    [others, "others"],
  ]);
});

test("[C3] with initial the rows come first, and the feed goes on without a gap", async () => {
  const { feed, write } = await openFeed();
  for (let i = 0; i < 700; i++) await write(insert(i, { n: i }));
  await write(remove(3));
  const reader = feed.open({ collection: "cars", query: "n < 650", isInitial: true });
  // Changes while the rows are sent: they come as changes.
  const first = await reader.next();
  await write(set(5, "n", 1000), remove(640), insert(800, { n: 2 }));
  const rest = await drain(reader);
  const changes = [...first.lines, ...rest.lines].flatMap(({ change }) => change ?? []);
  const rows = changes.filter(({ initial }) => initial === true);
  expect(rows.map(({ id }) => id)).toEqual(
    Array.from({ length: 650 }, (_, i) => i).filter((i) => i !== 3),
  );
  expect(rows.find(({ id }) => id === 640)?.document).toEqual({ _id: 640, n: 640 });
  expect(
    changes.filter(({ initial }) => initial !== true).map(({ type, id }) => [type, id]),
  ).toEqual([
    ["leave", 5],
    ["delete", 640],
    ["insert", 800],
  ]);
});

test("[C3] a reader cut within the rows continues with the next row", async () => {
  const { feed, write } = await openFeed();
  for (let i = 0; i < 40; i++) await write(insert(i, { n: i }));
  const whole = await drain(feed.open({ isInitial: true }));
  const cut = whole.lines[10]?.cursor ?? "";
  await write(remove(20), set(2, "n", 100));
  const lines = await changesOf(feed.open({ since: cut, isInitial: true }));
  expect(lines.filter(({ initial }) => initial === true).map(({ id }) => id)).toEqual(
    Array.from({ length: 29 }, (_, i) => i + 11),
  );
  expect(lines.slice(29).map(({ type, id }) => [type, id])).toEqual([
    ["delete", 20],
    ["update", 2],
  ]);
});

test("[C4] a cursor continues after its line, also within a transaction", async () => {
  const { feed, write } = await openFeed();
  await write(...Array.from({ length: 600 }, (_, i) => insert(i, { n: i })));
  await write(set(5, "n", -1));
  const all = (await drain(feed.open({ since: "0" }))).lines;
  expect(all).toHaveLength(603);
  expect(new Set(all.map(({ cursor }) => cursor)).size).toBe(603);
  for (const start of [0, 1, 255, 256, 257, 599, 600, 601]) {
    const cursor = all[start]?.cursor ?? "";
    const rest = (await drain(feed.open({ since: cursor }))).lines;
    expect(rest.map((line) => line.cursor)).toEqual(
      all.slice(start + 1).map((line) => line.cursor),
    );
  }
});

test("[C5] a trimmed position is gone, with the oldest one that is left", async () => {
  const { feed, write, store } = await openFeed();
  await write(insert(1, {}));
  await write(insert(2, {}));
  const old = (await drain(feed.open({ since: "0" }))).lines[0]?.cursor ?? "";
  const late = feed.open({ since: "0" });
  await store.transact((transaction) => transaction.apply([{ kind: "trim", upTo: 2 }]));
  const error = await Promise.resolve()
    .then(() => feed.open({ since: old }))
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ChangesGone);
  const { oldest, goneReason } = error as ChangesGone;
  expect(goneReason).toBe("floor");
  await expect(late.next()).rejects.toThrow("the log no longer has this position");
  await write(insert(3, {}));
  expect((await changesOf(feed.open({ since: oldest }))).map(({ id }) => id)).toEqual([3]);
  expect((await changesOf(feed.open({ since: "0" }))).map(({ id }) => id)).toEqual([3]);
});

test("[C5] a cursor of another history is gone", async () => {
  const { feed, write, storage, platform } = await openFeed();
  await write(insert(1, {}));
  const { cursor } = feed.open({});
  await renewIdentity(storage, platform);
  const store = await Store.open(storage, platform);
  const copied = new ChangeFeed({ store, platform, appId: "test" });
  expect(() => copied.open({ since: cursor })).toThrow("another history");
  expect(feed.transactionOf(cursor)).toBe(1);
  expect(copied.transactionOf(cursor), "a node of a cluster must not wait for it").toBeUndefined();
});

test.each(["1", "x", "abc.1", `${"0".repeat(32)}.1.r00`, `${"0".repeat(32)}.-1`])(
  "[C4] a text that is no cursor is refused: %s",
  async (since) => {
    const { feed } = await openFeed();
    expect(() => feed.open({ since })).toThrow("expected a cursor");
  },
);

test("[C6] the view of fields has the changed fields only", async () => {
  const { feed, write } = await openFeed();
  const reader = feed.open({ collection: "cars", view: "fields" });
  await write(insert(1, { a: 1, b: 2 }));
  await write(set(1, "a", 5), insert(2, {}));
  await write(set(1, "c", 3));
  await write(remove(1));
  expect((await changesOf(reader)).filter(({ id }) => id === 1).map(shortOf)).toEqual([
    ["insert", 1, { _id: 1, a: 1, b: 2 }, undefined],
    ["update", 1, { a: 5 }, { a: 1 }],
    ["update", 1, { c: 3 }, {}],
    ["delete", 1, undefined, undefined],
  ]);
});

test("[C7] transactions come in order, and each with lines has an end", async () => {
  const { feed, write } = await openFeed();
  const reader = feed.open({ collection: "cars" });
  await write(insert(1, {}), insert(2, {}));
  await write(insert(1, {}, "other"));
  await write(insert(3, {}));
  const { lines } = await drain(reader);
  expect(lines.map(({ change, txnId, json }) => [txnId, change?.id ?? JSON.parse(json)])).toEqual([
    [1, 1],
    [1, 2],
    [1, { marker: "transaction", txnId: 1 }],
    [3, 3],
    [3, { marker: "transaction", txnId: 3 }],
  ]);
});

test("[C7] a transaction of many changes comes as a whole, without a commit behind it", async () => {
  const { feed, write } = await openFeed();
  const reader = feed.open({ collection: "cars" });
  await write(...Array.from({ length: 1_000 }, (_, id) => insert(id, { n: id })));
  const { lines } = await drain(reader);
  expect(lines.map(({ change }) => change?.id ?? "end")).toEqual([
    ...Array.from({ length: 1_000 }, (_, id) => id),
    "end",
  ]);
});

test("[C8] an evicted document leaves; it is as it was before in what the log has of it", async () => {
  const { feed, write } = await openFeed();
  await write(insert(1, { n: 1 }));
  await write(set(1, "n", 2));
  await write(evict(1));
  await write(insert(1, { n: 3 }));
  await write(set(1, "n", 4));
  expect((await changesOf(feed.open({ since: "0" }))).map(shortOf)).toEqual([
    ["insert", 1, { _id: 1, n: 1 }, undefined],
    ["update", 1, { _id: 1, n: 2 }, { _id: 1, n: 1 }],
    ["leave", 1, undefined, { _id: 1, n: 2 }],
    ["insert", 1, { _id: 1, n: 3 }, undefined],
    ["update", 1, { _id: 1, n: 4 }, { _id: 1, n: 3 }],
  ]);
});

describe("[C9] the permission of the caller", () => {
  test("decides on each row before and after", async () => {
    const { feed, write } = await openFeed();
    const reader = feed.open({ authority: reading({ cars: ["owner == 'ann'"] }) });
    await write(insert(1, { owner: "bob" }), insert(2, { owner: "ann" }), insert(3, {}, "other"));
    await write(set(1, "owner", "ann"), set(2, "owner", "bob"));
    await write(remove(1), remove(2));
    const changes = await changesOf(reader);
    expect(changes.map(({ type, id }) => [type, id])).toEqual([
      ["insert", 2],
      ["insert", 1],
      ["leave", 2],
      ["delete", 1],
    ]);
    expect(changes.every(({ by }) => by === null)).toBe(true);
  });

  test("of a collection without a rule refuses the reader", async () => {
    const { feed } = await openFeed();
    const authority = reading({ cars: ["true"] });
    expect(() => feed.open({ collection: "other", authority })).toThrow(
      expect.objectContaining({ name: "PeerError", code: "permission.denied" }),
    );
  });
});

test("[C10] readers with the same filter are one group; different values are found by the index", async () => {
  const { feed, write } = await openFeed();
  const readers = Array.from({ length: 20 }, (_, i) =>
    feed.open({ collection: "cars", query: "n == :n", args: { n: i % 10 } }),
  );
  expect(feed.groupCount).toBe(10);
  await write(insert(1, { n: 4 }));
  const got = await Promise.all(readers.map(changesOf));
  expect(got.map((changes) => changes.length)).toEqual(
    Array.from({ length: 20 }, (_, i) => (i % 10 === 4 ? 1 : 0)),
  );
  for (const reader of readers) reader.close();
  expect([feed.groupCount, feed.count, feed.keptLength]).toEqual([0, 0, 0]);
});

test("[C11] a reader that does not read holds nothing, and gets everything later", async () => {
  const { feed, write } = await openFeed();
  const idle = feed.open({ collection: "cars" });
  const text = "x".repeat(20_000);
  for (let i = 0; i < 100; i++) await write(insert(i, { text }));
  const other = feed.open({ collection: "cars" });
  await drain(other);
  expect(feed.keptLength).toBeLessThan(300_000);
  const changes = await changesOf(idle);
  expect(changes.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("[C11] large rows at the beginning come in batches of bounded size", async () => {
  const { feed, write } = await openFeed();
  const text = "x".repeat(100_000);
  for (let i = 0; i < 30; i++) await write(insert(i, { text }));
  const reader = feed.open({ collection: "cars", isInitial: true });
  const ids: unknown[] = [];
  while (reader.isInitial) {
    const { lines } = await reader.next();
    expect(lines.length).toBeLessThan(5);
    for (const { change } of lines) ids.push(change?.id);
  }
  expect(ids).toEqual(Array.from({ length: 30 }, (_, i) => i));
});

test.each([
  ["of the log", { since: "0" }],
  ["of the rows", { isInitial: true }],
])("a reader that is woken in a long search %s says how far it is", async (_, request) => {
  const { feed, write } = await openFeed();
  await write(...Array.from({ length: 2_000 }, (_each, i) => insert(i, { n: 1 })));
  const reader = feed.open({ collection: "cars", query: "n == 2", ...request });
  const { cursor } = reader;
  const next = reader.next();
  reader.wake();
  const batch = await next;
  expect(batch).toMatchObject({ lines: [], isCurrent: false });
  expect(batch.cursor).not.toBe(cursor);
  expect(await changesOf(reader)).toEqual([]);
});

describe("a reader that opens or closes while changes are read for others", () => {
  /** Each step of a reading is a slice, and `onPause` runs before the next one. */
  function withPauses(onPause: (pause: number) => void): TestPlatform {
    let ms = 0;
    let pauses = 0;
    const elapsed = (): number => (ms += 100);
    const pause = async (): Promise<void> => {
      onPause(++pauses);
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { ...testPlatform(), elapsed, pause };
  }

  /** Waits for them where there are not enough yet. */
  async function take(count: number, reader: ChangeReader): Promise<FeedLine[]> {
    const lines: FeedLine[] = [];
    while (lines.length < count) lines.push(...(await reader.next()).lines);
    return lines;
  }

  const PAUSES = 80;
  const ids = Array.from({ length: 12 }, (_, id) => id);

  test("[C4] misses no change, whenever it opens", async () => {
    for (let moment = 1; moment <= PAUSES; moment++) {
      let since = "";
      let late: Promise<FeedLine[]> | undefined;
      let isWriting = false;
      const platform = withPauses(() => {
        if (!isWriting || --pausesLeft !== 0) return;
        late = take(2 * ids.length, feed.open({ collection: "cars", query: "n >= 0", since }));
      });
      let pausesLeft = moment;
      const { feed, write } = await openFeed(platform);
      const other = feed.open({ collection: "cars" });
      since = other.cursor;
      isWriting = true;
      await Promise.all(ids.map((id) => write(insert(id, { n: id }))));
      await drain(other);
      const lines = await late;
      if (lines === undefined) return expect(moment).toBeGreaterThan(40);
      const found = lines.map(({ change, txnId }) => change?.id ?? `end ${txnId}`);
      const first = lines[0]?.txnId ?? 0;
      const expected = ids.flatMap((id) => [id, `end ${first + id}`]);
      expect(found, `opened at pause ${moment}`).toEqual(expected);
    }
  });

  test("[C11] leaves no filter behind, whenever it closes while the log is read for it", async () => {
    const added = vi.spyOn(MatchIndex.prototype, "add");
    const removed = vi.spyOn(MatchIndex.prototype, "remove");
    onTestFinished(() => void vi.restoreAllMocks());
    for (let moment = 1; moment <= ids.length; moment++) {
      let pausesLeft = Infinity;
      const platform = withPauses(() => {
        if (--pausesLeft === 0) leaving.close();
      });
      const { feed, write } = await openFeed(platform);
      await write(...ids.map((id) => insert(id, { n: id })));
      const leaving = feed.open({ collection: "cars", query: "n >= 0", since: "0" });
      pausesLeft = moment;
      await leaving.next();
      leaving.close();
      const filters = added.mock.results.map(({ value }) => value as unknown);
      const gone = removed.mock.calls.map(([entry]) => entry as unknown);
      expect(new Set(gone), `closed at pause ${moment}`).toEqual(new Set(filters));
    }
  });

  test("[C11] leaves nothing behind, whenever it closes", async () => {
    for (let moment = 1; moment <= PAUSES; moment++) {
      let isWriting = false;
      let pausesLeft = moment;
      const platform = withPauses(() => {
        if (isWriting && --pausesLeft === 0) leaving.close();
      });
      const { feed, write } = await openFeed(platform);
      const staying = feed.open({ collection: "cars" });
      const leaving = feed.open({ collection: "cars", query: "n >= 0" });
      isWriting = true;
      await Promise.all(ids.map((id) => write(insert(id, { n: id }))));
      await drain(staying);
      leaving.close();
      staying.close();
      expect(feed.keptLength, `closed at pause ${moment}`).toBe(0);
    }
  });
});

test("a reader that must not wait searches to the end of the log, and says that there is no more", async () => {
  const { feed, write } = await openFeed();
  for (let i = 0; i < 3; i++) {
    await write(...Array.from({ length: 256 }, (_, id) => insert(i * 256 + id, { n: 1 })));
  }
  const reader = feed.open({ collection: "cars", query: "n == 2", since: "0" });
  // The news of the last transaction may still interrupt the search.
  const next = async (): Promise<ChangeBatch> => {
    for (;;) {
      const batch = await reader.next({ mayWait: false });
      if (batch.isCurrent || batch.lines.length > 0) return batch;
    }
  };
  expect(await next()).toMatchObject({ lines: [] });
  expect(reader.lag()).toEqual({ transactions: 0, ms: 0 });
  await write(insert("a", { n: 2 }));
  await vi.waitFor(async () => {
    const { lines } = await next();
    expect(lines.map(({ change }) => change?.id ?? "end")).toEqual(["a", "end"]);
  });
});

test("[C12] the lag of a reader is what it has not taken", async () => {
  const { feed, write, platform } = await openFeed();
  const reader = feed.open({});
  expect(reader.lag()).toEqual({ transactions: 0, ms: 0 });
  await write(insert(1, {}));
  platform.nowMs += 500;
  await write(insert(2, {}));
  expect(reader.lag()).toEqual({ transactions: 2, ms: 500 });
  await drain(reader);
  expect(reader.lag()).toEqual({ transactions: 0, ms: 0 });
});

describe("[C11] a failed reading of the log", () => {
  async function failed(): Promise<OpenFeed & { readonly reader: ChangeReader }> {
    const opened = await openFeed();
    const { feed, write, store } = opened;
    const reader = feed.open({ collection: "cars" });
    await write(insert(1, {}));
    await drain(reader);
    const waiting = reader.next();
    const snapshot = vi.spyOn(store, "snapshot").mockImplementationOnce(() => {
      throw new Error("the disk failed");
    });
    await write(insert(2, {}));
    await expect(waiting).rejects.toThrow("the disk failed");
    snapshot.mockRestore();
    return { ...opened, reader };
  }

  const idsOf = async (reader: ChangeReader): Promise<unknown[]> =>
    (await changesOf(reader)).map(({ id }) => id);

  test("ends its readers, and later ones go on from their cursors", async () => {
    const { feed, write, reader } = await failed();
    const later = feed.open({ collection: "cars", since: reader.cursor });
    expect(await idsOf(later)).toEqual([2]);
    await write(insert(3, {}));
    expect(await idsOf(later)).toEqual([3]);
  });

  test("is the end of a reader, also with other permissions", async () => {
    const { feed, reader } = await failed();
    reader.setAuthority(reading({ cars: ["true"] }));
    await expect(reader.next()).rejects.toThrow("the disk failed");
    reader.close();
    expect([feed.count, feed.groupCount]).toEqual([0, 0]);
  });

  test("leaves no filter and no line behind", async () => {
    const added = vi.spyOn(MatchIndex.prototype, "add");
    const removed = vi.spyOn(MatchIndex.prototype, "remove");
    onTestFinished(() => void vi.restoreAllMocks());
    const { feed, write, reader } = await failed();
    const later = feed.open({ collection: "cars", since: reader.cursor });
    await write(insert(3, {}));
    await drain(later);
    for (const one of [reader, later]) one.close();
    const filters = added.mock.results.map(({ value }) => value as unknown);
    const gone = removed.mock.calls.map(([entry]) => entry as unknown);
    expect(new Set(gone)).toEqual(new Set(filters));
    expect(feed.keptLength).toBe(0);
  });

  test("after the feed has closed, no reader comes", async () => {
    const { feed, reader } = await failed();
    feed.close();
    expect(() => feed.open({ since: reader.cursor })).toThrow("closing");
  });
});

test("readers end when the feed closes", async () => {
  const { feed } = await openFeed();
  const reader = feed.open({});
  const waiting = reader.next();
  feed.close();
  await expect(waiting).rejects.toThrow("closing");
});

const RULES = ["true", "false", "owner == 'ann'", "n > 1", "owner == 'bob' || n == 0"];
const QUERIES = [undefined, "n < 3", "owner == 'ann'", "n == :n"];

type Step =
  | { readonly kind: "write"; readonly operations: readonly Operation[] }
  | { readonly kind: "rule"; readonly rule: string }
  | { readonly kind: "drain" }
  | { readonly kind: "reconnect" };

const anyOperation: fc.Arbitrary<Operation> = fc
  .record({ id: fc.nat(5), what: fc.nat(9), n: fc.nat(4), owner: fc.constantFrom("ann", "bob") })
  .map(({ id, what, n, owner }) => {
    if (what < 4) return insert(id, { n, owner });
    if (what < 6) return set(id, "n", n);
    if (what < 8) return set(id, "owner", owner);
    return what === 8 ? remove(id) : evict(id);
  });

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .uniqueArray(anyOperation, {
        selector: (operation) => (operation as { id: number }).id,
        minLength: 1,
        maxLength: 4,
      })
      .map((operations): Step => ({ kind: "write", operations })),
  },
  { weight: 2, arbitrary: fc.constantFrom(...RULES).map((rule): Step => ({ kind: "rule", rule })) },
  { weight: 3, arbitrary: fc.constant<Step>({ kind: "drain" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "reconnect" }) },
);

test("[C9] rows at the beginning plus the feed give the rows of the query at every transaction, while permissions change", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 3, maxLength: 25 }),
      fc.constantFrom(...QUERIES),
      fc.constantFrom(...RULES),
      async (steps, query, firstRule) => {
        const { feed, write, store } = await openFeed();
        const args = query?.includes(":n") === true ? { n: 1 } : undefined;
        let rule = firstRule;
        const authorityOf = (): Authority => reading({ cars: [rule] });
        const base = { collection: "cars", query, args } as const;
        /** The rows by a reader that asks now. */
        const rowsNow = async (): Promise<Map<unknown, unknown>> => {
          const fresh = feed.open({ ...base, authority: authorityOf(), isInitial: true });
          const rows = new Map<unknown, unknown>();
          for (const { id, document } of await changesOf(fresh)) rows.set(id, document);
          fresh.close();
          return rows;
        };
        const history = new Map<number, Map<unknown, unknown>>();
        const held = new Map<unknown, unknown>();
        let reader = feed.open({ ...base, authority: authorityOf(), isInitial: true });
        const take = async (): Promise<void> => {
          const { lines } = await drain(reader);
          for (const { change, txnId } of lines) {
            if (change === undefined) {
              const expected = history.get(txnId);
              // Known for the transactions since the rule changed last.
              if (expected !== undefined) expect(new Map(held)).toEqual(expected);
              continue;
            }
            const { type, id, document } = change;
            if (type === "insert" || type === "update") held.set(id, document);
            else held.delete(id);
            if (type === "update" || (type === "insert" && change.initial !== true)) {
              expect(document).toBeDefined();
            }
          }
          expect(new Map(held)).toEqual(await rowsNow());
        };
        for (const step of steps) {
          if (step.kind === "write") {
            const txnId = await write(...step.operations);
            history.set(txnId, await rowsNow());
          } else if (step.kind === "rule") {
            ({ rule } = step);
            history.clear();
            reader.setAuthority(authorityOf());
          } else if (step.kind === "drain") await take();
          else {
            await take();
            const { cursor } = reader;
            reader.close();
            reader = feed.open({ ...base, authority: authorityOf(), since: cursor });
          }
        }
        await take();
        await store.close();
      },
    ),
    { numRuns: runs(300) },
  );
});
