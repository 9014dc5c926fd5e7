/**
 * Starts a cluster on this machine: three nats-server processes and three Big Peers on their log.
 *
 *   node examples/cluster/run.mjs                         in a temporary folder, removed at the end
 *   node examples/cluster/run.mjs --data-dir ./cluster    kept, and continued by the next start
 *   node examples/cluster/run.mjs --json                  one line of JSON when all are ready
 *
 * It runs until Ctrl-C or SIGTERM.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startNatsCluster } from "../../scripts/nats-cluster.mjs";

const SIZE = 3;
const SETUP = fileURLToPath(new URL("../../scripts/setup.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url));

const { values: options } = parseArgs({
  options: { json: { type: "boolean", default: false }, "data-dir": { type: "string" } },
});
const isKept = options["data-dir"] !== undefined;
const folder = isKept ? resolve(options["data-dir"]) : mkdtempSync(join(tmpdir(), "bigpeer-"));
mkdirSync(folder, { recursive: true });

const stopped = new Promise((resolveStop) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, resolveStop);
});
// Installs and builds what is missing; its messages are not for a program that reads the line.
const { status } = spawnSync(process.execPath, [SETUP], { stdio: ["ignore", 2, 2] });
if (status !== 0) process.exit(1);

const nats = await startNatsCluster({ folder });
const secret = secretIn(folder);
const nodes = Array.from({ length: SIZE }, (_, i) => startNode(join(folder, `node-${i + 1}`)));
try {
  await Promise.race([stopped, Promise.all(nodes.map((node) => node.ready))]);
  report();
  await stopped;
} finally {
  await Promise.all(nodes.map((node) => node.stop()));
  await nats.stop();
  if (!isKept) rmSync(folder, { recursive: true, force: true });
}

/** All nodes have the same secret, also after the next start. */
function secretIn(where) {
  const path = join(where, "secret");
  if (!existsSync(path))
    writeFileSync(path, randomBytes(24).toString("base64url"), { mode: 0o600 });
  return readFileSync(path, "utf8");
}

function startNode(dataDir) {
  mkdirSync(dataDir, { recursive: true });
  const words = [
    "--data-dir",
    join(dataDir, "data"),
    "--port",
    "0",
    "--management-port",
    "0",
    "--replication-port",
    "off",
    "--cluster",
    nats.urls.join(","),
    "--cluster-monitor",
    nats.monitorUrls.join(","),
  ];
  const env = { ...process.env, BIGPEER_CLUSTER_SECRET: secret };
  const child = spawn(process.execPath, [MAIN, ...words], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.pipe(createWriteStream(join(dataDir, "log"), { flags: "a" }));
  const node = { dataDir, pid: child.pid, url: "", managementUrl: "" };
  const exited = once(child, "exit");
  const ready = new Promise((resolveReady, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, name, value] = /^ {2}(url|manage|stop) +(\S+)/.exec(line) ?? [];
      if (name === "url") node.url = value;
      if (name === "manage") node.managementUrl = value;
      if (name === "stop") resolveReady();
    });
    child.once("exit", (code) => {
      reject(new Error(`a node has ended with code ${code}; see ${join(dataDir, "log")}`));
    });
  });
  return Object.assign(node, {
    ready,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  });
}

/** One node has made the key of the first start. */
function quickstart() {
  for (const { dataDir } of nodes) {
    const path = join(dataDir, "data", "quickstart.json");
    if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"));
  }
  return {};
}

function report() {
  const { apiKey, appId } = quickstart();
  if (options.json) {
    const shown = nodes.map(({ url, managementUrl, pid }) => ({ url, managementUrl, pid }));
    const servers = nats.servers.map(({ pid }) => ({ pid }));
    process.stdout.write(`${JSON.stringify({ nodes: shown, nats: servers, apiKey, appId })}\n`);
    return;
  }
  const lines = nodes.map(({ url, managementUrl, pid }) => {
    return `  ${url}  manage ${managementUrl}  pid ${String(pid)}\n`;
  });
  process.stdout.write(`A cluster of ${SIZE} nodes is ready:\n${lines.join("")}`);
  process.stdout.write(`  app  ${appId}\n  key  ${apiKey}\n  data ${folder}\n  stop Ctrl-C\n`);
}
