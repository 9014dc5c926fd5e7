/**
 * Sync server of the engine on a store on LMDB, without sockets. Connections are channels in
 * memory, whose other end acts as a peer and counts messages. Writes are upserts of single
 * documents and resolve when they are durable.
 */
import { setImmediate } from "node:timers/promises";
import { Store } from "@bigpeer/engine/store";
import { SyncServer } from "@bigpeer/engine/sync";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { answer } from "./answers.mjs";
import { SPEECHES } from "./speech.mjs";
import { countMarks, fieldsOfHolder, idOfHolder } from "./turn.mjs";

const FILL_BATCH = 500;
const TICK_MS = 1_000;
const WAIT_MS_MAX = 30_000;

let store;
let peers;
let documents;
let turn;
let next = 0;
let delivered = 0;

/** Starts one peer. Resolves when it is subscribed. */
function join(server, speech, number) {
  return new Promise((resolve, reject) => {
    let follows = false;
    const hear = (bytes) => {
      try {
        if (speech.hear(client, number, bytes)) {
          follows = true;
          resolve();
        }
      } catch (error) {
        reject(error);
      }
    };
    const connection = server.connect({
      send(bytes) {
        const count = follows
          ? countMarks(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
          : 0;
        if (count > 0) delivered += count;
        else queueMicrotask(() => hear(bytes));
      },
      queuedBytes: 0,
      close: () => reject(new Error(`peer ${number}: the connection was ended`)),
    });
    const client = { send: (bytes) => connection.receive(bytes) };
    speech.begin(client, number);
  });
}

function upsert(i, number) {
  const fields = fieldsOfHolder(i, number);
  return { kind: "insert", collection: "cars", id: idOfHolder(i), fields };
}

async function fill() {
  for (let i = 0; i < documents; i += FILL_BATCH) {
    const operations = [];
    for (let j = i; j < Math.min(i + FILL_BATCH, documents); j++) operations.push(upsert(j, j));
    await store.transact((transaction) => transaction.apply(operations));
  }
}

/** Waits until all writes have been sent. */
async function arrive(expected) {
  for (const end = performance.now() + WAIT_MS_MAX; ; await setImmediate()) {
    if (delivered === expected) return;
    if (performance.now() > end || delivered > expected) {
      throw new Error(`expected ${expected} deliveries, found ${delivered}`);
    }
  }
}

answer({
  async open({ folder, peers: peerCount, documents: documentCount }) {
    peers = peerCount;
    documents = documentCount;
    turn = documents;
    store = await Store.open(await openStorage(folder), nodePlatform);
    const server = new SyncServer({
      store,
      platform: nodePlatform,
      appId: "bench",
      admit: () => ({ authority: undefined, credential: "bench" }),
    });
    setInterval(() => server.tick(), TICK_MS).unref();
    const speech = await SPEECHES["big peer"]({ token: "bench", follows: "own" });
    const startedAt = performance.now();
    for (let i = 0; i < peers; i++) await join(server, speech, i);
    const joinUs = ((performance.now() - startedAt) * 1000) / peers;
    // A client that subscribes to an empty collection causes no scan.
    await fill();
    await arrive(peers);
    return { joinUs };
  },

  /** Processor time of a commit in microseconds, and commits a second. */
  async round({ flight, ms }) {
    let done = 0;
    let expected = delivered;
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const writer = async () => {
      while (performance.now() - startedAt < ms) {
        next = (next + 7919) % documents;
        if (next < peers) expected++;
        const operation = upsert(next, turn++);
        await store.transact((transaction) => transaction.apply([operation]));
        done++;
      }
    };
    await Promise.all(Array.from({ length: flight }, writer));
    const elapsedMs = performance.now() - startedAt;
    await arrive(expected);
    const { user, system } = process.cpuUsage(cpu);
    return { cpuUs: (user + system) / done, perSecond: (done * 1000) / elapsedMs };
  },
});
