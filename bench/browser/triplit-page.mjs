/**
 * Triplit's client on IndexedDB as a contestant, without a schema. Its transactions are relaxed, and
 * it acknowledges a write before the transaction is complete.
 */

import { TriplitClient } from "@triplit/client";
import { changeOf, readingOf } from "./documents.mjs";
import { beStrict, completed } from "./strict-transactions.mjs";

let client;

globalThis.contestant = {
  async open({ name, durability, serverUrl, token }) {
    beStrict(durability === "strict");
    const storage = { type: "indexeddb", name };
    client = new TriplitClient({ storage, serverUrl, token, autoConnect: false });
    await client.ready;
  },

  async readAll() {
    return readingOf(await client.fetch(client.query("cars"), { policy: "local-only" }));
  },

  async commit(round, count) {
    const { id, price } = changeOf(round, count);
    await client.update("cars", id, { price });
    await completed();
  },

  async download() {
    await new Promise((resolve, reject) => {
      client.subscribeBackground(client.query("cars"), { onFulfilled: resolve, onError: reject });
      client.connect().catch(reject);
    });
  },

  close: () => client.disconnect(),
};
