/**
 * Attacks over `/sync` with a valid credential: conditions of subscriptions, dense messages,
 * refused uploads, new sites, peers that do not read, presence.
 */
import { createHash, randomBytes } from "node:crypto";
import { canonicalBytes, decodeServerMessage, encodeMessage, timeOfMs } from "@bigpeer/protocol";
import { helloOf } from "../honest-clients.mjs";

function newSite() {
  return randomBytes(8).toString("hex");
}

/**
 * A peer that was welcomed; undefined when it was not. `hear` is called with each message afterwards,
 * unless it is left out: then nothing is decoded.
 */
export async function joined(target, key, { site = newSite(), hear, address, metadata } = {}) {
  let welcome;
  const welcomed = new Promise((resolve) => {
    welcome = resolve;
  });
  let isWelcome = false;
  const client = await target.webSocket({
    address,
    onMessage(bytes, self) {
      if (isWelcome && hear === undefined) return;
      const message = decodeServerMessage(bytes);
      if (message.t === "welcome") {
        isWelcome = true;
        self.history = message.history;
        welcome(self);
      } else if (message.t === "bye") {
        target.tally(`bye ${message.code}`);
        welcome(undefined);
      } else if (message.t === "ping") {
        // Answers pings: the server would close the connection before the upload ends.
        self.send(encodeMessage({ t: "pong", ping: message.now, now: Date.now() }));
      } else hear?.(message, self);
    },
  });
  if (client === undefined) return undefined;
  client.socket.once("close", () => welcome(undefined));
  const hello = helloOf(key, site);
  client.send(
    encodeMessage(metadata === undefined ? hello : { ...hello, peer: { ...hello.peer, metadata } }),
  );
  const answer = await welcomed;
  if (answer === undefined) await target.pause(50);
  return answer;
}

const CONDITIONS = [
  "contains(concat(repeat(:k, 60000), repeat(:k, 60000)), 'b1', 'b2', 'b3', 'b4', 'b5')",
  "repeat(:k, 60000) LIKE '%a%a%a%a%a%a%a%c'",
  "repeat(:k, 4800) ILIKE '%_a_a_a_a%c'",
  "ltrim(repeat(:k, 60000), 'ab') = 'c'",
  "CAST('0.' || repeat('3', 5000000) AS float) = 1",
  "replace(repeat(note, 10000), 'e', :k) = 'c'",
  "regexp_like(repeat(note, 10000), '(a|e|i|o)*x')",
  "ANY x IN :n SATISFIES ANY y IN :n SATISFIES x + y = number END END",
  "deserialize_json('0.' || repeat('3', 300000)) = 1",
  "array_sort(:n) = :n",
];
const CONDITION_ARGS = {
  k: "ab".repeat(500),
  n: Array.from({ length: 3_000 }, (_, i) => i),
};

async function conditions(target, key, count) {
  await target.many(count, async (i, round) => {
    const client = await joined(target, key, {
      hear: ({ t, code }) => t === "unsubscribed" && target.tally(`unsubscribed ${code}`),
    });
    if (client === undefined) return;
    for (const [at, condition] of CONDITIONS.entries()) {
      const query = `SELECT * FROM orders WHERE ${condition} AND ${i} != ${round + at}`;
      const used = Object.entries(CONDITION_ARGS).filter(([name]) =>
        condition.includes(`:${name}`),
      );
      client.send(
        encodeMessage({ t: "subscribe", id: at + 1, query, args: Object.fromEntries(used) }),
      );
      await target.pause(100);
    }
    for (let waited = 0; waited < 20 && !target.isOver && !client.isClosed; waited++) {
      await target.pause(100);
    }
    client.close();
  });
}

/** A `subscribe` of 15 MB whose argument repeats one byte. */
function denseMessage(byte) {
  const size = 15 * 1024 * 1024;
  const head = encodeMessage({ t: "subscribe", id: 1, query: "a", args: { a: [] } });
  // Replaces the empty array, which is the last byte, by a long one.
  const length = Buffer.from([0x9a, 0, 0, 0, 0]);
  length.writeUInt32BE(size, 1);
  return Buffer.concat([head.subarray(0, -1), length, Buffer.alloc(size, byte)]);
}

async function denseMessages(target) {
  const messages = [0x80, 0xa0, 0x40, 0x60, 0xf6, 0x00].map(denseMessage);
  await target.many(8, async (i, round) => {
    const client = await joined(target, target.keys.empty);
    if (client === undefined) return;
    client.send(messages[(i + round) % messages.length]);
    while (!target.isOver && !client.isClosed) await target.pause(20);
  });
}

/** An upload of one step that continues the chain of the digest `before`. */
export function uploadOf(number, before, operations) {
  const steps = [{ time: nextTime(), operations }];
  const hash = createHash("sha256");
  if (before !== undefined) hash.update(before);
  const digest = new Uint8Array(hash.update(canonicalBytes(steps)).digest());
  return { t: "upload", number, digest, steps };
}

let lastTime = 0;

/** Steps must have growing times. */
function nextTime() {
  lastTime = Math.max(lastTime + 1, timeOfMs(Date.now()));
  return lastTime;
}

/** Sends as many refused uploads as possible. With `isNewSite`, each has a new site. */
async function refusedUploads(target, isNewSite) {
  await target.many(8, async () => {
    let open = 0;
    const hear = (message) => {
      if (message.t !== "committed") return;
      open -= message.outcomes.length;
      for (const { kind } of message.outcomes) target.tally(kind);
    };
    const client = await joined(target, target.keys.empty, { hear });
    if (client === undefined) return;
    let number = 0;
    let digest;
    while (!target.isOver && !client.isClosed) {
      if (open >= 60) {
        await target.pause(1);
        continue;
      }
      if (isNewSite) {
        client.send(encodeMessage({ t: "site", site: newSite() }));
        number = 0;
        digest = undefined;
      }
      const insert = { kind: "insert", collection: "orders", id: `x-${number}`, fields: { a: 1 } };
      const message = uploadOf(++number, digest, [insert]);
      digest = message.digest;
      client.send(encodeMessage(message));
      open++;
      if (number % 20 === 0 || isNewSite) await target.pause(0);
    }
  });
}

/** Peers that subscribe to everything and never read. */
async function deafPeers(target) {
  await target.many(60, async (i, round) => {
    const client = await joined(target, target.keys.reader);
    if (client === undefined) return;
    client.socket.pause();
    for (let id = 1; id <= 16; id++) {
      const query = `SELECT * FROM orders WHERE number >= ${id} AND ${i} != -${round + 1}`;
      client.send(encodeMessage({ t: "subscribe", id, query, args: {} }));
    }
    while (!target.isOver && !client.isClosed && !client.socket.destroyed) await target.pause(200);
  });
}

/** Comparisons of all documents, and `want` of existing and absent documents. */
async function comparisons(target) {
  const ids = Array.from({ length: 90_000 }, (_, i) => `o-${String(i).padStart(6, "0")}`);
  await target.many(10, async (i) => {
    let filter;
    const hear = (message) => {
      if (message.t === "subscribed") ({ filter } = message);
      else if (message.t === "unsubscribed") target.tally(`unsubscribed ${message.code}`);
    };
    const client = await joined(target, target.keys.reader, { hear });
    if (client === undefined) return;
    const cursor = { history: client.history, filter: new Uint8Array(16), txn: 1 };
    for (let id = 1; id < 900 && !target.isOver && !client.isClosed; id++) {
      const query = `SELECT * FROM orders WHERE number >= ${i * 1_000 + id}`;
      client.send(encodeMessage({ t: "subscribe", id, query, args: {}, cursor }));
      await target.pause(100);
      if (filter !== undefined)
        client.send(encodeMessage({ t: "want", filter, ids, isLast: true }));
    }
  });
}

/** Peers that subscribe and unsubscribe repeatedly. */
async function restless(target) {
  await target.many(20, async (i) => {
    const client = await joined(target, target.keys.reader);
    if (client === undefined) return;
    for (let id = 1; !target.isOver && !client.isClosed; id++) {
      const query = `SELECT * FROM orders WHERE number > ${id % 100} AND '${i}' != city`;
      client.send(encodeMessage({ t: "subscribe", id, query, args: {} }));
      await target.pause(20);
      client.send(encodeMessage({ t: "unsubscribe", id }));
    }
  });
}

function metadataOf(round) {
  return { round, text: "m".repeat(12_000), list: Array(1_000).fill(round) };
}

/** 200 peers that watch presence and repeatedly change large metadata. */
async function presence(target) {
  await target.many(200, async (i) => {
    const client = await joined(target, target.keys.empty, { metadata: metadataOf(i) });
    if (client === undefined) return;
    client.send(encodeMessage({ t: "watch", isOn: true }));
    for (let round = 0; !target.isOver && !client.isClosed; round++) {
      client.send(encodeMessage({ t: "metadata", metadata: metadataOf(round) }));
      await target.pause(200);
    }
  });
}

/** Small messages at the highest rate: `ping`, and `unsubscribe` of unknown subscriptions. */
async function smallMessages(target) {
  const bytes = encodeMessage({ t: "ping", now: Date.now() });
  await target.many(30, async () => {
    const client = await joined(target, target.keys.empty);
    if (client === undefined) return;
    while (!target.isOver && !client.isClosed) {
      for (let i = 0; i < 500; i++) client.send(bytes);
      if (client.socket.writableLength > 1_000_000) await target.pause(20);
      else await target.pause(0);
    }
  });
}

export const SYNC_ATTACKS = [
  {
    name: "subscriptions-empty",
    credential: "empty key",
    what: "subscriptions with expensive conditions, by a key without read permission",
    run: (target) => conditions(target, target.keys.empty, 4),
  },
  {
    name: "subscriptions",
    credential: "reader's key",
    what: "subscriptions with expensive conditions over 50,000 documents",
    run: (target) => conditions(target, target.keys.reader, 4),
  },
  {
    name: "dense-messages",
    credential: "empty key",
    what: "messages of 15 MB of empty values, eight at once",
    run: denseMessages,
  },
  {
    name: "refused-uploads",
    credential: "empty key",
    what: "as many refused uploads as possible",
    run: (target) => refusedUploads(target, false),
  },
  {
    name: "new-sites",
    credential: "empty key",
    what: "a new site for each of very many refused uploads",
    run: (target) => refusedUploads(target, true),
  },
  {
    name: "deaf-peers",
    credential: "reader's key",
    what: "60 peers that subscribe to everything and do not read",
    run: deafPeers,
  },
  {
    name: "restless-peers",
    credential: "reader's key",
    what: "20 peers that subscribe and unsubscribe repeatedly",
    run: restless,
  },
  {
    name: "comparisons",
    credential: "reader's key",
    what: "10 peers that repeatedly compare and request all documents",
    run: comparisons,
  },
  {
    name: "presence",
    credential: "empty key",
    what: "200 peers that watch each other and change large metadata",
    run: presence,
  },
  {
    name: "small-messages",
    credential: "empty key",
    what: "30 peers that send small messages as fast as they can",
    run: smallMessages,
  },
];
