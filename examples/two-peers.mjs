// Two devices and a server: one writes while it is offline, the other sees it when both have met.
// Run after `npm run build`: node examples/two-peers.mjs
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPeer } from "@bigpeer/peer";
import { createLog, readConfig, startServer } from "@bigpeer/server";

const folder = mkdtempSync(join(tmpdir(), "two-peers-"));

// A server of our own, in a folder of its own. The first start makes an app and a key.
const settings = {
  "--data-dir": join(folder, "server"),
  "--port": "0",
  "--management-port": "off",
};
const log = createLog({ level: "warn", format: "text", write: (line) => console.error(line) });
const server = await startServer(readConfig(new Map(Object.entries(settings)), {}), { log });
const quickstart = JSON.parse(readFileSync(join(folder, "server", "quickstart.json"), "utf8"));
const { appId, apiKey: token, dataUrl: url } = quickstart;

// Two peers: a phone that keeps its documents in a folder, and a till that keeps none.
const phone = await openPeer({ appId, url, token, folder: join(folder, "phone") });
const till = await openPeer({ appId, url, token, memory: true });
for (const peer of [phone, till]) peer.on("error", (error) => console.error(error.message));

// The phone writes before it has ever seen the server. That is durable, and shows at once.
await phone.store.execute("INSERT INTO orders DOCUMENTS (:order)", {
  order: { _id: "o1", item: "tea", cups: 2 },
});
console.log("phone, offline:", (await phone.store.execute("SELECT * FROM orders")).items);

// The till says what it wants to have, and looks at it whenever it changes.
till.sync.registerSubscription("SELECT * FROM orders WHERE item = :item", { item: "tea" });
const seen = new Promise((resolve) => {
  till.store.registerObserver("SELECT * FROM orders", ({ items }) => {
    console.log("till sees:", items);
    if (items.length > 0) resolve();
  });
});
till.sync.start();

// The phone finds the server, and what it wrote goes there by itself.
phone.sync.start();
await seen;

// And back: what the till writes comes to the phone, once the phone asks for it.
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
