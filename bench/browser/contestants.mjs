/**
 * Who takes part: for each a page script with `contestant`, and the server that it downloads from.
 *
 * `contestant` has open(given), readAll(), commit(round, count), download(given) and close(). `given`
 * has the name of the database, the durability, and where the server is. A contestant without a
 * server has fill(count) instead of download.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "../../scripts/folder-lock.mjs";
import { installPackages } from "../../scripts/npm-packages.mjs";
import { bundlePage, servePage } from "../../scripts/open-browser.mjs";
import { start } from "../sync/process.mjs";
import { startBigPeer } from "../sync/servers.mjs";
import { documentsOf } from "./documents.mjs";

const RIVALS = fileURLToPath(new URL("../rivals/browser", import.meta.url));
const SDK = new URL("../../packages/peer/dist/sdk/", import.meta.url);
const SDK_FILES = [
  "bigpeer.js",
  "bigpeer-loader.js",
  "bigpeer-worker.js",
  "bigpeer-patterns.js",
  "bigpeer-explain.js",
  "bigpeer-attachments.js",
];
const HEAP_MB = 4096;

/** `durabilities`: strict, and what the browser does by default if the contestant can have it. */
export const CONTESTANTS = {
  peer: {
    title: "Big Peer",
    page: "peer-page.mjs",
    durabilities: ["strict"],
    startServer: startPeerServer,
  },
  pouchdb: {
    title: "PouchDB",
    page: "pouchdb-page.mjs",
    durabilities: ["strict", "default"],
    startServer: (options) => startRivalServer("pouchdb-server.mjs", options),
    isRival: true,
  },
  rxdb: {
    title: "RxDB, Dexie",
    page: "rxdb-page.mjs",
    durabilities: ["strict", "default"],
    startServer: (options) => startRivalServer("rxdb-server.mjs", options),
    isRival: true,
  },
  triplit: {
    title: "Triplit",
    page: "triplit-page.mjs",
    durabilities: ["strict", "default"],
    startServer: (options) => startRivalServer("triplit-server.mjs", options),
    isRival: true,
  },
  storage: {
    title: "Big Peer, storage alone",
    page: "storage-page.mjs",
    durabilities: ["strict", "relaxed"],
  },
};

/** Serves its page, and starts its server with `documents`. `folder` is for data of servers. */
export async function prepare(name, { documents, folder }) {
  const { title, page, durabilities, startServer, isRival = false } = CONTESTANTS[name];
  if (isRival) {
    await withLock(RIVALS, (lock) => installPackages(RIVALS, lock, "other databases for browsers"));
  }
  const file = fileURLToPath(new URL(page, import.meta.url));
  const script = await bundlePage(file, { minify: true, modules: `${RIVALS}/node_modules` });
  // Scripts are cached, as those of a built app are.
  const site = await servePage(script, { files: sdkFiles(), cacheControl: "max-age=3600" });
  const server = await startServer?.({ documents, folder: join(folder, name) });
  return {
    name,
    title,
    durabilities,
    siteUrl: site.url,
    given: server?.given ?? {},
    canDownload: server !== undefined,
    close: async () => {
      await server?.child.stop();
      await site.close();
    },
  };
}

async function startPeerServer({ documents, folder }) {
  const server = await startBigPeer(folder, { env: { BIGPEER_LOG_LEVEL: "error" } });
  const all = documentsOf(0, documents, "_id");
  await server.fill(documents, (number) => all[number]);
  const { child, appId, url, token } = server;
  return { child, given: { appId, url, token } };
}

async function startRivalServer(file, given) {
  const from = join(RIVALS, "package.json");
  const args = [JSON.stringify({ from })];
  const child = start(`../browser/${file}`, { args, heapMb: HEAP_MB });
  return { child, given: await child.ask("open", given) };
}

function sdkFiles() {
  const entries = SDK_FILES.map((name) => {
    const text = readFileSync(new URL(name, SDK), "utf8");
    return [`/${name}`, ["text/javascript", text]];
  });
  return Object.fromEntries(entries);
}
