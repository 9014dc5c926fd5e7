/**
 * The store of a peer as an app uses it: statements and transactions.
 */
import { expect, test } from "vitest";
import { Gate } from "../src/gate.ts";
import { openLocalStore } from "./support/open-local-store.ts";
import { settle, until } from "./support/turns.ts";

test("a write returns the changed ids and a commit, a read returns items and no commit", async () => {
  const { local } = await openLocalStore();
  const written = await local.execute("INSERT INTO c DOCUMENTS (:d)", { d: { _id: "a", n: 1 } });
  expect(written).toEqual({ items: [], mutatedDocumentIds: ["a"], commitId: 1, warnings: [] });
  const read = await local.execute("SELECT * FROM c");
  expect(read).toEqual({
    items: [{ _id: "a", n: 1 }],
    mutatedDocumentIds: [],
    commitId: undefined,
    warnings: [],
  });
});

test("[Q1] [Q2] a result that is empty by mistake has a warning with a suggestion", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO tasks DOCUMENTS (:d)", { d: { _id: "a", status: "done" } });
  const { warnings } = await local.execute("SELECT * FROM taks");
  expect(warnings.map(({ description }) => description)).toEqual([
    expect.stringMatching(/; did you mean "tasks"\?$/),
  ]);
  await local.transaction(async (transaction) => {
    const inside = await transaction.execute("SELECT * FROM tasks WHERE status = done");
    expect(inside.warnings.map(({ description }) => description)).toEqual([
      expect.stringMatching(/; did you mean 'done'\?$/),
    ]);
  });
});

test("consecutive statements without a pause let other tasks run", async () => {
  const { local } = await openLocalStore();
  const turns: string[] = [];
  setImmediate(() => turns.push("another's"));
  let count = 0;
  for (; count < 10_000 && turns.length === 0; count++) {
    await local.execute("INSERT INTO c DOCUMENTS (:d)", { d: { _id: count } });
  }
  expect(count).toBeLessThan(10_000);
});

test("an undefined field is omitted, as in JSON; a Date and an undefined element are refused", async () => {
  const { local } = await openLocalStore();
  const task = {
    _id: "a",
    note: undefined,
    inner: { n: 1, gone: undefined },
    list: [{ x: undefined }],
  };
  await local.execute("INSERT INTO c DOCUMENTS (:task)", { task, unused: undefined });
  const { items } = await local.execute("SELECT * FROM c WHERE note IS MISSING");
  expect(items).toEqual([{ _id: "a", inner: { n: 1 }, list: [{}] }]);
  await expect(local.execute("SELECT :x AS x FROM c", { x: undefined })).rejects.toThrow("x");
  for (const wrong of [new Date(0), [undefined]]) {
    const refused = local.execute("INSERT INTO c DOCUMENTS (:d)", { d: { _id: "b", wrong } });
    await expect(refused).rejects.toThrow("wrong");
  }
});

test("later changes of an app to its objects do not reach the store", async () => {
  const { local } = await openLocalStore();
  const task = { _id: "a", list: [1], bytes: Buffer.from([7]) };
  const writing = local.execute("INSERT INTO c DOCUMENTS (:task)", { task });
  task.list.push(2);
  task.bytes[0] = 8;
  await writing;
  const { items } = await local.execute("SELECT * FROM c");
  expect(items).toEqual([{ _id: "a", list: [1], bytes: Uint8Array.of(7) }]);
  for (const item of items) (item["list"] as number[]).push(3);
  expect((await local.execute("SELECT list FROM c")).items).toEqual([{ list: [1] }]);
});

test("a field named __proto__ is an ordinary field", async () => {
  const { local } = await openLocalStore();
  const task = JSON.parse('{"_id": "a", "__proto__": {"x": 1}}') as object;
  await local.execute("INSERT INTO c DOCUMENTS (:task)", { task });
  const [item] = (await local.execute("SELECT * FROM c")).items;
  expect(Object.keys(item ?? {}).sort()).toEqual(["__proto__", "_id"]);
});

test("data that is not a value is refused with its place", async () => {
  const { local } = await openLocalStore();
  const writing = local.execute("INSERT INTO c DOCUMENTS (:t)", { t: { at: new Date(0) } });
  await expect(writing).rejects.toThrow("t.at");
});

test("a transaction takes effect as one commit, and returns the result of its function", async () => {
  const { local, store } = await openLocalStore();
  const before = store.txnId;
  const given = await local.transaction(async (tx) => {
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 1})");
    const { items } = await tx.execute<{ n: number }>("SELECT n FROM c");
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'b', 'n': :n})", {
      n: (items[0]?.n ?? 0) + 1,
    });
    return "done";
  });
  expect(given).toBe("done");
  expect((await local.execute("SELECT n FROM c ORDER BY n")).items).toEqual([{ n: 1 }, { n: 2 }]);
  expect(store.txnId).toBe(before + 1);
});

test("a transaction whose function throws writes nothing, and rejects with the thrown error", async () => {
  const { local, store } = await openLocalStore();
  const failing = local.transaction(async (tx) => {
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
    throw new Error("changed my mind");
  });
  await expect(failing).rejects.toThrow("changed my mind");
  expect((await local.execute("SELECT * FROM c")).items).toEqual([]);
  expect(store.txnId).toBe(0);
});

test("an error that its function catches does not end a transaction", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  await local.transaction(async (tx) => {
    await expect(tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})")).rejects.toThrow("'a'");
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'b'})");
  });
  expect((await local.execute("SELECT _id FROM c")).items).toEqual([{ _id: "a" }, { _id: "b" }]);
});

test("concurrent transactions that read and then write lose nothing, however many there are", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 0})");
  const add = (): Promise<void> =>
    local.transaction(async (tx) => {
      const { items } = await tx.execute<{ n: number }>("SELECT n FROM c");
      await settle();
      await tx.execute("UPDATE c SET n = :n", { n: (items[0]?.n ?? 0) + 1 });
    });
  await Promise.all(Array.from({ length: 30 }, add));
  expect((await local.execute("SELECT n FROM c")).items).toEqual([{ n: 30 }]);
});

test("the function is called again if another write changed what it read", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 0})");
  const read: unknown[] = [];
  const changed = new Gate();
  const adding = local.transaction(async (tx) => {
    const { items } = await tx.execute<{ n: number }>("SELECT n FROM c");
    read.push(items[0]?.n);
    await changed.opened;
    await tx.execute("UPDATE c SET n = :n", { n: (items[0]?.n ?? 0) + 1 });
  });
  await until(() => read.length === 1);
  await local.execute("UPDATE c SET n = 10");
  changed.open();
  await adding;
  expect(read).toEqual([0, 10]);
  expect((await local.execute("SELECT n FROM c")).items).toEqual([{ n: 11 }]);
});

test("a transaction with a conflict at every attempt gives up and writes nothing", async () => {
  const { local } = await openLocalStore();
  await local.execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 0})");
  const hopeless = local.transaction(async (tx) => {
    const { items } = await tx.execute<{ n: number }>("SELECT n FROM c");
    await local.execute("UPDATE c SET n = :n", { n: (items[0]?.n ?? 0) + 1 });
    await tx.execute("UPDATE c SET n = 1000");
  });
  await expect(hopeless).rejects.toThrow("others changed 20 times");
  expect((await local.execute("SELECT n FROM c")).items).toEqual([{ n: 20 }]);
});

test("a nested transaction is refused instead of waiting for ever", async () => {
  const { local } = await openLocalStore();
  const nested = local.transaction(() => local.transaction(async () => 1));
  await expect(nested).rejects.toThrow(
    "found another transaction; a retry would fail, too: use execute of the open transaction",
  );
  expect(await local.transaction(async () => 2)).toBe(2);
});

test("an observer may start a transaction, also if a transaction triggered it", async () => {
  const { local, errors } = await openLocalStore();
  let copies = 0;
  local.registerObserver("SELECT * FROM c", async ({ items }) => {
    if (items.length === 0 || copies > 0) return;
    copies++;
    await local.transaction(async (tx) => {
      await tx.execute("INSERT INTO copies DOCUMENTS ({'_id': 1})");
    });
  });
  await local.transaction(async (tx) => {
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  });
  await until(() => copies === 1);
  await settle();
  expect(errors).toEqual([]);
  expect((await local.execute("SELECT * FROM copies")).items).toEqual([{ _id: 1 }]);
});

test("a statement of a finished transaction is refused", async () => {
  const { local } = await openLocalStore();
  let late: (() => Promise<unknown>) | undefined;
  await local.transaction(async (tx) => {
    late = () => tx.execute("DELETE FROM c");
  });
  await expect(late?.()).rejects.toThrow("the transaction has ended");
});

test.each([
  [17, "number"],
  [undefined, "undefined"],
  [null, "null"],
  [["SELECT"], "an array"],
])(
  "a statement that is %s instead of text is refused with a message, in every call",
  async (statement, kind) => {
    const { local } = await openLocalStore();
    const text = statement as unknown as string;
    const message = `expected the text of a statement, found ${kind}`;
    const refusal = expect.objectContaining({ code: "query.syntax", message });
    await expect(local.execute(text)).rejects.toEqual(refusal);
    await expect(local.transaction((tx) => tx.execute(text))).rejects.toEqual(refusal);
    expect(() => local.registerObserver(text, () => undefined)).toThrow(message);
  },
);

test("an observer with its arguments in the wrong order is refused with the right order", async () => {
  const { local } = await openLocalStore();
  const register =
    (...given: unknown[]) =>
    (): unknown =>
      local.registerObserver(...(given as Parameters<typeof local.registerObserver>));
  const query = "SELECT * FROM c WHERE n = :n";
  const hint = "; call registerObserver(query, args, callback)";
  expect(register(query, () => undefined, { n: 1 })).toThrow(
    `expected the callback as the last argument, found object after it${hint}`,
  );
  expect(register(query, { n: 1 })).toThrow(`expected a callback, found undefined${hint}`);
  expect(register("c", () => undefined)).toThrow(
    'expected a SELECT, found "c"; did you mean SELECT * FROM c?',
  );
});

test("an undefined parameter is reported as undefined, a missing one as missing", async () => {
  const { local } = await openLocalStore();
  const query = "SELECT * FROM c WHERE n = :n";
  const message = "expected a value for parameter n, found undefined at line 1, column 27";
  await expect(local.execute(query, { n: undefined })).rejects.toThrow(message);
  const inside = local.transaction((tx) => tx.execute(query, { n: undefined }));
  await expect(inside).rejects.toThrow(message);
  expect(() => local.registerObserver(query, { n: undefined }, () => undefined)).toThrow(message);
  await expect(local.execute(query, { m: 1 })).rejects.toThrow("parameter n was not provided");
  // One that the statement does not need is left out, as before.
  await local.execute("SELECT * FROM c", { n: undefined });
});

test("an object that is not a value is reported by its class", async () => {
  const { local } = await openLocalStore();
  class Money {
    readonly cents = 5;
  }
  for (const [value, found] of [
    [new Map(), "found a Map: give a plain object (Object.fromEntries(map)) at args.d.v"],
    [new Set(), "found a Set: give an array ([...set]) at args.d.v"],
    [new Money(), "expected a plain object, found an object of the class Money at args.d.v"],
  ] as const) {
    const write = local.execute("INSERT INTO c DOCUMENTS (:d)", { d: { v: value } });
    await expect(write).rejects.toThrow(found);
  }
});

test("a transaction that is not a function is refused with a message", async () => {
  const { local } = await openLocalStore();
  const scope = "SELECT" as unknown as () => Promise<void>;
  const refusal = "expected a function with the statements of the transaction, found string";
  await expect(local.transaction(scope)).rejects.toThrow(refusal);
});

test("a transaction that does not end is ended, and the next one continues", async () => {
  const { local } = await openLocalStore({ transactionMsMax: 1 });
  let late: (() => Promise<unknown>) | undefined;
  const hanging = local.transaction(async (tx) => {
    await tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
    late = () => tx.execute("INSERT INTO c DOCUMENTS ({'_id': 'b'})");
    await new Gate().opened;
  });
  const next = local.transaction(async () => "next");
  const code = "query.timeout";
  const message = "expected a transaction of less than 0.001 s; nothing of it was applied";
  await expect(hanging).rejects.toEqual(expect.objectContaining({ code, message }));
  expect(await next).toBe("next");
  await expect(late?.()).rejects.toThrow("the transaction has ended");
  expect((await local.execute("SELECT * FROM c")).items).toEqual([]);
});

test("after close a statement is refused with an error of the peer, not of the storage", async () => {
  const { local } = await openLocalStore();
  local.close();
  const refusal = expect.objectContaining({ code: "store.closed", message: "the store is closed" });
  await expect(local.execute("SELECT * FROM c")).rejects.toEqual(refusal);
  await expect(local.transaction(async () => 1)).rejects.toEqual(refusal);
});
