/**
 * Crash run: one store through many lives on one disk, from a seed.
 *
 * Requests come at random; syncs are held back, let go one by one, or fail; the power goes at any
 * point, and what was written but not synced is lost or turns out to have been kept. After each crash
 * the store is opened again and everything that was promised is checked.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect } from "vitest";
import { transactionKey } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/store.ts";
import { type OpenStore, openStore, problems } from "../support/open-store.ts";
import { type Random, seededRandom } from "../support/test-platform.ts";

export interface CrashTotals {
  readonly lives: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly lost: number;
}

interface Ledger {
  /** Requests by number, with the txnId that they were told. */
  readonly acknowledged: Map<number, number>;
  /** What a txnId was when somebody saw it: it may never become anything else. */
  readonly seen: Map<number, string>;
  requests: number;
  failed: number;
  lost: number;
}

export async function crashRun(seed: number, lives: number): Promise<CrashTotals> {
  const random = seededRandom(seed);
  const ledger: Ledger = {
    acknowledged: new Map(),
    seen: new Map(),
    requests: 0,
    failed: 0,
    lost: 0,
  };
  let opened = await openStore();
  for (let life = 0; life < lives; life++) {
    await live(opened, random, ledger);
    opened.disk.crash({ unsynced: random.chance(0.5) ? "kept" : "lost" });
    opened = await openStore({}, opened.platform, opened.disk);
    check(opened, ledger, `seed ${seed}, life ${life}`);
  }
  return {
    lives,
    acknowledged: ledger.acknowledged.size,
    failed: ledger.failed,
    lost: ledger.lost,
  };
}

async function live(opened: OpenStore, random: Random, ledger: Ledger): Promise<void> {
  const { store, disk, platform } = opened;
  if (random.chance(0.8)) disk.holdSyncs();
  for (let turn = 0; turn < 5 + random.below(20); turn++) {
    platform.nowMs += random.below(3) - 1;
    for (let i = random.below(4); i > 0; i--) submit(store, ledger);
    if (random.chance(0.1)) disk.failNextWrite(random.pick(["store.full", "store.write_failed"]));
    if (random.chance(0.5)) disk.syncNext();
    if (random.chance(0.05)) disk.releaseSyncs();
    // Indexes are built in turns of their own.
    if (random.chance(0.2)) await platform.pause();
    for (let i = random.below(6); i > 0; i--) await Promise.resolve();
    expect(store.read((snapshot) => snapshot.txnId)).toBeGreaterThanOrEqual(newest(ledger));
  }
}

function newest(ledger: Ledger): number {
  return Math.max(0, ...ledger.acknowledged.values());
}

/** Three documents that belong together, and one that every request reads to write. */
function submit(store: Store, ledger: Ledger): void {
  const number = ++ledger.requests;
  store
    .transact((transaction) => {
      transaction.apply(
        ["one", "two", "three"].map(
          (collection): Operation => ({
            kind: "insert",
            collection,
            id: number,
            fields: { number, file: { id: contentOf(number), len: 1 } },
            types: { file: "attachment" },
          }),
        ),
      );
      const total = (transaction.get("totals", "n")?.fields["n"] as number | undefined) ?? 0;
      const fields = { n: total + 1 };
      const edits = [{ kind: "set", path: ["n"], value: total + 1 }] as const;
      transaction.apply([
        total === 0
          ? { kind: "insert", collection: "totals", id: "n", fields }
          : { kind: "update", collection: "totals", id: "n", edits },
      ]);
      if (number % 5 === 0) transaction.apply([indexOperation(number)]);
      if (number % 3 === 0) transaction.apply(attachmentOperations(number));
    })
    .then(
      ({ txnId }) => ledger.acknowledged.set(number, txnId),
      () => ledger.failed++,
    );
}

function contentOf(number: number): string {
  return `c${number % 7}`;
}

/** Contents are recorded, lose the documents of an earlier request, and may go. */
function attachmentOperations(number: number): Operation[] {
  const place = { collection: "files", id: number % 4 };
  const file = { id: `f${number % 5}`, len: 1 };
  return [
    { kind: "attach", id: contentOf(number), len: 1, by: "ann" },
    { kind: "attach", id: file.id, len: 1, by: "bob" },
    number % 2 === 0
      ? { kind: "insert", ...place, fields: { file }, types: { file: "attachment" } }
      : { kind: "delete", ...place },
    { kind: "detach", id: `f${number % 3}` },
  ];
}

/** Indexes come and go, whole or in pieces; after each crash verify holds them against the documents. */
function indexOperation(number: number): Operation {
  const place = { collection: "one", name: `ix${number % 3}` };
  const first = number % 4 === 0 ? {} : { limit: 1 + (number % 7) };
  if (number % 10 === 0) return { kind: "drop_index", ...place, ...first };
  return {
    kind: "create_index",
    ...place,
    ...first,
    keys: [{ path: ["number"], isDescending: number % 2 === 1 }],
  };
}

function check({ store, storage }: OpenStore, ledger: Ledger, where: string): void {
  expect(problems(storage), where).toEqual([]);
  store.read((snapshot) => {
    let whole = 0;
    for (let number = 1; number <= ledger.requests; number++) {
      const found = ["one", "two", "three"].filter((name) => snapshot.get(name, number));
      expect([0, 3], `${where}: request ${number} is half applied`).toContain(found.length);
      if (found.length === 3) whole++;
      else {
        expect(ledger.acknowledged.has(number), `${where}: request ${number} is lost`).toBe(false);
        ledger.lost++;
      }
    }
    expect(snapshot.get("totals", "n")?.fields["n"] ?? 0, where).toBe(whole);
    const txnIds = [...ledger.acknowledged.values()];
    expect(new Set(txnIds).size, `${where}: a txnId was given twice`).toBe(txnIds.length);
    for (const [number, txnId] of ledger.acknowledged) {
      const content = JSON.stringify(snapshot.reader.get(transactionKey(txnId)));
      expect(content, where).toContain(`"number":${number},`);
      expect(ledger.seen.get(txnId) ?? content, `${where}: txnId ${txnId} changed`).toBe(content);
      ledger.seen.set(txnId, content);
    }
  });
}
