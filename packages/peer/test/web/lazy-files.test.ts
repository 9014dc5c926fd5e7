/**
 * The files that the worker loads on use, bundled apart from it, so with classes of their own: they
 * answer as the same code does inside of the engine.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { MemoryKeyValue } from "@bigpeer/engine/store";
import { expect, onTestFinished, test } from "vitest";
import { bundleSdkFile, type SdkFile } from "../../../../scripts/sdk.mjs";
import { openMemory } from "../../src/host/memory-place.ts";
import type { PeerHost } from "../../src/host/peer-host.ts";
import { nodeHost } from "../../src/node/node-host.ts";
import { checkCommon } from "../../src/options.ts";
import { Peer } from "../../src/peer.ts";
import { lazyParts } from "../../src/web/lazy-code.ts";
import { webHost } from "../../src/web/web-host.ts";
import { BrowserSocket } from "../support/browser-socket.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

async function bundledFile(folder: string, name: SdkFile): Promise<string> {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, (await bundleSdkFile(name)).code);
  return pathToFileURL(path).href;
}

async function openWith(host: PeerHost): Promise<Peer> {
  const options = { appId: APP, url: "http://127.0.0.1:9", token: "t" };
  const checked = checkCommon(options, ["appId", "url", "token"], host);
  const peer = await Peer.open(checked, host, (place) => openMemory(new MemoryKeyValue(), place));
  onTestFinished(() => peer.close());
  for (let i = 0; i < 20; i++) {
    const document = { _id: `t${i}`, title: `task ${i}`, due: i, done: i % 2 === 0 };
    await peer.store.execute("INSERT INTO tasks DOCUMENTS (:document)", { document });
  }
  return peer;
}

async function openBoth(): Promise<{ readonly bundled: Peer; readonly whole: Peer }> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-lazy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const parts = lazyParts({
    patternsUrl: await bundledFile(folder, "bigpeer-patterns"),
    explainUrl: await bundledFile(folder, "bigpeer-explain"),
    attachmentsUrl: await bundledFile(folder, "bigpeer-attachments"),
  });
  const host = webHost(parts, nodeHost, { WebSocket: BrowserSocket });
  return { bundled: await openWith(host), whole: await openWith(nodeHost) };
}

/** Rows or the error, without times. */
async function answerOf(peer: Peer, statement: string): Promise<string> {
  try {
    const { items } = await peer.store.execute(statement);
    return JSON.stringify(items, (key, value: unknown) =>
      key === "times" || key === "time" ? undefined : value,
    );
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `${code}: ${message}`;
  }
}

const PLANS = [
  "EXPLAIN SELECT * FROM tasks WHERE due > 1.5 AND title LIKE 'a%' ORDER BY due DESC LIMIT 3",
  "EXPLAIN SELECT done, count(*) FROM tasks GROUP BY done HAVING count(*) > 2.0",
  "EXPLAIN SELECT a.title FROM tasks a JOIN tasks b ON a._id = b._id WHERE a.due IN (1, 2.5, -3)",
  "EXPLAIN SELECT * FROM tasks WHERE due IN (SELECT VALUE due FROM tasks WHERE done)",
  "EXPLAIN UPDATE tasks SET done = true WHERE due = 3",
  "EXPLAIN INSERT INTO tasks DOCUMENTS ({'_id': 'x', 'due': 1e3})",
  "EXPLAIN CREATE INDEX by_due ON tasks (due)",
  "EXPLAIN SHOW ALL",
  "ADVISE SELECT * FROM tasks WHERE due = 1.0 ORDER BY title LIMIT 2",
  "ADVISE DELETE FROM tasks WHERE due > 5",
  "ADVISE AND PROVISION SELECT * FROM tasks WHERE due > 5",
  "ADVISE SELECT * FROM tasks WHERE due > 5",
  "EXPLAIN SELECT * FROM tasks WHERE due > 5",
  "PROFILE SELECT title FROM tasks WHERE due > 15",
  "PROFILE UPDATE tasks SET done = true WHERE due = 3",
  "ADVISE EXPLAIN SELECT * FROM tasks",
];

test("plans, advice and profiles from a file of their own are those of the engine", async () => {
  const { bundled, whole } = await openBoth();
  for (const statement of PLANS) {
    const expected = await answerOf(whole, statement);
    expect(await answerOf(bundled, statement), statement).toBe(expected);
  }
  expect(await answerOf(bundled, "SELECT * FROM system:indexes")).toContain("adv_tasks_due");
});

test("patterns from a file of their own match, and fail, as in the engine", async () => {
  const { bundled, whole } = await openBoth();
  const statements = [
    "SELECT title FROM tasks WHERE regexp_like(title, '^task 1[0-3]$') ORDER BY title",
    "SELECT title FROM tasks WHERE title SIMILAR TO 'task (1|2)' ORDER BY title",
    "SELECT regexp_replace(title, '[0-9]+', '<$0>') AS x FROM tasks ORDER BY title LIMIT 2",
    "SELECT * FROM tasks WHERE regexp_like(title, '(')",
    "EXECUTE FUNCTION regexp_like(repeat('a', 500000), '(a{1,30}b){30}')",
  ];
  for (const statement of statements) {
    const expected = await answerOf(whole, statement);
    expect(await answerOf(bundled, statement), statement).toBe(expected);
  }
  expect(await answerOf(bundled, statements[4] ?? "")).toContain("a smaller pattern");
});
