/**
 * Final state of the nodes of a cluster, read from their folders after they have ended.
 *
 * A node ends at some entry of the log, and other nodes may have written a few more. So each store
 * first follows its log to the end, as its node would at the next start. Then all of them are at the
 * same entry, and must have the same keys and values.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Replica } from "@bigpeer/engine/cluster";
import { nodePlatform, openReplicaStorage, readStore } from "@bigpeer/node";
import { encodeCbor } from "@bigpeer/protocol";
import { NatsLogs } from "../../packages/server/dist/cluster/nats/nats-logs.js";
import { connectNats } from "../../packages/server/dist/nats/nats-connection.js";

const MAIN = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url));
const FOLLOW_MS_MAX = 120_000;
const ALL_KEYS = { from: "", to: "\uffff" };

/** Resolves with `{ name, collections, stores, problems }` for each node. */
export async function readNodes(cluster, appId) {
  const nats = await connectNats({ servers: cluster.nats.urls, name: "checker" });
  try {
    const logs = await NatsLogs.open(nats, { cluster: "bigpeer" });
    const nodes = [];
    for (const node of cluster.nodes) nodes.push(await readNode(node, logs, appId));
    return nodes;
  } finally {
    await nats.close();
  }
}

async function readNode({ name, dataDir }, logs, appId) {
  const appFolder = join(dataDir, "apps", appId, "store");
  const folders = { registry: join(dataDir, "registry"), [appId]: appFolder };
  const stores = {};
  for (const [store, folder] of Object.entries(folders)) {
    stores[store] = await readToEnd(store, folder, logs).catch((error) => ({
      failure: error.message,
    }));
  }
  const collections = await readStore(appFolder, collectionsOf);
  return { name, collections, stores, problems: await verify(dataDir) };
}

/** Follows the log to its end. Resolves with its last entry and a digest of the whole store. */
async function readToEnd(store, folder, logs) {
  const log = logs.log(store);
  const storage = await openReplicaStorage(folder, { log: () => {} });
  let sequence;
  try {
    const replica = await Replica.open({
      log,
      storage,
      platform: nodePlatform,
      node: "checker",
      wait: () => setTimeout(50),
    });
    const end = await log.end();
    const late = setTimeout(FOLLOW_MS_MAX, false, { ref: false });
    const isReached = await Promise.race([replica.whenReached(end).promise, late]);
    const { failure } = replica;
    await replica.close();
    if (!isReached) throw new Error(`failed to follow the log: ${failure?.message ?? "too slow"}`);
    ({ sequence } = storage.position);
  } finally {
    await storage.close();
  }
  return { sequence, digest: await readStore(folder, digestOf) };
}

function digestOf({ reader }) {
  const hash = createHash("sha256");
  let count = 0;
  for (const { key, value } of reader.entries(ALL_KEYS)) {
    hash.update(encodeCbor([key, value]));
    count++;
  }
  return `${count} keys ${hash.digest("hex")}`;
}

function collectionsOf(view) {
  const read = (name, pick) =>
    new Map(
      Array.from(view.scan(name), (document) => [document.id, pick(document.fields, document)]),
    );
  const own = (name) =>
    read(name, (fields, { id }) => ({ by: fields.by, version: view.version(name, id) }));
  return {
    documents: own("documents"),
    claims: own("claims"),
    counters: read("counters", ({ n, last }) => ({ n, last })),
    totals: read("totals", ({ n }) => ({ n })),
    marks: read("marks", ({ team }) => ({ team })),
  };
}

/** The problems that `bigpeer verify` finds. */
async function verify(dataDir) {
  try {
    await promisify(execFile)(process.execPath, [MAIN, "verify", "--data-dir", dataDir]);
    return [];
  } catch ({ stdout, stderr, message }) {
    const lines = `${stdout ?? ""}${stderr ?? ""}`.split("\n").filter((line) => line !== "");
    return lines.length > 0 ? lines : [message];
  }
}
