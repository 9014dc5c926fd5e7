/**
 * RxDB with its storage on Dexie as a contestant. The durability is an option of Dexie; all other
 * options are the defaults.
 */
import { createRxDatabase } from "rxdb/plugins/core";
import { replicateRxCollection } from "rxdb/plugins/replication";
import { getRxStorageDexie } from "rxdb/plugins/storage-dexie";
import { changeOf, readingOf } from "./documents.mjs";

const BATCH = 1_000;

const text = { type: "string" };
const number = { type: "number" };

const SCHEMA = {
  version: 0,
  primaryKey: "id",
  type: "object",
  properties: {
    id: { ...text, maxLength: 40 },
    name: text,
    color: text,
    price: number,
    mileage: number,
    isSold: { type: "boolean" },
    owner: { type: "object", properties: { name: text, city: text, zip: number } },
    tags: { type: "array", items: text },
    note: text,
  },
};

let database;

globalThis.contestant = {
  async open({ name, durability }) {
    const storage = getRxStorageDexie({ chromeTransactionDurability: durability });
    database = await createRxDatabase({ name, storage });
    await database.addCollections({ cars: { schema: SCHEMA } });
  },

  async readAll() {
    return readingOf(await database.cars.find().exec());
  },

  async commit(round, count) {
    const { id, price } = changeOf(round, count);
    const found = await database.cars.findOne(id).exec();
    await found.patch({ price });
  },

  async download({ serverUrl }) {
    const replication = replicateRxCollection({
      collection: database.cars,
      replicationIdentifier: serverUrl,
      live: false,
      pull: { batchSize: BATCH, handler: (from, size) => pull(serverUrl, from, size) },
    });
    await replication.awaitInitialReplication();
  },

  close: () => database.close(),
};

async function pull(serverUrl, from, size) {
  const start = from?.next ?? 0;
  const response = await fetch(`${serverUrl}?start=${start}&size=${size}`);
  return response.json();
}
