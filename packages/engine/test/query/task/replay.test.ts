/**
 * Requests that are sent again under the same name: told the same, done once.
 */

import { describe, expect, test } from "vitest";
import type { IdempotencyKey } from "../../../src/store/remembered-answer.ts";
import { dump } from "../../support/open-store.ts";
import {
  fieldOf,
  openCommands,
  rejection,
  updateOf,
  upsertOf,
} from "../../support/run-commands.ts";
import { failureOf } from "../../support/run-statements.ts";

function keyOf(name: string, digest: number): IdempotencyKey {
  return { name: name.repeat(64), digest: new Uint8Array(32).fill(digest) };
}

const KEY = keyOf("a", 1);

describe("a batch", () => {
  test("sent again gets the first answer, and writes nothing", async () => {
    const { runner, storage, fields } = await openCommands();
    const commands = [
      upsertOf({ x: 1 }),
      upsertOf({ _id: "a" }),
      updateOf("_id == 'a'", fieldOf("increment", "n", 1)),
    ];
    const first = await runner.write({ commands, repeat: KEY });
    expect(first.isReplay).toBe(false);
    const before = dump(storage);
    await runner.write({ commands: [upsertOf({ _id: "b" })] });
    const again = await runner.write({ commands, repeat: KEY });
    expect(again).toEqual({ ...first, isReplay: true });
    expect(fields("a")).toEqual({ n: 1 });
    expect(dump(storage).size).toBeGreaterThan(before.size);
  });

  test("sent twice at the same time runs once", async () => {
    const { runner, fields, write } = await openCommands();
    await write(upsertOf({ _id: "a" }));
    const request = { commands: [updateOf("true", fieldOf("increment", "n", 1))], repeat: KEY };
    const [one, two] = await Promise.all([runner.write(request), runner.write(request)]);
    expect(two).toEqual({ ...one, isReplay: true });
    expect(fields("a")).toEqual({ n: 1 });
  });

  test("that changes nothing is remembered too, with a transaction of its own", async () => {
    const { runner, write } = await openCommands();
    await write(upsertOf({ _id: "a" }));
    const { transactionId: before } = await runner.write({ commands: [] });
    const first = await runner.write({ commands: [], repeat: KEY });
    expect(first.transactionId).toBe(before + 1);
    await write(upsertOf({ _id: "b" }));
    expect(await runner.write({ commands: [], repeat: KEY })).toEqual({
      ...first,
      isReplay: true,
    });
  });

  test("with other content under the same key is refused", async () => {
    const { runner, storage } = await openCommands();
    await runner.write({ commands: [upsertOf({ _id: "a" })], repeat: KEY });
    const before = dump(storage);
    const other = { commands: [upsertOf({ _id: "b" })], repeat: keyOf("a", 2) };
    expect((await rejection(runner.write(other))).code).toBe("idempotency.conflict");
    expect(dump(storage)).toEqual(before);
  });

  test("that fails is not remembered", async () => {
    const { runner, attach, fields } = await openCommands();
    const pic = { id: "content-1", len: 1 };
    const commands = [upsertOf({ _id: "a", pic }, { valueTypeOverrides: { pic: "attachment" } })];
    await rejection(runner.write({ commands, repeat: KEY }));
    await attach("content-1", 1);
    expect((await runner.write({ commands, repeat: KEY })).isReplay).toBe(false);
    expect(fields("a")).toEqual({ pic: { ...pic, metadata: {} } });
  });
});

describe("a statement", () => {
  test("sent again gets the first answer: rows, ids, warnings and transaction", async () => {
    const { runner, execute, rows } = await openCommands();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'x': 0}), ({'_id': {'k': 1}, 'x': 2})");
    const statement = "UPDATE c SET y = x WHERE 4 / x = 2 RETURNING *";
    const first = await runner.execute({ statement, repeat: KEY });
    expect(first.totalWarningsCount).toBe(1);
    expect(first.items).toEqual([{ _id: { k: 1 }, x: 2, y: 2 }]);
    await execute("UPDATE c SET x = 5, y = 0");
    const again = await runner.execute({ statement, repeat: KEY });
    expect(again).toEqual({ ...first, isReplay: true });
    expect(await rows("SELECT y FROM c ORDER BY _id")).toEqual([{ y: 0 }, { y: 0 }]);
  });

  test("that inserts without an id makes one document", async () => {
    const { runner, rows } = await openCommands();
    const request = { statement: "INSERT INTO c DOCUMENTS ({'x': 1})", repeat: KEY };
    const first = await runner.execute(request);
    const again = await runner.execute(request);
    expect(again.mutatedDocumentIds).toEqual(first.mutatedDocumentIds);
    expect(await rows("SELECT x FROM c")).toEqual([{ x: 1 }]);
  });

  test("that reads is run each time", async () => {
    const { runner, execute, storage } = await openCommands();
    await execute("INSERT INTO c DOCUMENTS ({'_id': 1})");
    const before = dump(storage);
    const request = { statement: "SELECT _id FROM c", repeat: KEY };
    expect((await runner.execute(request)).items).toHaveLength(1);
    expect(dump(storage)).toEqual(before);
    await execute("INSERT INTO c DOCUMENTS ({'_id': 2})");
    expect((await runner.execute(request)).items).toHaveLength(2);
  });

  test("whose answer is too large to remember writes nothing", async () => {
    const { runner, storage } = await openCommands();
    const before = dump(storage);
    const statement = "INSERT INTO c DOCUMENTS (:d) RETURNING *";
    const args = { d: { text: "x".repeat(2 * 1024 * 1024) } };
    const error = await failureOf(runner, { statement, args, repeat: KEY });
    expect(error.code).toBe("idempotency.too_large");
    expect(dump(storage)).toEqual(before);
  });
});
