/**
 * Prepares the data folder of the attacked server: 50,000 orders with two indexes in the app
 * `default`, a second app `neighbour`, and a key for each kind of attacker. It is created once and
 * copied for each attack.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { post } from "../../bench/sync/post.mjs";
import { startServer } from "./server-process.mjs";

const BATCH = 1_000;
const FACTS_FILE = "prove.json";
const STATES = ["open", "paid", "packed", "sent", "returned"];
const CITIES = ["Berlin", "Köln", "Torino", "Lyon", "Gdańsk", "Porto", "Malmö"];
const NOTE =
  "Leave it with the neighbours on the second floor if nobody opens; ring twice, please. ";

const NOTHING = { everything: false };
const EVERYTHING = { everything: true };
const PERMISSIONS = {
  empty: { read: NOTHING, write: NOTHING },
  reader: {
    read: { everything: false, queriesByCollection: { orders: ["status != 'secret'"] } },
    write: NOTHING,
  },
  writer: { read: EVERYTHING, write: EVERYTHING, remoteQuery: true },
};

export function orderOf(i) {
  return {
    _id: `o-${String(i).padStart(6, "0")}`,
    customer: `c-${i % 4_001}`,
    status: STATES[i % STATES.length],
    city: CITIES[i % CITIES.length],
    number: i,
    total: (i % 9_973) / 4,
    placed: new Date(1_700_000_000_000 + i * 61_000).toISOString(),
    note: NOTE.repeat(1 + (i % 3)),
    tags: [`t-${i % 13}`, `t-${i % 29}`],
    lines: [0, 1, 2].map((line) => ({ sku: `s-${(i * 7 + line) % 977}`, count: 1 + (i % 4) })),
  };
}

async function manage({ managementUrl }, path, body) {
  const url = `${managementUrl}/namespace/default/bigPeer/big-peer${path}`;
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (answer.ok) return content;
  throw new Error(`expected status 200 of ${path}, found ${JSON.stringify(content)}`);
}

async function fill(server, token, count) {
  const execute = (statement, args = {}) =>
    post({ port: server.port, path: "/api/v4/store/execute", token, body: { statement, args } });
  for (let i = 0; i < count; i += BATCH) {
    const size = Math.min(BATCH, count - i);
    const documents = Array.from({ length: size }, (_, j) => orderOf(i + j));
    await execute("INSERT INTO orders DOCUMENTS (:documents)", { documents });
  }
  await execute("CREATE INDEX by_status ON orders (status)");
  await execute("CREATE INDEX by_customer ON orders (customer, placed)");
  // Waits for the background build of the indexes, which would disturb the attacks.
  const unfinished = "SELECT _id FROM system:indexes WHERE state IS NOT MISSING";
  while ((await execute(unfinished)).items.length > 0) await setTimeout(100);
}

/** Returns ids of apps and keys for the attacks. Prepares the store if it does not exist. */
export async function prepareStore(folder, documents) {
  const file = join(folder, FACTS_FILE);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  const server = await startServer(folder, { management: true });
  try {
    const { appId, apiKey, developmentToken } = server;
    const other = await manage(server, "/app", { name: "neighbour" });
    const keys = {};
    for (const [name, permissions] of Object.entries(PERMISSIONS)) {
      keys[name] = await manage(server, "/app/default/apiKey", { name, permissions });
    }
    const neighbourKey = await manage(server, "/app/neighbour/apiKey", {
      name: "neighbour",
      permissions: PERMISSIONS.writer,
    });
    await fill(server, apiKey, documents);
    const facts = {
      appId,
      keys,
      developmentToken,
      documents,
      neighbour: { ...other, key: neighbourKey },
    };
    await server.stop();
    writeFileSync(file, JSON.stringify(facts));
    return facts;
  } finally {
    await server.kill();
  }
}
