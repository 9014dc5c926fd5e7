/**
 * The page of a peer that writes until its browser is killed, and that shows afterwards what the peer
 * has. It uses the SDK that the server serves. The proof calls it from outside as `peerPage`.
 */
import { openPeer } from "./sdk/bigpeer.js";

/** Steps that a tab announces at once, before it begins them. */
const BATCH = 50;

/** Sizes of the documents: together they fill a log, so that kills meet checkpoints. */
const TEXT_SIZE_MAX = 40_000;

let peer;
let news;

async function open(options) {
  peer = await openPeer(options);
  peer.on("error", (error) => console.log(`error ${error.code}: ${error.message}`));
  peer.on("warning", (message) => console.log(`warning ${message}`));
}

/** What the peer has: the number of steps of each tab, and the ids of other documents. */
async function read() {
  const steps = await peer.store.execute("SELECT _id, n FROM steps");
  const rows = await peer.store.execute("SELECT _id FROM rows");
  return {
    steps: Object.fromEntries(steps.items.map(({ _id, n }) => [_id, n ?? 0])),
    rows: rows.items.map(({ _id }) => _id),
    pendingCount: peer.sync.status.pendingCount,
  };
}

function start() {
  news = peer.sync.registerSubscription("SELECT * FROM news");
  peer.sync.start();
}

/** Resolves with the ids of the documents of others, when nothing waits to be up- or downloaded. */
async function finish() {
  await news.whenReady();
  while (peer.sync.status.pendingCount > 0) await new Promise((next) => setTimeout(next, 50));
  const { items } = await peer.store.execute("SELECT _id FROM news");
  return items.map(({ _id }) => _id);
}

/**
 * Steps until the page ends: each counts up. With `rowEvery`, a step is a transaction, and one of so
 * many also inserts a document. Reports what it begins, and what the peer has acknowledged.
 */
async function write(tab, rowEvery) {
  await report({ tab, attempted: 0 });
  await peer.store.execute("INSERT INTO steps DOCUMENTS (:step)", { step: { _id: tab } });
  let reporting;
  for (let step = 1; ; step++) {
    if (step % BATCH === 1) await report({ tab, attempted: step + BATCH - 1 });
    if (rowEvery === undefined) await count(peer.store, tab);
    else {
      await peer.store.transaction(async (tx) => {
        if (step % rowEvery === 1) await insertRow(tx, tab, step);
        await count(tx, tab);
      });
    }
    reporting ??= report({ tab, acknowledged: step }).finally(() => {
      reporting = undefined;
    });
  }
}

async function insertRow(tx, tab, step) {
  const row = { _id: `${tab} ${step}`, text: "x".repeat((step * 7919) % TEXT_SIZE_MAX) };
  await tx.execute("INSERT INTO rows DOCUMENTS (:row)", { row });
}

async function count(store, tab) {
  await store.execute("UPDATE steps APPLY n PN_INCREMENT BY 1 WHERE _id = :tab", { tab });
}

async function report(message) {
  await fetch("/report", { method: "POST", body: JSON.stringify(message) }).catch(() => {});
}

globalThis.peerPage = { open, read, start, finish, write };
