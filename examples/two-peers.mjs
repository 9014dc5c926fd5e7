// A server and two devices: one device writes while it is offline, and the other one receives the
// write after both have connected. Run it after `npm run build`: node examples/two-peers.mjs
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPeer } from "@bigpeer/peer";
import { createLog, readConfig, startServer } from "@bigpeer/server";

const folder = mkdtempSync(join(tmpdir(), "two-peers-"));

// Starts a server in a temporary folder. The first start creates an app and an API key.
const settings = {
  "--data-dir": join(folder, "server"),
  "--port": "0",
  "--management-port": "off",
};
const log = createLog({ level: "warn", format: "text", write: (line) => console.error(line) });
const server = await startServer(readConfig(new Map(Object.entries(settings)), {}), { log });
const quickstart = JSON.parse(readFileSync(join(folder, "server", "quickstart.json"), "utf8"));
const { appId, apiKey: token, dataUrl: url } = quickstart;

// Two peers: a phone that keeps its documents in a folder, and a till that keeps them in memory.
const phone = await openPeer({ appId, url, token, folder: join(folder, "phone") });
const till = await openPeer({ appId, url, token, memory: true });
for (const peer of [phone, till]) peer.on("error", (error) => console.error(error.message));

// The phone writes before its first connection. The write is durable, and a query sees it at once.
await phone.store.execute("INSERT INTO orders DOCUMENTS (:order)", {
  order: { _id: "o1", item: "tea", cups: 2 },
});
console.log("phone, offline:", (await phone.store.execute("SELECT * FROM orders")).items);

// The till subscribes to orders of tea, and observes its orders.
till.sync.registerSubscription("SELECT * FROM orders WHERE item = :item", { item: "tea" });
const seen = new Promise((resolve) => {
  till.store.registerObserver("SELECT * FROM orders", ({ items }) => {
    console.log("till sees:", items);
    if (items.length > 0) resolve();
  });
});
till.sync.start();

// The phone connects and uploads its write.
phone.sync.start();
await seen;

// The other direction: the phone subscribes, and receives what the till writes.
const orders = phone.sync.registerSubscription("SELECT * FROM orders");
await orders.whenReady();
const served = new Promise((resolve) => {
  phone.store.registerObserver("SELECT * FROM orders WHERE isServed = true", ({ items }) => {
    if (items.length > 0) resolve(items);
  });
});
await till.store.execute("UPDATE orders SET isServed = true WHERE _id = 'o1'");
console.log("phone sees:", await served);

await phone.close();
await till.close();
await server.close();
rmSync(folder, { recursive: true });
