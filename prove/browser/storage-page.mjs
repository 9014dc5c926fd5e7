/**
 * The page that writes to the storage of a browser until it is killed, and checks afterwards what is
 * in it. The proof bundles it and calls it from outside as `storagePage`.
 */
import { encodeCbor } from "@bigpeer/protocol";
import { openIndexedKeyValue } from "../../packages/peer/src/web/storage/index.ts";
import { isStrict, stateAfter, writesOf } from "./workload.mjs";

/** Small, so that a kill often meets a checkpoint. */
const CHECKPOINT = { size: 150_000, count: 150 };

async function open(name) {
  const opened = await openIndexedKeyValue({
    name,
    db: globalThis,
    id: crypto.randomUUID(),
    checkpoint: CHECKPOINT,
  });
  if (opened.kind !== "opened")
    throw new Error(`IndexedDB is unavailable: ${String(opened.cause)}`);
  return opened.storage;
}

/** Writes commits until the page ends. Reports the last strict one that was acknowledged. */
async function write(name) {
  const storage = await open(name);
  const snapshot = storage.snapshot();
  let number = snapshot.get("counter") ?? 0;
  snapshot.close();
  let acknowledged = number;
  let reporting;
  for (;;) {
    number++;
    const durability = isStrict(number) ? "strict" : "relaxed";
    await storage.commit(writesOf(number), { durability });
    if (durability === "strict") acknowledged = number;
    reporting ??= report(acknowledged).finally(() => {
      reporting = undefined;
    });
  }
}

async function report(acknowledged) {
  await fetch("/acknowledged", { method: "POST", body: String(acknowledged) }).catch(() => {});
}

/** What is in the store: the number of the last commit, and the first difference from its state. */
async function check(name) {
  const storage = await open(name);
  const snapshot = storage.snapshot();
  const number = snapshot.get("counter") ?? 0;
  const expected = stateAfter(number);
  let difference;
  for (const { key, value } of snapshot.entries({ from: "\0", to: "\xff" })) {
    if (!isSame(value, expected.get(key))) difference ??= `another value of ${key}`;
    expected.delete(key);
  }
  const [missing] = expected.keys();
  if (missing !== undefined) difference ??= `no ${missing}`;
  snapshot.close();
  await storage.close();
  return { number, difference };
}

function isSame(a, b) {
  return b !== undefined && String(encodeCbor(a)) === String(encodeCbor(b));
}

globalThis.storagePage = { write, check };
