/**
 * Benchmark of the first download: an empty client subscribes to all documents of a collection that
 * was filled before. Each round uses a new process, like the start of an app. The time runs from
 * the moment at which the client may connect until it knows that it has everything. Afterwards its
 * documents are counted and checked.
 *
 * The floor is prepared JSON over the bare `ws` package, which the client parses and stores in a
 * Map, or in batches in raw LMDB.
 */
import { join } from "node:path";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { install } from "../rivals/install.mjs";
import { start } from "./process.mjs";
import { installWs, startBare, startBigPeer } from "./servers.mjs";
import { figure, median, row, spread, verdict } from "./table.mjs";

const GOAL_RATE = 25_000;
const GOAL_TIMES = 5;
const HEAP_MB = 4096;

function documentOf(i) {
  return { _id: idOf(i), ...fieldsOf(i) };
}

async function bareWs({ documents }) {
  const server = await startBare();
  await server.child.ask("documents", { count: documents });
  const from = await installWs();
  const given = { from, url: `ws://127.0.0.1:${server.port}/documents` };
  return { server: server.child, client: "download-ws.mjs", given };
}

async function bigPeer({ folder, documents, name }) {
  const server = await startBigPeer(join(folder, `download-${name}`));
  await server.fill(documents, documentOf);
  const { url, appId, token } = server;
  return { server: server.child, client: "download-peer.mjs", given: { url, appId, token } };
}

async function triplit({ documents }) {
  const from = await install(
    "@triplit/server@1.1.8",
    "@triplit/client@1.0.50",
    "ws@8.22.2",
    "jsonwebtoken@9.0.3",
  );
  const server = start("triplit.mjs", { args: [JSON.stringify({ from })], heapMb: HEAP_MB });
  const given = await server.ask("open", { documents });
  return { server, client: "download-triplit.mjs", given: { from, ...given } };
}

async function pouchdb({ folder, documents, name }) {
  const from = await install(
    "pouchdb@7.3.1",
    "pouchdb-adapter-memory@7.3.1",
    "express@4",
    "express-pouchdb@4.2.0",
  );
  const server = start("pouchdb.mjs", { args: [JSON.stringify({ from })], heapMb: HEAP_MB });
  const place = join(folder, `download-${name}`);
  const given = await server.ask("open", { documents, folder: place });
  return { server, client: "download-pouchdb.mjs", given: { from, ...given } };
}

/** One download in a new process. `kept`: in memory or in a folder. */
async function download({ server, client, given }, { documents, folder }) {
  const child = start(client, { heapMb: HEAP_MB });
  const before = server.cpuSeconds;
  const { ms, cpuSeconds } = await child.ask("download", { ...given, documents, folder });
  const found = {
    rate: (documents * 1000) / ms,
    serverUs: ((server.cpuSeconds - before) * 1e6) / documents,
    clientUs: (cpuSeconds * 1e6) / documents,
  };
  await child.stop();
  return found;
}

/** One after the other, because each of them fills both processors. */
async function contestant(entry, { folder, rounds }) {
  const { begin, documents, name } = entry;
  const opened = await begin({ folder, documents, name });
  const lines = [];
  for (const [kept, title] of entry.keeps) {
    const results = [];
    for (let round = 0; round < rounds; round++) {
      const place = kept === "folder" ? join(folder, `${name}-client-${round}`) : undefined;
      results.push(await download(opened, { documents, folder: place }));
    }
    lines.push({ title, kept, documents, results });
  }
  await opened.server.stop();
  return lines;
}

function print({ title, documents, results }) {
  const of = (name) => median(results.map((result) => result[name]));
  const rates = results.map(({ rate }) => rate);
  row(`  ${title}`, [
    figure(documents),
    figure(of("rate")),
    figure(of("serverUs"), 1),
    figure(of("clientUs"), 1),
    spread(rates),
  ]);
  return of("rate");
}

function both(name) {
  return [...memory(name), ["folder", `${name}, folder`]];
}

function memory(name) {
  return [["memory", `${name}, memory`]];
}

/** In the order of the table. */
function contestantsOf(documents, fewer) {
  return [
    { part: "ws", name: "floor", begin: bareWs, documents, keeps: both("floor: JSON over ws") },
    { part: "big peer", name: "ours", begin: bigPeer, documents, keeps: both("big peer") },
    {
      part: "big peer",
      name: "ours-fewer",
      begin: bigPeer,
      documents: fewer,
      keeps: both("big peer, fewer"),
    },
    {
      part: "triplit",
      name: "triplit",
      begin: triplit,
      documents: fewer,
      keeps: memory("triplit"),
    },
    { part: "pouchdb", name: "pouchdb", begin: pouchdb, documents: fewer, keeps: both("pouchdb") },
  ];
}

/** The target is met by the rate, or by the factor over the best rival with as many documents. */
function verify(measured) {
  for (const kept of ["memory", "folder"]) {
    const rate = (name) => measured.get(`${name} ${kept}`);
    const rivals = ["triplit", "pouchdb"].map(rate).filter((one) => one !== undefined);
    const best = Math.max(...rivals);
    if (rate("ours") === undefined) continue;
    const times = rate("ours-fewer") / best;
    const ratio = rivals.length > 0 ? ` (${times.toFixed(1)} times)` : "";
    if (rate("floor") !== undefined) {
      console.log(`${kept}: ${(rate("ours") / rate("floor")).toFixed(2)} of the floor`);
    }
    verdict(
      `${kept}: ${figure(GOAL_RATE)}/s, or ${GOAL_TIMES} times the best rival${ratio}`,
      rate("ours") >= GOAL_RATE || times >= GOAL_TIMES,
    );
  }
}

export async function measureDownload({ folder, quick, documents, takePart }) {
  const rounds = quick ? 1 : 3;
  const measured = new Map();
  row("CPU µs for each document", [
    "documents",
    "a second",
    "of server",
    "of client",
    "least–most",
  ]);
  for (const entry of contestantsOf(documents, documents / 10)) {
    const lines = await takePart(entry.part, () => contestant(entry, { folder, rounds }));
    for (const line of lines ?? []) measured.set(`${entry.name} ${line.kept}`, print(line));
  }
  verify(measured);
}
