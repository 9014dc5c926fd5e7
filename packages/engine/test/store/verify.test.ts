import type { Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Key } from "../../src/platform.ts";
import { HEAD_KEY, IDENTITY_KEY } from "../../src/store/keys.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { dump, type OpenStore, openStore, problems } from "../support/open-store.ts";

async function sample(): Promise<OpenStore> {
  const opened = await openStore();
  const apply = (...operations: Operation[]): Promise<unknown> =>
    opened.store.transact((transaction) => transaction.apply(operations));
  await apply(
    { kind: "insert", collection: "c", id: "a", fields: { n: 1, m: { x: 1 } } },
    { kind: "insert", collection: "c", id: "b", fields: { k: 3 }, types: { k: "counter" } },
    { kind: "insert", collection: "c", id: "gone", fields: {} },
  );
  await apply({ kind: "delete", collection: "c", id: "gone" });
  const steps = [{ time: 5, operations: [{ kind: "delete", collection: "c", id: "x" }] }] as const;
  const digest = uploadDigest(opened.platform, undefined, steps);
  await opened.store.upload({ site: "00000000000000aa", number: 1, digest, steps });
  await opened.store.close();
  return opened;
}

test("[K30] a sound store has no problems and every key is counted", async () => {
  const { storage } = await sample();
  expect(problems(storage)).toEqual([]);
});

test("[K30] the loss of any key is found", async () => {
  const keys = [...dump((await sample()).storage).keys()];
  expect(keys.length).toBeGreaterThan(10);
  for (const key of keys) {
    const { storage } = await sample();
    await storage.commit(new Map([[key, undefined]]));
    expect(problems(storage), `without ${JSON.stringify(key)}`).not.toEqual([]);
  }
});

test("[K30] a wrong value under any key is found", async () => {
  for (const [key, value] of dump((await sample()).storage)) {
    if (value === true) continue;
    const { storage } = await sample();
    await storage.commit(new Map([[key, spoiled(key, value)]]));
    expect(problems(storage), `spoiled ${JSON.stringify(key)}`).not.toEqual([]);
  }
});

function spoiled(key: Key, value: Value): Value {
  if (key === HEAD_KEY) return { ...(value as object), logCount: 99 };
  if (key === IDENTITY_KEY) return { ...(value as object), format: 99 };
  if (key.startsWith("u")) return { ...(value as object), number: 2 };
  if (key.startsWith("w")) return { ...(value as object), txnId: 99 };
  if (value instanceof Uint8Array) return value.map((byte, i) => (i === 3 ? byte ^ 1 : byte));
  if (typeof value === "number") return value + 7;
  if (key.startsWith("t")) return { ...(value as object), size: 1 };
  return key.startsWith("d") ? { other: "content" } : null;
}

test("[K30] a key that nobody writes is found", async () => {
  const { storage } = await sample();
  await storage.commit(new Map([["zz", 1]]));
  expect(problems(storage)).toEqual(["z:7a expected a key of the storage format"]);
});
