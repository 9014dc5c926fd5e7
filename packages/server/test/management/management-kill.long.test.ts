/**
 * A server that is killed with SIGKILL in the middle of management changes, again and again: each
 * change that was answered is there, each other one is there whole, with its entry in the audit log,
 * or not at all.
 */

import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { closeWhole, surviveKills } from "../support/killed-server.ts";
import { askManagement, ManagedApp } from "../support/managed-app.ts";
import { type Served, serveFolder } from "../support/served-folder.ts";

const WORKERS = 6;

/** Deleted apps lose their data while the others work. */
const WORDS = ["--management-port", "0", "--app-grace", "2"];

interface AuditPage {
  readonly data: readonly Record<"at" | "actor" | "action" | "target", string>[];
  readonly meta: { readonly totalPages: number };
}

async function auditPage(served: Served, page: number): Promise<AuditPage> {
  const reply = await askManagement(served, "GET", `/audit?size=1000&page=${page}`);
  return reply?.body as AuditPage;
}

/** All that people did, as `app.create app/shop`, the oldest first. */
async function auditOf(served: Served): Promise<string[]> {
  const first = await auditPage(served, 1);
  const entries = [...first.data];
  for (let page = 2; page <= first.meta.totalPages; page++) {
    entries.push(...(await auditPage(served, page)).data);
  }
  // What the server itself removes meanwhile shifts the pages.
  const again = await auditPage(served, 1);
  if (JSON.stringify(again) !== JSON.stringify(first)) return auditOf(served);
  return entries
    .filter(({ actor }) => actor === "loopback")
    .map(({ action, target }) => `${action} ${target}`)
    .toReversed();
}

test("[M9] [M29] after SIGKILL every answered management change is kept, and others with their audit entry or not at all", async () => {
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const dataDir = join(temporaryFolder(), "data");
  const apps = Array.from({ length: WORKERS }, (_, i) => new ManagedApp(`app-${i}`));
  const lives = {
    script,
    dataDir,
    words: WORDS,
    kills: 20,
    answersMax: 250,
    work: (served: Served, onAnswer: () => void) =>
      Promise.all(apps.map((app) => app.work(served, onAnswer))),
    check: async (served: Served) => {
      const audit = await auditOf(served);
      for (const app of apps) await app.check(served, audit);
    },
  };
  const last = await surviveKills(await serveFolder(script, dataDir, WORDS), lives);
  const done = new Set(apps.flatMap(({ actions }) => actions));
  expect([...done].toSorted()).toEqual([
    "apiKey.create",
    "apiKey.delete",
    "apiKey.replace",
    "apiKey.rotate",
    "app.create",
    "app.delete",
    "app.restore",
    "app.rotateSessionKey",
    "app.setSettings",
    "bigPeerReplication.create",
    "bigPeerReplication.delete",
    "bigPeerReplication.update",
    "provider.create",
    "provider.delete",
    "provider.replace",
    "provider.rotateSecret",
  ]);
  expect(apps.reduce((sum, { madeUnanswered }) => sum + madeUnanswered, 0)).toBeGreaterThan(0);
  await closeWhole(last, lives);
}, 600_000);
