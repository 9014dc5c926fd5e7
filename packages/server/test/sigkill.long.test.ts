/**
 * A real process under load, killed with SIGKILL again and again: what it acknowledged must be
 * there, what it did not must be there whole or not at all. Once with the store alone, once with the
 * whole server and its clients.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Store, type StoreSnapshot, verify } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { KilledClient } from "./support/killed-client.ts";
import { closeWhole, surviveKills } from "./support/killed-server.ts";
import { type Served, serveFolder } from "./support/served-folder.ts";

const KILLS = Number(process.env["KILLS"] ?? 24);
const WRITER = fileURLToPath(new URL("support/writer.mjs", import.meta.url));

/** Requests by number with the txnId that they were told, over all lives. */
type Ledger = Map<number, number>;

async function lifeOfWriter(folder: string, first: number, ledger: Ledger): Promise<void> {
  const killAfter = 1 + Math.floor(Math.random() * 400);
  const child = spawn(process.execPath, [WRITER, folder, String(first), "16"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [number, txnId] = line.split(" ").map(Number);
    if (number !== undefined && txnId !== undefined) ledger.set(number, txnId);
    lines++;
    if (lines === killAfter) child.kill("SIGKILL");
  }
  const [, signal] = (await exited) as [number | null, string | null];
  expect(signal).toBe("SIGKILL");
}

function checkRequests(snapshot: StoreSnapshot, ledger: Ledger, where: string): number {
  let whole = 0;
  let last = 0;
  for (const { id } of snapshot.scan("one")) last = Math.max(last, id as number);
  last = Math.max(last, ...ledger.keys());
  for (let number = 1; number <= last; number++) {
    const found = ["one", "two", "three"].filter(
      (name) => snapshot.get(name, number)?.fields["number"] === number,
    );
    expect([0, 3], `${where}: request ${number} is half applied`).toContain(found.length);
    if (found.length === 3) whole++;
    else expect(ledger.has(number), `${where}: acknowledged request ${number} is lost`).toBe(false);
  }
  expect(snapshot.get("totals", "n")?.fields["n"] ?? 0, where).toBe(whole);
  return last;
}

function checkTxnIds(snapshot: StoreSnapshot, ledger: Ledger, where: string): void {
  const txnIds = [...ledger.values()];
  expect(new Set(txnIds).size, `${where}: a txnId was given twice`).toBe(txnIds.length);
  for (const [number, txnId] of ledger) {
    expect(snapshot.version("one", number), `${where}: request ${number}`).toBe(txnId);
  }
}

test("[K6] [K21] [K24] after SIGKILL no acknowledged request is lost, none is half applied, no txnId repeats", async () => {
  const root = mkdtempSync(join(tmpdir(), "bigpeer-kill-"));
  const folder = join(root, "store");
  const ledger: Ledger = new Map();
  let next = 1;
  for (let kill = 1; kill <= KILLS; kill++) {
    await lifeOfWriter(folder, next, ledger);
    const where = `kill ${kill}`;
    const storage = await openStorage(folder);
    const store = await Store.open(storage, nodePlatform);
    const last = store.read((snapshot) => {
      expect(verify(snapshot.reader).problems, where).toEqual([]);
      checkTxnIds(snapshot, ledger, where);
      return checkRequests(snapshot, ledger, where);
    });
    next = last + 1;
    await store.close();
    await storage.close();
  }
  expect(ledger.size).toBeGreaterThan(KILLS * 10);
  rmSync(root, { recursive: true });
}, 600_000);

const SERVER_KILLS = 10;
const CLIENTS = 16;

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

test("[H10] [H36] [H41] after SIGKILL nothing acknowledged is lost, and a retry with its key takes effect once", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const clients = Array.from({ length: CLIENTS }, (_, i) => new KilledClient(`client-${i}`));
  const first = await serveFolder(script, dataDir);
  for (const client of clients) await client.begin(first);
  const lives = {
    script,
    dataDir,
    kills: SERVER_KILLS,
    answersMax: 1_500,
    work: (served: Served, onAnswer: () => void) =>
      Promise.all(clients.map((client) => client.work(served, onAnswer))),
    check: async (served: Served) => {
      for (const client of clients) await client.settle(served);
    },
  };
  const last = await surviveKills(first, lives);
  for (const client of clients) await client.check(last);
  const sum = (count: (client: KilledClient) => number): number =>
    clients.reduce((total, client) => total + count(client), 0);
  expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(SERVER_KILLS * CLIENTS);
  expect(sum(({ resent }) => resent)).toBeGreaterThan(SERVER_KILLS);
  expect(sum(({ uploaded }) => uploaded)).toBeGreaterThan(0);
  await closeWhole(last, lives);
}, 600_000);
