/**
 * Writing with permissions: what is chosen, what is judged, and what a denial leaves.
 */

import type { Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import type { IdempotencyKey } from "../../../src/store/remembered-answer.ts";
import { authorityOf, type Caller, callerOf, columnOf, type Rules } from "../../support/caller.ts";
import { dump, problems } from "../../support/open-store.ts";
import {
  COLLECTION,
  type Commands,
  fieldOf,
  openCommands,
  updateOf,
  upsertOf,
} from "../../support/run-commands.ts";

interface Bench extends Commands {
  readonly as: (read: Rules, write?: Rules) => Caller;
  readonly all: () => Promise<readonly Value[]>;
}

const CARS = [
  { _id: "a", owner: "ada", team: "red", n: 1 },
  { _id: "b", owner: "bob", team: "red", n: 2 },
  { _id: "c", owner: "ada", team: "blue", n: 3 },
  { _id: "d", owner: "bob", team: "blue", n: 4 },
];

async function bench(): Promise<Bench> {
  const opened = await openCommands();
  await opened.execute("INSERT INTO cars DOCUMENTS (:documents)", { documents: CARS });
  return {
    ...opened,
    as: (read, write) => callerOf(opened.runner, authorityOf(read, write)),
    all: () => opened.rows("SELECT * FROM cars"),
  };
}

/** Reads its team, writes its own. */
const READ = { cars: ["team == 'red'"] };
const WRITE = { cars: ["owner == 'ada'"] };

const DENIAL = "the credential has no permission to write this document of the collection cars";

describe("statements", () => {
  test.each([
    ["UPDATE cars SET n = 0 WHERE n > 0", ["a", "b"]],
    ["UPDATE cars SET n = 0 WHERE _id = 'c'", []],
    ["UPDATE cars USE IDS 'a', 'c', 'd' SET n = 0", ["a"]],
    ["UPDATE cars SET n = 0 ORDER BY n DESC LIMIT 1", ["b"]],
    ["DELETE FROM cars WHERE true", ["a", "b"]],
    ["EVICT FROM cars", ["a", "b"]],
    ["TOMBSTONE FROM cars WHERE n IN [1, 4]", ["a"]],
  ])("[P10] %s selects among readable documents", async (text, ids) => {
    const { as, all, storage } = await bench();
    const { mutatedDocumentIds } = await as(READ, true).execute(text);
    expect(mutatedDocumentIds).toEqual(ids);
    expect(
      (await all()).filter((each) => ["c", "d"].includes(columnOf([each])[0] as string)),
    ).toEqual([CARS[2], CARS[3]]);
    expect(problems(storage)).toEqual([]);
  });

  test.each([
    ["before", "UPDATE cars SET owner = 'ada' WHERE _id = 'b'"],
    ["after", "UPDATE cars SET owner = 'eve' WHERE _id = 'a'"],
    ["after", "UPDATE cars UNSET owner WHERE _id = 'a'"],
    ["before", "DELETE FROM cars WHERE _id = 'b'"],
    ["before", "EVICT FROM cars WHERE _id = 'b'"],
    ["before", "TOMBSTONE FROM cars WHERE _id = 'b'"],
    ["after", "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'owner': 'eve'})"],
    ["after", "INSERT INTO cars INITIAL DOCUMENTS ({'_id': 'x', 'owner': 'eve'})"],
    ["after", "INSERT INTO cars DOCUMENTS ({'owner': 'eve'})"],
    ["after", "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'e'}) ON ID CONFLICT DO UPDATE"],
    ["one of several", "UPDATE cars SET n = 9"],
    ["one of several", "DELETE FROM cars"],
    ["one of several", "INSERT INTO cars DOCUMENTS ({'owner': 'ada'}), ({'owner': 'eve'})"],
    ["PROFILE", "PROFILE DELETE FROM cars WHERE _id = 'b'"],
  ])("[P11] [P12] is refused as a whole (%s): %s", async (_, text) => {
    const { as, storage } = await bench();
    const before = dump(storage);
    const error = await as(READ, WRITE).failure(text);
    expect([error.code, error.message]).toEqual(["permission.denied", DENIAL]);
    expect(dump(storage)).toEqual(before);
  });

  test("[P11] a change that is allowed before and after is made", async () => {
    const { as, all } = await bench();
    const { execute } = as(READ, WRITE);
    await execute("UPDATE cars SET n = 9 WHERE _id = 'a'");
    await execute("INSERT INTO cars DOCUMENTS ({'_id': 'x', 'owner': 'ada'})");
    await execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 10}) ON ID CONFLICT DO UPDATE");
    await execute("UPDATE cars SET team = 'blue' WHERE _id = 'a'");
    expect(columnOf(await all())).toEqual(["a", "b", "c", "d", "x"]);
    expect((await all())[0]).toEqual({ _id: "a", owner: "ada", team: "blue", n: 10 });
  });

  test("[P11] a caller that reads everything is checked by the written documents", async () => {
    const { as } = await bench();
    const { execute, failure } = as(true, WRITE);
    expect((await execute("UPDATE cars SET n = 9 WHERE owner = 'ada'")).mutatedDocumentIds).toEqual(
      ["a", "c"],
    );
    expect((await failure("UPDATE cars SET n = 9")).code).toBe("permission.denied");
    expect((await failure("DELETE FROM cars WHERE _id = 'd'")).message).toBe(DENIAL);
  });

  test("[P11] an insert over a deleted document is checked as a new one", async () => {
    const { as, execute, all } = await bench();
    await execute("DELETE FROM cars WHERE _id = 'd'");
    const caller = as(READ, WRITE);
    await caller.failure("INSERT INTO cars DOCUMENTS ({'_id': 'd', 'owner': 'eve'})");
    const hidden = "INSERT INTO cars INITIAL DOCUMENTS ({'_id': 'd', 'owner': 'eve'})";
    expect((await caller.failure(hidden)).message).toBe(DENIAL);
    await caller.execute("INSERT INTO cars DOCUMENTS ({'_id': 'd', 'owner': 'ada'})");
    expect((await all())[3]).toEqual({ _id: "d", owner: "ada" });
  });
});

describe("conflicts", () => {
  const POLICIES = [
    "",
    "ON ID CONFLICT FAIL",
    "ON ID CONFLICT DO NOTHING",
    "ON ID CONFLICT DO UPDATE",
    "ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
    "ON ID CONFLICT DO MERGE",
  ];

  test.each(["b", "c", "d"])(
    "[P13] with %s, which may not be read or not be written, are denied with the same message",
    async (id) => {
      const { as, storage } = await bench();
      const before = dump(storage);
      const { failure, writeFailure } = as(READ, WRITE);
      const document = `({'_id': '${id}', 'owner': 'ada'})`;
      const texts = POLICIES.map((policy) => `INSERT INTO cars DOCUMENTS ${document} ${policy}`);
      texts.push(`INSERT INTO cars INITIAL DOCUMENTS ${document}`);
      for (const text of texts) {
        // What may be written but not read is no exception.
        const error = await failure(text);
        expect([text, error.code, error.message]).toEqual([text, "permission.denied", DENIAL]);
      }
      const error = await writeFailure(upsertOf({ _id: id, owner: "ada" }));
      expect([error.code, error.message]).toEqual([
        "permission.denied",
        `${DENIAL} at commands[0]`,
      ]);
      expect(dump(storage)).toEqual(before);
    },
  );

  test("[P13] with documents that may be read and written are decided by the policy", async () => {
    const { as } = await bench();
    const { failure, execute } = as(READ, WRITE);
    const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 5})";
    expect((await failure(insert)).code).toBe("query.evaluation");
    const idsOf = async (text: string): Promise<unknown> =>
      (await execute(text)).mutatedDocumentIds;
    expect(await idsOf(`${insert} ON ID CONFLICT DO NOTHING`)).toEqual([]);
    expect(await idsOf(`${insert} ON ID CONFLICT DO UPDATE`)).toEqual(["a"]);
    expect(await idsOf("INSERT INTO cars INITIAL DOCUMENTS ({'_id': 'a', 'n': 5})")).toEqual([]);
  });
});

describe("commands", () => {
  test("[P14] a denied upsert fails the whole batch and names its command", async () => {
    const { as, storage } = await bench();
    const before = dump(storage);
    const { writeFailure } = as(READ, WRITE);
    const error = await writeFailure(
      upsertOf({ _id: "x", owner: "ada" }),
      updateOf("true", fieldOf("set", "n", 5)),
      upsertOf({ _id: "y", owner: "eve" }),
    );
    expect([error.code, error.at]).toEqual(["permission.denied", "commands[2]"]);
    expect(dump(storage)).toEqual(before);
  });

  test("[P14] update leaves documents that may not be written unchanged and counts each once", async () => {
    const { as, fields } = await bench();
    const { write } = as({ cars: ["true"] }, WRITE);
    expect(await write(updateOf("true", fieldOf("set", "seen", true)))).toEqual([
      { method: "update", updated: 2, error: 0, internalError: 0, permissionDenied: 2 },
    ]);
    expect(["a", "b", "c", "d"].map((id) => (fields(id) as { seen?: true }).seen)).toEqual([
      true,
      undefined,
      true,
      undefined,
    ]);
  });

  test("[P14] update counts errors and denials separately", async () => {
    const { as, fields } = await bench();
    const { write } = as({ cars: ["true"] }, WRITE);
    // A name is no counter: an error for who may write, a denial for who may not.
    expect(await write(updateOf("true", fieldOf("increment", "owner", 1)))).toEqual([
      { method: "update", updated: 0, error: 2, internalError: 0, permissionDenied: 2 },
    ]);
    expect(fields("a")).toEqual({ owner: "ada", team: "red", n: 1 });
  });

  test("[P14] update checks the result, not the intermediate steps", async () => {
    const { as, fields } = await bench();
    const { write } = as({ cars: ["true"] }, WRITE);
    const give = updateOf("_id == 'a'", fieldOf("set", "owner", "eve"));
    expect(await write(give)).toEqual([
      { method: "update", updated: 0, error: 0, internalError: 0, permissionDenied: 1 },
    ]);
    const there = [fieldOf("set", "owner", "eve"), fieldOf("set", "owner", "ada")];
    expect(await write(updateOf("_id == 'a'", ...there, fieldOf("set", "n", 7)))).toEqual([
      { method: "update", updated: 1, error: 0, internalError: 0, permissionDenied: 0 },
    ]);
    const gone = [fieldOf("set", "owner", "ada"), fieldOf("set", "owner", "eve")];
    expect(await write(updateOf("_id == 'a'", ...gone))).toEqual([
      { method: "update", updated: 0, error: 0, internalError: 0, permissionDenied: 1 },
    ]);
    expect(fields("a")).toEqual({ owner: "ada", team: "red", n: 7 });
  });

  test("[P14] update checks counters by their sum", async () => {
    const { as, write: writeAll, fields } = await bench();
    await writeAll(updateOf("true", fieldOf("replaceWithCounter", "hits", 1)));
    const { write } = as({ cars: ["true"] }, { cars: ["hits <= 3"] });
    const add = updateOf("_id == 'a'", fieldOf("increment", "hits", 2));
    const counts = [await write(add), await write(add)].flat();
    expect(counts).toEqual([
      { method: "update", updated: 1, error: 0, internalError: 0, permissionDenied: 0 },
      { method: "update", updated: 0, error: 0, internalError: 0, permissionDenied: 1 },
    ]);
    expect((fields("a") as { hits: number }).hits).toBe(3);
  });

  test("[P10] [P14] remove deletes writable documents and counts the other readable ones", async () => {
    const { as, all } = await bench();
    const { write } = as(READ, WRITE);
    expect(await write({ method: "remove", collection: COLLECTION, query: "true" })).toEqual([
      { method: "remove", deleted: 1, internalError: 0, permissionDenied: 1 },
    ]);
    expect(columnOf(await all())).toEqual(["b", "c", "d"]);
  });

  test.each([
    ["upsert", READ, {}],
    ["update", READ, {}],
    ["remove", READ, {}],
    ["update", {}, WRITE],
    ["remove", {}, WRITE],
  ] as const)("[P14] %s fails without a rule for the collection", async (method, read, write) => {
    const { as } = await bench();
    const { writeFailure } = as({ ...read, x: ["true"] }, { ...write, x: ["true"] });
    const commands = {
      upsert: upsertOf({ _id: "x" }),
      update: updateOf("true", fieldOf("set", "n", 1)),
      remove: { method: "remove", collection: COLLECTION, query: "true" },
    } as const;
    const first = { method: "upsert", collection: "x", value: {} } as const;
    const error = await writeFailure(first, commands[method]);
    const message = "the credential has no permission for the collection cars at commands[1]";
    expect([error.code, error.message]).toEqual(["permission.denied", message]);
  });
});

describe("RETURNING", () => {
  test("[P15] returns the documents that may be read after the change", async () => {
    const { as } = await bench();
    const { execute } = as(READ, true);
    const update =
      "UPDATE cars SET team = CASE WHEN n = 1 THEN 'blue' ELSE 'red' END RETURNING _id";
    const { mutatedDocumentIds, items } = await execute(update);
    expect([mutatedDocumentIds, items]).toEqual([["a", "b"], [{ _id: "b" }]]);
    const insert =
      "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'team': 'red'}), ({'_id': 'y'}) RETURNING _id";
    expect((await execute(insert)).items).toEqual([{ _id: "x" }]);
    const initial =
      "INSERT INTO cars INITIAL DOCUMENTS ({'_id': 'z', 'team': 'blue'}) RETURNING _id";
    expect((await execute(initial)).items).toEqual([]);
  });

  test("[P15] returns the documents that could be read before a delete", async () => {
    const { as } = await bench();
    const { rows } = as(READ, true);
    expect(await rows("DELETE FROM cars RETURNING _id, n")).toEqual([
      { _id: "a", n: 1 },
      { _id: "b", n: 2 },
    ]);
  });
});

describe("requests that are sent again", () => {
  const repeat: IdempotencyKey = { name: "a".repeat(64), digest: new Uint8Array(32) };
  const statement = "UPDATE cars SET n = 5 RETURNING _id";

  test("[P16] get the same answer while the permissions are the same", async () => {
    const { runner } = await bench();
    const first = await runner.execute({ statement, repeat, authority: authorityOf(READ, true) });
    expect(first.items).toEqual([{ _id: "a" }, { _id: "b" }]);
    const again = await runner.execute({ statement, repeat, authority: authorityOf(READ, true) });
    expect(again).toEqual({ ...first, isReplay: true });
  });

  test("[P16] get no rows after the permissions changed", async () => {
    const { runner } = await bench();
    const first = await runner.execute({ statement, repeat, authority: authorityOf(READ, true) });
    const narrower = authorityOf({ cars: ["false"] }, true);
    const again = await runner.execute({ statement, repeat, authority: narrower });
    expect(again).toEqual({ ...first, items: [], isReplay: true });
    const without = await runner.execute({ statement, repeat });
    expect(without).toEqual({ ...first, items: [], isReplay: true });
    const none = authorityOf({}, true);
    await expect(runner.execute({ statement, repeat, authority: none })).rejects.toThrow(
      /no permission/,
    );
  });

  test("[P16] a batch has no rows", async () => {
    const { runner } = await bench();
    const commands = [updateOf("true", fieldOf("set", "n", 6))];
    const first = await runner.write({ commands, repeat, authority: authorityOf(READ, true) });
    const other = { commands, repeat, authority: authorityOf({ cars: ["false"] }, true) };
    expect(await runner.write(other)).toEqual({ ...first, isReplay: true });
  });
});
