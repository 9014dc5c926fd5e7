/**
 * The storage of the browser peer alone, in the page: records of a store in a KeyValue, without the
 * engine above it. What the whole peer adds is the difference to this.
 */
import { openIndexedKeyValue } from "../../packages/peer/src/web/storage/index.ts";
import { batchesOf, changeOf, documentOf, readingOf, recordsOf } from "./documents.mjs";

const DOCUMENTS = { from: "d/", to: "d0" };
const BATCH = 1_000;

let storage;
let strictness;

globalThis.contestant = {
  async open({ name, durability }) {
    const opened = await openIndexedKeyValue({ name, db: globalThis, id: "bench" });
    if (opened.kind !== "opened") throw new Error(String(opened.cause));
    storage = opened.storage;
    strictness = durability;
  },

  async fill(count) {
    for (const [from, to] of batchesOf(count, BATCH)) {
      const numbers = Array.from({ length: to - from }, (_, i) => from + i);
      const writes = new Map(numbers.flatMap((number) => recordsOf(number)));
      await storage.commit(writes, { durability: "relaxed" });
    }
    await storage.flush();
  },

  readAll() {
    const snapshot = storage.snapshot();
    const documents = [...snapshot.entries(DOCUMENTS)].map(({ value }) => value);
    snapshot.close();
    return readingOf(documents);
  },

  async commit(round, count) {
    const { number, price } = changeOf(round, count);
    const writes = new Map(recordsOf(number, { ...documentOf(number), price }));
    await storage.commit(writes, { durability: strictness });
  },

  close: () => storage.close(),
};
