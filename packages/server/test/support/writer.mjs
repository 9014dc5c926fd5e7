/**
 * A process that writes as fast as it can until it is killed, and says on stdout what was
 * acknowledged: one line `request txnId` for each, written before anything else happens.
 *
 *   node writer.mjs FOLDER FIRST-REQUEST WRITERS
 */
import { writeSync } from "node:fs";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";

const [folder, first, writers] = process.argv.slice(2);
const store = await Store.open(await openStorage(folder), nodePlatform);
let request = Number(first);

function write(number) {
  return store.transact((transaction) => {
    transaction.apply(
      ["one", "two", "three"].map((collection) => ({
        kind: "insert",
        collection,
        id: number,
        fields: { number, text: "x".repeat(number % 500) },
      })),
    );
    const total = transaction.get("totals", "n")?.fields.n ?? 0;
    const edits = [{ kind: "set", path: ["n"], value: total + 1 }];
    transaction.apply([
      total === 0
        ? { kind: "insert", collection: "totals", id: "n", fields: { n: 1 } }
        : { kind: "update", collection: "totals", id: "n", edits },
    ]);
  });
}

async function writer() {
  for (;;) {
    const number = request++;
    const { txnId } = await write(number);
    writeSync(1, `${number} ${txnId}\n`);
  }
}

writeSync(1, "ready\n");
await Promise.all(Array.from({ length: Number(writers) }, writer));
