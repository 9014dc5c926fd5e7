/**
 * Writes in slices, early choices and failing flushes against serial execution: the same requests, one
 * after the other in the order of the txnIds that were given out, on a store where each runs at once.
 * The same answers, the same documents, the same log.
 */

import { setImmediate } from "node:timers/promises";
import { PeerError, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import type { WriteCommand } from "../../src/query/command/command.ts";
import { ChoosingEarly } from "../../src/query/run/early-choice.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { type OpenStore, openStore, problems } from "../support/open-store.ts";
import { replace } from "../support/replaced-method.ts";
import { testPlatform } from "../support/test-platform.ts";

/** Enough for some pauses in each choice. */
const DOCUMENTS = 40;
const OTHERS = 20;

type Action =
  | { readonly kind: "write"; readonly statement: string }
  | { readonly kind: "batch"; readonly commands: readonly WriteCommand[] }
  | { readonly kind: "read" | "sync" | "fail" | "crowd" }
  | { readonly kind: "turns"; readonly count: number };

const small = fc.nat(9);

const statement: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(small, small)
    .map(([n, x]) => `UPDATE c SET x = x + ${x} WHERE n <= ${n} RETURNING _id, x`),
  small.map((n) => `UPDATE c SET n = n + 1 WHERE n = ${n}`),
  small.map((x) => `UPDATE c SET x = ${x} WHERE EXISTS (SELECT 1 FROM d WHERE d.n = c.n)`),
  small.map((x) => `UPDATE c SET x = ${x} WHERE n IN (SELECT n FROM c WHERE x > ${x})`),
  small.map((x) => `UPDATE c SET e = EXISTS (SELECT 1 FROM d JOIN c ON c.n = d.n) WHERE x < ${x}`),
  small.map((n) => `UPDATE c SET x = x * 2 WHERE n >= ${n} ORDER BY x DESC, _id LIMIT 5`),
  small.map((n) => `DELETE FROM c WHERE n = ${n} AND x > 3`),
  small.map((n) => `EVICT FROM c WHERE n = ${n} AND x > 4`),
  small.map((n) => `EVICT FROM d WHERE n = ${n}`),
  fc
    .tuple(small, small)
    .map(
      ([id, n]) =>
        `INSERT INTO c DOCUMENTS ({'_id': ${id}, 'n': ${n}, 'x': 1}) ON ID CONFLICT DO UPDATE`,
    ),
  fc
    .tuple(small, small)
    .map(
      ([id, n]) => `INSERT INTO d DOCUMENTS ({'_id': ${id}, 'n': ${n}}) ON ID CONFLICT DO UPDATE`,
    ),
  small.map((n) => `INSERT INTO d SELECT _id, n FROM c WHERE n = ${n} ON ID CONFLICT DO UPDATE`),
);

/** By a condition, by an id, and without either, in every mix. */
const command: fc.Arbitrary<WriteCommand> = fc
  .tuple(small, small, fc.nat(4))
  .map(([n, x, kind]) => {
    const commands = [{ method: "set" as const, path: "x", value: x }];
    switch (kind) {
      case 0:
        return { method: "upsert", collection: "c", id: n, value: { n, x } };
      case 1:
        return { method: "update", collection: "c", query: `_id == ${n}`, commands };
      case 2:
        return { method: "remove", collection: "c", query: `_id == ${n}` };
      case 3:
        return { method: "remove", collection: "c", query: `x = ${x} && n > 7` };
      default:
        return { method: "update", collection: "c", query: `n <= ${n}`, commands };
    }
  });

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: statement.map((text): Action => ({ kind: "write", statement: text })) },
  {
    weight: 2,
    arbitrary: fc
      .array(command, { minLength: 1, maxLength: 4 })
      .map((commands): Action => ({ kind: "batch", commands })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "read" } as const) },
  { weight: 3, arbitrary: fc.constant({ kind: "sync" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "fail" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "crowd" } as const) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("turns" as const), count: fc.nat(30) }) },
);

interface Bench extends OpenStore {
  readonly runner: StatementRunner;
}

/** With a clock that stands still every request is done in its first slice. */
async function openBench(msPerLook: number): Promise<Bench> {
  let ms = 0;
  const platform = {
    ...testPlatform(),
    elapsed: (): number => {
      ms += msPerLook;
      return ms;
    },
  };
  const open = await openStore({}, platform);
  const limits = { timeMs: 1e12 };
  const runner = new StatementRunner({ store: open.store, platform, appId: "app", limits });
  await fill(runner, "c", DOCUMENTS);
  await fill(runner, "d", OTHERS);
  return { ...open, runner };
}

async function fill(runner: StatementRunner, collection: string, count: number): Promise<void> {
  const documents = Array.from({ length: count }, (_, id) => ({ _id: id, n: id % 10, x: id % 5 }));
  const text = `INSERT INTO ${collection} DOCUMENTS (:documents)`;
  await runner.execute({ statement: text, args: { documents } });
}

/** What a request was told, and the state that it was told of. */
interface SentRanges {
  readonly action: Action;
  readonly txnId: number;
  readonly answer: unknown;
}

async function perform(runner: StatementRunner, asked: Action): Promise<SentRanges | undefined> {
  if (asked.kind === "write" || asked.kind === "read") {
    const text = asked.kind === "write" ? asked.statement : "SELECT * FROM c";
    const { transactionId, items, mutatedDocumentIds, totalWarningsCount } = await runner.execute({
      statement: text,
    });
    const answer = { items, mutatedDocumentIds, totalWarningsCount };
    return { action: asked, txnId: transactionId, answer };
  }
  if (asked.kind !== "batch") return undefined;
  const { transactionId, results } = await runner.write({ commands: asked.commands });
  return { action: asked, txnId: transactionId, answer: results };
}

async function play({ runner, disk }: Bench, actions: readonly Action[]): Promise<SentRanges[]> {
  const reported: SentRanges[] = [];
  const under: Promise<void>[] = [];
  const ask = (asked: Action): void => {
    const done = perform(runner, asked).then(
      (each) => {
        if (each !== undefined) reported.push(each);
      },
      (error: unknown) => {
        // What fails with its flush has had no effect.
        if (!(error instanceof PeerError) || error.code !== "store.full") throw error;
      },
    );
    under.push(done);
  };
  disk.holdSyncs();
  for (const each of actions) {
    if (each.kind === "sync") disk.syncNext();
    else if (each.kind === "fail") disk.failNextWrite("store.full");
    else if (each.kind === "crowd") {
      // So much changes that a choice is made several times, or in the queue.
      for (let n = 0; n < 4; n++)
        ask({ kind: "write", statement: `UPDATE c SET x = ${n} WHERE _id = ${n}` });
    } else if (each.kind === "turns") for (let i = 0; i < each.count; i++) await setImmediate();
    else ask(each);
  }
  disk.failNextWrite(undefined);
  disk.releaseSyncs();
  await Promise.all(under);
  return reported;
}

/** Those that changed something first: what changed nothing is told the last transaction before it. */
function inOrder(reported: readonly SentRanges[], changing: ReadonlySet<number>): SentRanges[] {
  const isFirst = new Map<number, SentRanges>();
  for (const each of reported) {
    if (changing.has(each.txnId) && !isFirst.has(each.txnId) && changed(each))
      isFirst.set(each.txnId, each);
  }
  const rank = (each: SentRanges): number => (isFirst.get(each.txnId) === each ? 0 : 1);
  return [...reported].sort((a, b) => a.txnId - b.txnId || rank(a) - rank(b));
}

/** Whether a request may be the one that made its transaction. */
function changed({ action: { kind }, answer }: SentRanges): boolean {
  if (kind === "batch") return true;
  const { mutatedDocumentIds } = answer as { mutatedDocumentIds: readonly Value[] };
  return kind === "write" && mutatedDocumentIds.length > 0;
}

interface Logged {
  readonly txnId: number;
  readonly operations: unknown;
  readonly changes: unknown;
}

function logOf({ store }: OpenStore): Logged[] {
  return store.read((snapshot) => {
    const cursor = { historyId: store.identity.historyId, txnId: 0 };
    const since = snapshot.changesSince(cursor);
    if (since.kind !== "changes") throw new Error("expected the whole log");
    return [...since.transactions].map(({ txnId, record }) => ({
      txnId,
      operations: record.steps.map(({ operations }) => operations),
      changes: record.changes.map(([operation, , before]) => [operation, before]),
    }));
  });
}

function documentsOf({ store }: OpenStore): unknown {
  return store.read((snapshot) => ["c", "d"].map((name) => [...snapshot.scan(name)]));
}

test("[K34] [K35] for any concurrent work, answers, documents and log equal serial execution", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
      const sliced = await openBench(11);
      const reported = await play(sliced, actions);
      const log = logOf(sliced);
      const serial = await openBench(0);
      for (const each of inOrder(reported, new Set(log.map(({ txnId }) => txnId)))) {
        const again = await perform(serial.runner, each.action);
        expect(again?.answer, `${JSON.stringify(each.action)} at ${each.txnId}`).toEqual(
          each.answer,
        );
      }
      expect(documentsOf(sliced)).toEqual(documentsOf(serial));
      const content = ({ operations, changes }: Logged): unknown => ({ operations, changes });
      expect(log.map(content)).toEqual(logOf(serial).map(content));
      expect(problems(sliced.storage)).toEqual([]);
    }),
    { numRuns: histories(60) },
  );
});

test("[K35] the clock of the test makes every long selection run outside the queue", async () => {
  const { runner, store } = await openBench(11);
  let early = 0;
  const mend = replace(
    ChoosingEarly.prototype,
    "take",
    (original) =>
      function* counted(this: ChoosingEarly, ...args) {
        early++;
        return yield* original.apply(this, args);
      } as typeof original,
  );
  try {
    await runner.execute({ statement: "UPDATE c SET x = 1 WHERE n < 5" });
  } finally {
    mend();
  }
  expect(early).toBe(1);
  expect(store.read((snapshot) => snapshot.get("c", 1)?.fields["x"])).toBe(1);
});
