/**
 * Attacks of a writer: slow conditions, repeated changes of very many documents, and the largest
 * possible uploads and batches, with peers that subscribe to all of them.
 */
import { encodeMessage } from "@bigpeer/protocol";
import { joined, uploadOf } from "./sync.mjs";

const INSERTS = 200_000;
const EDITS = 60_000;
const BATCH_COMMANDS = 60_000;

async function statements(target, list, { atOnce = 2 } = {}) {
  await target.many(atOnce, (i, round) =>
    target.execute(target.keys.writer, list[(i + round) % list.length], { round: `${i} ${round}` }),
  );
}

const UPDATE_EXISTS = [
  "UPDATE orders SET mark = :round WHERE EXISTS (SELECT 1 FROM orders b JOIN orders c ON b.city = c.city WHERE b.number < c.number AND b.number = -1)",
  "UPDATE orders SET mark = :round WHERE number < 0 AND EXISTS (SELECT 1 FROM orders b JOIN orders c ON b.total < c.total WHERE b.number + c.number = -1)",
  "UPDATE orders SET mark = :round WHERE number IN (SELECT b.number + c.number FROM orders b JOIN orders c ON b.customer = c.customer)",
  "DELETE FROM orders WHERE EXISTS (SELECT 1 FROM orders b JOIN orders c ON b.status = c.status WHERE b.number + c.number = -1)",
];

const UPDATE_MANY = [
  "UPDATE orders SET mark = :round WHERE number < 20000",
  "UPDATE orders SET mark = :round, lines = array_append(lines, {'sku': :round}), total = total + 1 WHERE number >= 20000 AND number < 40000",
];

const UPDATE_SLOW = [
  "UPDATE orders SET mark = 1 WHERE contains(repeat(note, 2000), 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8')",
  "UPDATE orders SET mark = 1 WHERE regexp_like(note, '(a|e|i)*.*(z|y)+q')",
  "UPDATE orders SET mark = 1 WHERE ANY x IN lines SATISFIES ANY y IN lines SATISFIES x.sku || y.sku LIKE '%q%q' END END",
  "UPDATE orders SET mark = repeat(note, 5) || :round WHERE number < 20000",
];

/** Repeatedly changes and reads large documents. */
const UPDATE_LARGE = [
  "INSERT INTO large DOCUMENTS ({'_id': 'a', 'text': repeat('abcdefgh', 500000)}) ON ID CONFLICT DO UPDATE",
  "UPDATE large SET text = repeat('hgfedcba', 500000), mark = :round",
  "UPDATE orders SET text = repeat('abcdefgh', 2000) WHERE number < 5000",
];

const DELETE_ALL = [
  "DELETE FROM orders",
  "INSERT INTO orders SELECT _id, city, status, number FROM kept ON ID CONFLICT DO UPDATE",
];

async function deleteAll(target) {
  const { writer } = target.keys;
  await target.execute(
    writer,
    "INSERT INTO kept SELECT _id, city, status, number FROM orders ON ID CONFLICT DO UPDATE",
  );
  await statements(target, DELETE_ALL, { atOnce: 2 });
}

const INSERT_SELECT = [
  "INSERT INTO copies SELECT concat(_id, :round) AS _id, city, note, lines FROM orders WHERE number < 20000",
  "INSERT INTO copies SELECT concat(a._id, b._id) AS _id, a.city FROM orders a JOIN orders b ON a.customer = b.customer WHERE a.number < 2000 ON ID CONFLICT DO UPDATE",
  "EVICT FROM copies",
];

const INDEXES = [
  "CREATE INDEX by_note ON orders (note)",
  "DROP INDEX by_note ON orders",
  "CREATE INDEX by_city ON orders (city, total, placed)",
  "DROP INDEX by_city ON orders",
];

/** Uploads of a peer, one at a time. */
async function uploadAgain(target, operationsOf) {
  await target.many(2, async () => {
    const last = { isDone: true };
    const hear = ({ t, outcomes }) => {
      if (t === "forked") target.tally("forked");
      if (t !== "committed" || outcomes.length === 0) return;
      for (const { kind } of outcomes) target.tally(kind);
      last.isDone = true;
    };
    const client = await joined(target, target.keys.writer, { hear });
    if (client === undefined) return;
    let digest;
    for (let number = 1; !target.isOver && !client.isClosed; number++) {
      const message = uploadOf(number, digest, operationsOf(number));
      digest = message.digest;
      last.isDone = false;
      client.send(encodeMessage(message));
      while (!last.isDone && !target.isOver && !client.isClosed) await target.pause(20);
    }
  });
}

function inserts(number) {
  const first = number * INSERTS;
  return Array.from({ length: INSERTS }, (_, i) => ({
    kind: "insert",
    collection: "u",
    id: first + i,
    fields: { a: i },
  }));
}

/** Writes every document thirty times. */
function repeatedEdits(number) {
  return Array.from({ length: EDITS }, (_, i) => ({
    kind: "update",
    collection: "orders",
    id: `o-${String(i % 2_000).padStart(6, "0")}`,
    edits: [{ kind: "set", path: [`f${i % 50}`], value: `${number} ${i}` }],
  }));
}

function batches() {
  const upserts = Array.from({ length: BATCH_COMMANDS }, (_, i) => ({
    method: "upsert",
    collection: "b",
    id: i,
    value: { number: i, text: "some text" },
  }));
  const edits = Array.from({ length: 60 }, (_, i) => ({ method: "set", path: `e${i}`, value: i }));
  const update = {
    method: "update",
    collection: "orders",
    query: "number < 5000",
    commands: edits,
  };
  const removes = Array.from({ length: 200 }, (_, i) => ({
    method: "remove",
    collection: "orders",
    query: `note LIKE '%${i}%x' && number == -1`,
  }));
  return [{ commands: upserts }, { commands: [update] }, { commands: removes }].map((body) =>
    Buffer.from(JSON.stringify(body)),
  );
}

async function largeBatches(target) {
  const bodies = batches();
  const path = "/api/v4/store/write";
  await target.many(3, (i, round) =>
    target.send({ path, key: target.keys.writer, body: bodies[(i + round) % bodies.length] }),
  );
}

/** Peers with a few subscriptions each that read all messages. */
async function follow(target, count) {
  for (let i = 0; i < count && !target.isOver; i++) {
    const client = await joined(target, target.keys.writer);
    if (client === undefined) continue;
    const queries = [
      `SELECT * FROM orders WHERE number < ${20_000 + i}`,
      `SELECT * FROM orders WHERE city = 'Berlin' AND number != ${i}`,
      `SELECT * FROM orders WHERE note LIKE '%${i}%' OR mark LIKE '%${i}%'`,
      `SELECT * FROM orders WHERE ANY l IN lines SATISFIES l.sku = 's-${i}' END`,
    ];
    for (const [id, query] of queries.entries()) {
      client.send(encodeMessage({ t: "subscribe", id: id + 1, query, args: {} }));
    }
  }
}

/** Twenty peers with very many conditions without an index, and writes that affect all of them. */
async function manySubscriptions(target) {
  for (let i = 0; i < 20 && !target.isOver; i++) {
    const client = await joined(target, target.keys.writer);
    if (client === undefined) continue;
    for (let id = 1; id <= 400; id++) {
      const query = `SELECT * FROM orders WHERE mark LIKE '%${i}x${id}%' OR length(mark) = ${id * 100 + i}`;
      client.send(encodeMessage({ t: "subscribe", id, query, args: {} }));
    }
  }
  await statements(target, [
    "UPDATE orders SET mark = :round WHERE number < 100",
    "UPDATE orders SET mark = :round WHERE number < 2000",
  ]);
}

/** Documents with very many fields, of which single ones change. */
/** Nearly as many fields as a document may have. */
const WIDE = 19_000;

function fieldsOf(length) {
  return Object.fromEntries(Array.from({ length }, (_, i) => [`f${i}`, i]));
}

function upsertOf(id, value) {
  return { commands: [{ method: "upsert", collection: "wide", id, value }] };
}

async function wideDocuments(target) {
  const key = target.keys.writer;
  const wide = fieldsOf(WIDE);
  const tooWide = fieldsOf(100_000);
  const path = "/api/v4/store/write";
  await target.many(6, async (i, round) => {
    if (round % 20 === 0) await target.json(path, key, upsertOf(`w-${i}`, wide));
    if (round % 20 === 10) await target.json(path, key, upsertOf(`x-${i}`, tooWide));
    const field = `f${(round * 7_919) % WIDE}`;
    await target.execute(
      key,
      `UPDATE wide SET ${field} = :round, g${round} = 1 WHERE _id = 'w-${i}'`,
      {
        round,
      },
    );
  });
}

async function manyWriters(target) {
  await target.many(400, (i, round) =>
    target.json("/api/v4/store/write", target.keys.writer, {
      commands: [{ method: "upsert", collection: "m", id: `${i}-${round % 50}`, value: { round } }],
    }),
  );
}

function attack(name, what, run) {
  return { name, credential: "writer's key", what, run };
}

export const WRITE_ATTACKS = [
  attack("update-exists", "UPDATE and DELETE whose conditions join all documents", (target) =>
    statements(target, UPDATE_EXISTS),
  ),
  attack("update-many", "UPDATE of 20,000 documents again and again", (target) =>
    statements(target, UPDATE_MANY),
  ),
  attack("update-crowd", "UPDATE of 20,000 documents, twenty at once", (target) =>
    statements(target, UPDATE_MANY, { atOnce: 20 }),
  ),
  attack("update-slow", "UPDATE whose conditions are costly for each document", (target) =>
    statements(target, UPDATE_SLOW, { atOnce: 4 }),
  ),
  attack("update-large", "documents of 4 MB, changed again and again", (target) =>
    statements(target, UPDATE_LARGE, { atOnce: 4 }),
  ),
  attack(
    "update-followed",
    "UPDATE of 20,000 documents with 50 peers that follow them",
    async (target) => {
      await follow(target, 50);
      await statements(target, UPDATE_MANY);
    },
  ),
  attack("delete-all", "DELETE of all documents, and INSERT of them", deleteAll),
  attack(
    "delete-followed",
    "DELETE of all documents with 50 peers that follow them",
    async (target) => {
      await follow(target, 50);
      await deleteAll(target);
    },
  ),
  attack("insert-select", "INSERT of what a SELECT and a join give", (target) =>
    statements(target, INSERT_SELECT),
  ),
  attack("indexes", "indexes that are made and dropped", (target) => statements(target, INDEXES)),
  attack("large-uploads", "uploads of 200,000 inserts over sync", (target) =>
    uploadAgain(target, inserts),
  ),
  attack("repeated-edits", "uploads of 60,000 edits of the same documents over sync", (target) =>
    uploadAgain(target, repeatedEdits),
  ),
  attack("large-batches", "batches of 60,000 commands, and of many edits", largeBatches),
  attack("many-subscriptions", "updates that 8,000 conditions have to do with", manySubscriptions),
  attack(
    "wide-documents",
    "documents of as many fields as there may be, of which single ones change",
    wideDocuments,
  ),
  attack("many-writers", "400 connections that write one document each time", manyWriters),
];
