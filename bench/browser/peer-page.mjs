/**
 * The whole peer in the browser as a contestant: openPeer of the built SDK, with its SharedWorker.
 * All of its own writes are strict.
 */
import { changeOf, readingOf } from "./documents.mjs";

/** Beside the page, as on a site without a build step. */
const SDK = "/bigpeer.js";
const { openPeer } = await import(SDK);

let peer;

globalThis.contestant = {
  async open({ appId, url, token, name, workerUrl }) {
    peer = await openPeer({ appId, url, token, name, ...(workerUrl && { workerUrl }) });
  },

  async readAll() {
    const { items } = await peer.store.execute("SELECT * FROM cars");
    return readingOf(items);
  },

  async commit(round, count) {
    const { id, price } = changeOf(round, count);
    await peer.store.execute("UPDATE cars SET price = :price WHERE _id = :id", { id, price });
  },

  async download() {
    const subscription = peer.sync.registerSubscription("SELECT * FROM cars");
    peer.sync.start();
    await subscription.whenReady();
  },

  close: () => peer.close(),
};
