/**
 * A cluster of real processes, as a user sees it: every node serves, a planned restart fails no
 * request, an existing data folder is taken in, and strangers are refused.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startNatsCluster } from "../../../../scripts/nats-cluster.mjs";
import { RunningCluster } from "./support/running-cluster.ts";

const EXAMPLE = fileURLToPath(new URL("../../../../examples/cluster/run.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-cluster-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The first line that the program prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("expected an output");
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return line;
}

interface Example {
  readonly nodes: readonly { url: string; managementUrl: string; pid: number }[];
  readonly nats: readonly { pid: number }[];
  readonly apiKey: string;
  readonly appId: string;
}

test("the example starts three nodes, prints one line, and ends with SIGTERM", async () => {
  const words = [EXAMPLE, "--json", "--data-dir", temporaryFolder()];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const example = JSON.parse(await firstLine(child)) as Example;
  expect(example.nodes).toHaveLength(3);
  expect(example.nats).toHaveLength(3);
  const pids = [...example.nodes, ...example.nats].map(({ pid }) => pid);
  expect(new Set(pids).size).toBe(6);
  for (const pid of pids) expect(() => process.kill(pid, 0)).not.toThrow();
  for (const { url } of example.nodes) {
    const answer = await fetch(`${url}/${example.appId}/api/v4/store/execute`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${example.apiKey}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        statement: "INSERT INTO cars DOCUMENTS ({'at': :url})",
        args: { url },
      }),
    });
    expect(answer.status).toBe(200);
  }
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("every node writes, reads what another has written, and manages", async () => {
  const cluster = await RunningCluster.start();
  const { nodes } = cluster;
  const ids: string[] = [];
  for (const [i, node] of nodes.entries()) {
    const written = await cluster.request(node, "/store/write", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        commands: [{ method: "upsert", collection: "cars", id: `c${i}`, value: { i } }],
      }),
    });
    expect(written.status).toBe(200);
    expect(written.headers.get("idempotency-replayed")).toBe(null);
    const { results } = (await written.json()) as { results: [{ transactionId: number }] };
    ids.push(`c${i}`);
    for (const other of nodes) {
      const read = await cluster.request(other, "/store/execute", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-service-txn-id": String(results[0].transactionId),
        },
        body: JSON.stringify({ statement: "SELECT _id FROM cars ORDER BY _id" }),
      });
      const { items } = (await read.json()) as { items: { _id: string }[] };
      expect(items.map(({ _id }) => _id)).toEqual(ids);
    }
  }
  for (const node of nodes) {
    const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'c1'})";
    await expect(cluster.execute(node, insert)).rejects.toThrow("exists already");
    const nothing = await cluster.execute(node, "UPDATE cars SET x = 1 WHERE _id = 'absent'");
    expect(nothing).toEqual([]);
  }
  for (const [i, { managementUrl }] of nodes.entries()) {
    const apps = `${managementUrl}/namespace/default/bigPeer/big-peer/app`;
    const made = await fetch(apps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: `app-${i}` }),
    });
    expect(made.status).toBe(200);
    const taken = await fetch(apps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: `app-${i}` }),
    });
    expect(taken.status).toBe(409);
  }
});

test("the same idempotency key on two nodes is done once", async () => {
  const cluster = await RunningCluster.start();
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("expected two nodes");
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "k1" },
    body: JSON.stringify({ statement: "INSERT INTO cars DOCUMENTS ({'a': 1})" }),
  };
  const one = await cluster.request(first, "/store/execute", init);
  const other = await cluster.request(second, "/store/execute", init);
  expect(await other.text()).toBe(await one.text());
  expect(one.headers.get("idempotency-replayed")).toBe(null);
  expect(other.headers.get("idempotency-replayed")).toBe("true");
});

test("a planned restart of the evaluating node fails no request on the others", async () => {
  const cluster = await RunningCluster.start();
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error("expected a node");
  await cluster.execute(first, "INSERT INTO w DOCUMENTS ({})");
  const { followers, evaluator } = cluster.inOrder;
  const over = new AbortController();
  let count = 0;
  const write = async (i: number): Promise<void> => {
    const node = followers[i % followers.length];
    if (node === undefined) throw new Error("expected a node");
    while (!over.signal.aborted) {
      await cluster.execute(node, "INSERT INTO w DOCUMENTS ({})");
      count++;
    }
  };
  const writers = Promise.all([0, 1, 2, 3].map(write));
  const written = async (target: number): Promise<void> => {
    await expect.poll(() => count, { timeout: 60_000, interval: 50 }).toBeGreaterThan(target);
  };
  await written(20);
  expect(await evaluator.stop()).toBe(0);
  await written(count + 20);
  await evaluator.startUntilReady();
  await written(count + 20);
  over.abort();
  await writers;
  // A read without the id of a transaction may come before the last writes.
  const counted = (): Promise<unknown> => cluster.execute(evaluator, "SELECT COUNT(*) AS n FROM w");
  await expect.poll(counted).toEqual([{ n: count + 1 }]);
});

test("a node with a shutdown delay serves and evaluates until a second signal, and hands over then", async () => {
  const words = ["--shutdown-delay", "3600", "--log-level", "debug"];
  const cluster = await RunningCluster.startProgram(words);
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error("expected a node");
  await cluster.execute(first, "INSERT INTO w DOCUMENTS ({})");
  const { followers, evaluator } = cluster.inOrder;
  const [follower] = followers;
  if (follower === undefined) throw new Error("expected a node that follows");
  process.kill(evaluator.pid ?? 0, "SIGTERM");
  const readiness = async (): Promise<number> => (await fetch(`${evaluator.url}/readyz`)).status;
  await expect.poll(readiness).toBe(503);
  for (const node of [evaluator, follower]) {
    await cluster.execute(node, "INSERT INTO w DOCUMENTS ({})");
  }
  expect(cluster.inOrder.evaluator).toBe(evaluator);
  // Signals within a second count as one.
  await setTimeout(1_000);
  expect(await evaluator.stop()).toBe(0);
  await cluster.execute(follower, "INSERT INTO w DOCUMENTS ({})");
  expect(cluster.inOrder.evaluator).not.toBe(evaluator);
  expect(await cluster.execute(follower, "SELECT COUNT(*) AS n FROM w")).toEqual([{ n: 4 }]);
});

test("nodes end although their NATS servers ended at the same time", async () => {
  const cluster = await RunningCluster.startProgram([]);
  for (const node of cluster.nodes) await cluster.execute(node, "INSERT INTO w DOCUMENTS ({})");
  const gone = cluster.processes.nats.servers.map((server) => server.kill());
  const ended = cluster.nodes.map((node) => node.stop());
  await Promise.all(gone);
  expect(await Promise.all(ended)).toEqual([0, 0, 0]);
});

test("a node without the secret of the cluster reaches nothing", async () => {
  const cluster = await RunningCluster.start();
  const [node] = cluster.nodes;
  const url = `http://127.0.0.1:${node?.nodeProxy.port ?? 0}`;
  for (const headers of [{}, { "x-bigpeer-cluster": "0123456789abcdef0123" }]) {
    for (const path of ["/call/status", "/pass"]) {
      const answer = await fetch(url + path, { method: "POST", headers, body: "" });
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain("expected the secret of the cluster");
    }
  }
});

test("a data folder of a server that was alone is taken in with its history", async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, "alone");
  const run = (words: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess => {
    return spawn(process.execPath, [MAIN, ...words], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
  };
  const alone = run(["--data-dir", dataDir, "--port", "0", "--replication-port", "off"]);
  await firstLine(alone);
  const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8")) as {
    appId: string;
    apiKey: string;
    dataUrl: string;
  };
  const execute = async (url: string, statement: string): Promise<unknown> => {
    const answer = await fetch(`${url}/${quickstart.appId}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${quickstart.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ statement }),
    });
    return ((await answer.json()) as { items: unknown }).items;
  };
  await execute(quickstart.dataUrl, "INSERT INTO cars DOCUMENTS ({'_id': 'old'})");
  alone.kill("SIGTERM");
  await once(alone, "exit");

  const nats = await startNatsCluster({ folder });
  onTestFinished(() => nats.stop());
  const words = ["--cluster", nats.urls.join(","), "--cluster-monitor", nats.monitorUrls.join(",")];
  const env = { BIGPEER_CLUSTER_SECRET: "0123456789abcdef0123" };
  const serve = async (name: string): Promise<{ url: string; stop: () => Promise<void> }> => {
    const dir = name === "alone" ? dataDir : join(folder, name);
    const ports = ["--port", "0", "--replication-port", "off", "--cluster-port", "0"];
    const child = run(["--data-dir", dir, ...ports, ...words], env);
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    const [, url = ""] = await new Promise<RegExpExecArray>((resolve) => {
      lines.on("line", (line) => {
        const found = /^ {2}url +(\S+)/.exec(line);
        if (found !== null) resolve(found);
      });
    });
    const stop = async (): Promise<void> => {
      child.kill("SIGTERM");
      await once(child, "exit");
    };
    return { url, stop };
  };
  const adopted = run(["cluster", "adopt", "--data-dir", dataDir, ...words], env);
  expect(await firstLine(adopted)).toBe(`${quickstart.appId}: adopted`);
  if (adopted.exitCode === null) await once(adopted, "exit");
  const first = await serve("alone");
  onTestFinished(first.stop);
  expect(await execute(first.url, "SELECT _id FROM cars")).toEqual([{ _id: "old" }]);
  const second = await serve("second");
  onTestFinished(second.stop);
  await execute(second.url, "INSERT INTO cars DOCUMENTS ({'_id': 'new'})");
  expect(await execute(second.url, "SELECT _id FROM cars ORDER BY _id")).toEqual([
    { _id: "new" },
    { _id: "old" },
  ]);
});
