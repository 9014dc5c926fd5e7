// Writes a document to a store and reads it back, without a server.
// Run it after `npm run build`: node examples/store.mjs
import { rmSync } from "node:fs";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";

const folder = "./example-data";
rmSync(folder, { recursive: true, force: true });
const storage = await openStorage(folder);
const store = await Store.open(storage, nodePlatform);

const { txnId } = await store.transact((transaction) => {
  const car = { collection: "cars", id: "c1" };
  transaction.apply([
    { kind: "insert", ...car, fields: { color: "blue", owner: { name: "Ada" } } },
  ]);
  transaction.apply([
    { kind: "update", ...car, edits: [{ kind: "increment", path: ["views"], by: 1 }] },
  ]);
});

store.read((snapshot) => {
  console.log(txnId, snapshot.txnId, snapshot.get("cars", "c1"));
});
await store.close();
await storage.close();
