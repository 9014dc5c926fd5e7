/**
 * Remembered answers: made once, told again, forgotten in time.
 */
import type { Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { REMEMBERED_ANSWER_BYTES_MAX, REMEMBERED_ANSWER_MS } from "../../src/limits.ts";
import { IDENTITY_KEY } from "../../src/store/keys.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import {
  answerProblems,
  FORGET_BATCH,
  type IdempotencyKey,
  recallAnswer,
  rememberAnswer,
} from "../../src/store/remembered-answer.ts";
import type { Store } from "../../src/store/store.ts";
import { dump, openStore, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";

const DAY_MS = 86_400_000;

function keyOf(number: number, content = 0): IdempotencyKey {
  const name = number.toString(16).padStart(64, "0");
  return { name, digest: new Uint8Array(32).fill(content) };
}

/** A request as a server would take it: told again when it is known, else done and remembered. */
async function send(store: Store, key: IdempotencyKey, answer: Value): Promise<Value> {
  const { result } = await store.transact((transaction) => {
    const known = recallAnswer(transaction.view, key);
    if (known !== undefined) return known;
    const operation: Operation = {
      kind: "insert",
      collection: "c",
      id: transaction.txnId,
      fields: {},
    };
    transaction.apply([operation]);
    rememberAnswer(transaction, key, answer);
    return answer;
  });
  return result;
}

function recall(store: Store, key: IdempotencyKey): Value | undefined {
  return store.read((snapshot) => recallAnswer(snapshot, key));
}

function sectionSizes(store: Store): number[] {
  return store.read((snapshot) =>
    ["answers", "answers_by_time"].map((section) => [...snapshot.catalogNames(section)].length),
  );
}

test("[K51] a repeated request gets the first answer and changes nothing", async () => {
  const { store } = await openStore();
  const answer = { ids: [1n << 60n, new Uint8Array([7])], note: null, zero: -0 };
  expect(await send(store, keyOf(1), answer)).toEqual(answer);
  const { txnId } = store;
  for (let i = 0; i < 3; i++) expect(await send(store, keyOf(1), "another")).toEqual(answer);
  expect(store.txnId).toBe(txnId);
  expect(recall(store, keyOf(1))).toEqual(answer);
  expect(recall(store, keyOf(2))).toBeUndefined();
});

test("[K51] concurrent requests of one name run once", async () => {
  const { store } = await openStore();
  const answers = await Promise.all(["a", "b", "c"].map((text) => send(store, keyOf(1), text)));
  expect(answers).toEqual(["a", "a", "a"]);
  expect(store.read((snapshot) => snapshot.count("c"))).toBe(1);
});

test("[K51] an answer that is null is an answer", async () => {
  const { store } = await openStore();
  expect(await send(store, keyOf(1), null)).toBeNull();
  expect(recall(store, keyOf(1))).toBeNull();
});

test("[K51] a known name with another digest is refused and changes nothing", async () => {
  const { store, storage } = await openStore();
  await send(store, keyOf(1), "first");
  const before = dump(storage);
  const other = send(store, keyOf(1, 9), "second");
  await expect(other).rejects.toMatchObject({ code: "idempotency.conflict" });
  expect(dump(storage)).toEqual(before);
});

test("[K51] answers survive the process, also if it crashes", async () => {
  const { store, disk, platform } = await openStore();
  await send(store, keyOf(1), "kept");
  disk.crash();
  const again = await openStore({}, platform, disk);
  expect(await send(again.store, keyOf(1), "new")).toBe("kept");
  expect(again.store.read((snapshot) => snapshot.count("c"))).toBe(1);
});

test("[K51] an answer that is too large or too deep refuses its request, which changes nothing", async () => {
  const { store, storage } = await openStore();
  const before = dump(storage);
  // Text of this length has 5 bytes before it.
  const largest = "x".repeat(REMEMBERED_ANSWER_BYTES_MAX - 5);
  const refused = send(store, keyOf(1), `${largest}x`);
  await expect(refused).rejects.toMatchObject({ code: "idempotency.too_large" });
  await expect(refused).rejects.toThrow("at most 1048576 bytes to remember, found 1048577");
  const nested = (levels: number): Value => (levels === 0 ? 1 : [nested(levels - 1)]);
  const deep = send(store, keyOf(1), nested(65));
  await expect(deep).rejects.toMatchObject({ code: "idempotency.too_large" });
  expect(dump(storage)).toEqual(before);
  await send(store, keyOf(1), largest);
  await send(store, keyOf(2), nested(64));
  expect(recall(store, keyOf(1))).toEqual(largest);
  expect(recall(store, keyOf(2))).toEqual(nested(64));
});

test("[K50] an answer and the changes that it describes are durable together or not at all", async () => {
  const { store, disk } = await openStore();
  disk.failNextWrite("store.full");
  await expect(send(store, keyOf(1), "lost")).rejects.toMatchObject({ code: "store.full" });
  expect(recall(store, keyOf(1))).toBeUndefined();
  expect(store.read((snapshot) => snapshot.count("c"))).toBe(0);
  expect(await send(store, keyOf(1), "second try")).toBe("second try");
});

test("[K50] a request that changes nothing but is remembered takes a txnId", async () => {
  const { store } = await openStore();
  const { txnId, result } = await store.transact((transaction) => {
    rememberAnswer(transaction, keyOf(1), { txnId: transaction.txnId });
    return transaction.txnId;
  });
  expect({ txnId, result, durable: store.txnId }).toEqual({ txnId: 1, result: 1, durable: 1 });
  expect(recall(store, keyOf(1))).toEqual({ txnId: 1 });
});

test("an answer is recorded once: recording another under its name is an internal error", async () => {
  const { store } = await openStore();
  await send(store, keyOf(1), "first");
  const second = store.transact((transaction) => rememberAnswer(transaction, keyOf(1), "second"));
  await expect(second).rejects.toThrow("an answer that is not remembered yet");
  const odd = { name: "my key", digest: new Uint8Array(32) };
  const unnamed = store.transact((transaction) => rememberAnswer(transaction, odd, 1));
  await expect(unnamed).rejects.toThrow("a name and a digest of SHA-256");
});

test("[K50] [K20] the replay of a log remembers and forgets the same", async () => {
  // The log is kept longer than the answers, so that it begins at the first of them.
  const { store, storage, platform } = await openStore();
  for (let i = 0; i < 5; i++) {
    await send(store, keyOf(i), { i });
    platform.nowMs += DAY_MS / 3;
  }
  await send(store, keyOf(9), "last");
  expect(await store.maintain()).toBe(1);
  expect(sectionSizes(store)).toEqual([4, 4]);
  const expected = dump(storage);
  expected.delete(IDENTITY_KEY);
  expect(await replay(storage, store.identity.site)).toEqual(expected);
  expect(problems(storage)).toEqual([]);
});

test("[K52] an answer is kept for its retention, and counts until it is collected", async () => {
  const { store, platform } = await openStore();
  await send(store, keyOf(1), "old");
  platform.nowMs += REMEMBERED_ANSWER_MS;
  await send(store, keyOf(2), "young");
  expect(await store.maintain()).toBe(0);
  platform.nowMs += 1;
  await send(store, keyOf(3), "younger");
  expect(recall(store, keyOf(1))).toBe("old");
  expect(await store.maintain()).toBe(1);
  expect([1, 2, 3].map((i) => recall(store, keyOf(i)))).toEqual([undefined, "young", "younger"]);
  expect(await send(store, keyOf(1), "new")).toBe("new");
});

test("[K52] the retention of answers can be set", async () => {
  const retention = { ...DEFAULT_RETENTION, answerMs: 1000 };
  const { store, platform } = await openStore({ retention });
  await send(store, keyOf(1), "old");
  platform.nowMs += 1001;
  await send(store, keyOf(2), "young");
  expect(await store.maintain()).toBe(1);
  expect([1, 2].map((i) => recall(store, keyOf(i)))).toEqual([undefined, "young"]);
});

test("[K52] a store without other writes forgets answers as well", async () => {
  const { store, platform } = await openStore();
  await send(store, keyOf(1), "old");
  platform.nowMs += 2 * DAY_MS;
  expect(await store.maintain()).toBe(1);
  expect(sectionSizes(store)).toEqual([0, 0]);
});

test("[K52] answers are forgotten in bounded transactions, the oldest first", async () => {
  const { store, platform, storage } = await openStore();
  const count = FORGET_BATCH + 10;
  await store.transact((transaction) => {
    for (let i = 0; i < count; i++) rememberAnswer(transaction, keyOf(i), i);
  });
  platform.nowMs += 2 * DAY_MS;
  await send(store, keyOf(count), "young");
  const before = store.txnId;
  expect(await store.maintain()).toBe(2);
  const sizes = store.read((snapshot) => {
    const cursor = { historyId: store.identity.historyId, txnId: before };
    const changes = snapshot.changesSince(cursor);
    if (changes.kind !== "changes") throw new Error(changes.kind);
    return [...changes.transactions].map(({ record }) => record.steps[0]?.operations.length);
  });
  expect(sizes).toEqual([2 * FORGET_BATCH, 20]);
  expect(sectionSizes(store)).toEqual([1, 1]);
  expect(problems(storage)).toEqual([]);
});

test("[K52] trimming the log and forgetting answers do not share a transaction", async () => {
  const retention = { ...DEFAULT_RETENTION, logCount: 2 };
  const { store, platform, storage } = await openStore({ retention });
  for (let i = 0; i < 5; i++) await send(store, keyOf(i), i);
  platform.nowMs += 2 * DAY_MS;
  expect(await store.maintain()).toBe(2);
  expect(sectionSizes(store)).toEqual([0, 0]);
  expect(store.read((snapshot) => snapshot.head.logCount)).toBeLessThanOrEqual(3);
  expect(problems(storage)).toEqual([]);
});

test("[K52] a wall clock that jumped does not make an answer old", async () => {
  const { store, platform } = await openStore();
  await send(store, keyOf(1), "kept");
  platform.nowMs += 170 * DAY_MS;
  await expect(store.maintain()).rejects.toMatchObject({ code: "clock.ahead" });
  expect(recall(store, keyOf(1))).toBe("kept");
});

test("[K52] an answer made while the wall clock was behind is not old when the clock is right again", async () => {
  const { store, platform } = await openStore();
  await send(store, keyOf(1), "before");
  platform.nowMs -= 20 * DAY_MS;
  await send(store, keyOf(2), "behind");
  platform.nowMs += 20 * DAY_MS + 1000;
  await send(store, keyOf(3), "after");
  expect(await store.maintain()).toBe(0);
  expect(recall(store, keyOf(2))).toBe("behind");
});

test("an answer that is in only one of both sections is found", async () => {
  const { store } = await openStore();
  await send(store, keyOf(1), "one");
  await send(store, keyOf(2), "two");
  const found = (): string[] =>
    store.read((snapshot) =>
      [...answerProblems(snapshot)].map(({ section, name, message }) => {
        return `${section} ${name.slice(-1)}: ${message}`;
      }),
    );
  expect(found()).toEqual([]);
  const [byTime] = store.read((snapshot) => [...snapshot.catalogNames("answers_by_time")]);
  await store.transact((transaction) => {
    const remove = (section: string, name: string): Operation => ({
      kind: "catalog",
      section,
      name,
      value: null,
    });
    transaction.apply([remove("answers", keyOf(2).name), remove("answers_by_time", byTime ?? "")]);
  });
  expect(found()).toEqual([
    "answers 1: expected the answer by its time",
    "answers_by_time 2: expected the answer by its name",
  ]);
});
