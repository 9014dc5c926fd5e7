/**
 * Client of the download benchmark: a small peer that subscribes to all documents, in memory or in
 * a folder. The time ends when the subscription is ready: all documents are applied, and durable if
 * there is a folder.
 */
import { openPeer } from "@bigpeer/peer";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer, cpuSecondsSince } from "./answers.mjs";

answer({
  async download({ url, appId, token, documents, folder }) {
    const place = folder === undefined ? { memory: true } : { folder };
    const peer = await openPeer({ appId, url, token, ...place });
    const subscription = peer.sync.registerSubscription("SELECT * FROM cars");
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    peer.sync.start();
    await subscription.whenReady();
    const ms = performance.now() - startedAt;
    const cpuSeconds = cpuSecondsSince(cpu);
    const [{ n }] = (await peer.store.execute("SELECT count(*) AS n FROM cars")).items;
    const id = idOf(documents - 1);
    const found = await peer.store.execute("SELECT * FROM cars WHERE _id = :id", { id });
    if (n !== documents || found.items[0]?.mileage !== fieldsOf(documents - 1).mileage) {
      throw new Error(`expected ${documents} documents, found ${JSON.stringify(n)}`);
    }
    await peer.close();
    return { ms, cpuSeconds };
  },
});
