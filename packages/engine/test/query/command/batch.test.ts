/**
 * Batches: one transaction, in order, all or nothing; faults with their place.
 */

import { timeOfMs } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import type { RemoveCommand, WriteCommand } from "../../../src/query/command/command.ts";
import { dump, problems } from "../../support/open-store.ts";
import {
  COLLECTION,
  fieldOf,
  openCommands,
  rejection,
  updateOf,
  upsertOf,
} from "../../support/run-commands.ts";

function removeOf(query: string, collection = COLLECTION): RemoveCommand {
  return { method: "remove", collection, query };
}

describe("remove", () => {
  test("deletes the documents that the filter selects and counts them", async () => {
    const { write, fields } = await openCommands();
    await write(upsertOf({ _id: "a", n: 1 }), upsertOf({ _id: "b", n: 2 }), upsertOf({ _id: "c" }));
    expect(await write({ ...removeOf("n >= :n"), args: { n: 1 } })).toEqual([
      { method: "remove", deleted: 2, internalError: 0, permissionDenied: 0 },
    ]);
    expect(["a", "b", "c"].map(fields)).toEqual([undefined, undefined, {}]);
  });
});

describe("a batch", () => {
  test("is one transaction in which each command sees the writes of earlier ones", async () => {
    const { runner, execute, fields } = await openCommands();
    const { transactionId: before } = await execute("INSERT INTO other DOCUMENTS ({'_id': 1})");
    const commands = [
      upsertOf({ _id: "a", n: 1 }),
      updateOf("n == 1", fieldOf("set", "n", 2)),
      upsertOf({ _id: "b", n: 2 }),
      removeOf("n == 2 && _id == 'b'"),
      updateOf("n == 2", fieldOf("set", "seen", true)),
    ];
    const outcome = await runner.write({ commands, isUnknownRefused: true });
    expect(outcome).toEqual({
      results: [
        { method: "upsert", id: "a" },
        { method: "update", updated: 1, error: 0, internalError: 0, permissionDenied: 0 },
        { method: "upsert", id: "b" },
        { method: "remove", deleted: 1, internalError: 0, permissionDenied: 0 },
        { method: "update", updated: 1, error: 0, internalError: 0, permissionDenied: 0 },
      ],
      transactionId: before + 1,
      isReplay: false,
    });
    expect(fields("a")).toEqual({ n: 2, seen: true });
    expect(fields("b")).toBeUndefined();
  });

  test("gives each command its own tick, so a later upsert wins over an earlier one", async () => {
    const { write, store, fields } = await openCommands();
    await write(upsertOf({ _id: "a", x: 2 }), upsertOf({ _id: "a", x: 1, y: 1 }));
    expect(fields("a")).toEqual({ x: 1, y: 1 });
    const { root, alive } = store.read((view) => view.state(COLLECTION, "a").state);
    expect(root.get("x")?.reg?.stamp.time).toBeGreaterThan(alive.time);
    expect(alive.time).toBeGreaterThanOrEqual(timeOfMs(0));
  });

  test("that is empty, or changes nothing, makes no transaction", async () => {
    const { runner, write, storage } = await openCommands();
    await write(upsertOf({ _id: "a" }));
    const before = dump(storage);
    expect((await runner.write({ commands: [] })).results).toEqual([]);
    await write(removeOf("_id == 'none'"));
    expect(dump(storage)).toEqual(before);
  });

  test("that fails leaves the store as it was, byte for byte", async () => {
    const good: fc.Arbitrary<WriteCommand> = fc.oneof(
      fc.record({ _id: fc.constantFrom("a", "b", "c"), n: fc.integer() }).map((v) => upsertOf(v)),
      fc.constant(updateOf("true", fieldOf("increment", "count", 1), fieldOf("set", "n", 1))),
      fc.constant(updateOf("n > 0", fieldOf("set", "n", 5), fieldOf("set", "n", { x: 1 }))),
      fc.constant(removeOf("_id == 'b'")),
    );
    const bad: fc.Arbitrary<WriteCommand> = fc.constantFrom<WriteCommand[]>(
      removeOf("true", "nowhere"),
      updateOf("true", fieldOf("setAttachment", "x", { id: "none", len: 1 })),
      upsertOf({ _id: "z", x: "x".repeat(6 * 1024 * 1024) }),
      upsertOf({ pic: { id: "none", len: 1 } }, { valueTypeOverrides: { pic: "attachment" } }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(good, { maxLength: 5 }), bad, async (commands, last) => {
        const { runner, storage, write } = await openCommands();
        await write(upsertOf({ _id: "a", n: 1 }), upsertOf({ _id: "b", n: 2 }));
        const before = dump(storage);
        await rejection(runner.write({ commands: [...commands, last], isUnknownRefused: true }));
        expect(dump(storage)).toEqual(before);
        await runner.write({ commands });
        expect(problems(storage)).toEqual([]);
      }),
      { numRuns: histories(30) },
    );
  });

  test("is in the request history under its id, with its text and its result count", async () => {
    const { runner, rows } = await openCommands();
    const commands = [upsertOf({ _id: "a" }), upsertOf({ _id: "b" }), removeOf("_id == 'a'")];
    await runner.write({ commands, requestId: "r1" });
    await rejection(runner.write({ commands: [upsertOf(5)], requestId: "r2" }));
    const history = "SELECT _id, text, state, resultCount, requestType FROM system:request_history";
    expect(await rows(`${history} WHERE requestType = 'write'`)).toEqual([
      {
        _id: "r1",
        text: "write: upsert cars, upsert cars, remove cars",
        state: "completed",
        resultCount: 3,
        requestType: "write",
      },
      {
        _id: "r2",
        text: "write: upsert cars",
        state: "failed",
        resultCount: 0,
        requestType: "write",
      },
    ]);
  });

  test("has a deadline and a memory limit", async () => {
    const { runner, write } = await openCommands({ bytes: 20_000 });
    await rejection(runner.write({ commands: [], timeoutMs: 0 }));
    const value = { text: "x".repeat(1000) };
    const failing = write(...Array.from({ length: 30 }, () => upsertOf(value)));
    expect((await rejection(failing)).code).toBe("query.too_large");
  });

  test("that was cancelled writes nothing", async () => {
    const { runner, store } = await openCommands();
    const commands = Array.from({ length: 2000 }, (_, i) => upsertOf({ _id: i }));
    let isCancelled = false;
    const value = { _id: "x" };
    Object.defineProperty(value, "trap", {
      enumerable: true,
      get: () => {
        isCancelled = runner.cancel("r1", "no longer wanted");
        return 1;
      },
    });
    const failing = runner.write({ commands: [upsertOf(value), ...commands], requestId: "r1" });
    expect((await rejection(failing)).message).toBe("no longer wanted");
    expect(isCancelled).toBe(true);
    expect(store.read((view) => view.count(COLLECTION))).toBe(0);
  });
});

describe("an unknown collection", () => {
  test("is refused by update and remove, with its place and a suggested name", async () => {
    const { write, writeFailure } = await openCommands();
    await write(upsertOf({ _id: "a" }));
    for (const command of [
      removeOf("true", "carz"),
      { ...updateOf("true", fieldOf("set", "x", 1)), collection: "carz" },
      { ...updateOf("true"), collection: "carz" },
    ]) {
      const error = await writeFailure(upsertOf({}), command);
      expect(error.code).toBe("query.collection");
      expect(error.at).toBe("commands[1].collection");
      expect(error.message).toBe(
        'unknown collection "carz" at commands[1].collection; did you mean "cars"?',
      );
    }
  });

  test("is known after the command of the batch that creates it", async () => {
    const { write, writeFailure } = await openCommands();
    expect((await writeFailure(removeOf("true"), upsertOf({}))).code).toBe("query.collection");
    expect(await write(upsertOf({}), removeOf("true"))).toHaveLength(2);
  });

  test("counts as empty by default", async () => {
    const { runner } = await openCommands();
    const { results } = await runner.write({ commands: [removeOf("true", "nowhere")] });
    expect(results).toEqual([
      { method: "remove", deleted: 0, internalError: 0, permissionDenied: 0 },
    ]);
  });
});

describe("errors have the place of their command", () => {
  test.each<[string, WriteCommand, string, string]>([
    [
      "a filter that cannot be read",
      removeOf("color =="),
      "query.syntax",
      "commands[1].query, line 1, column 9 (the end)",
    ],
    [
      "an unknown function",
      removeOf("true &&\nnope(1)"),
      "query.semantic",
      "commands[1].query, line 2, column 1, near `nope(1)`",
    ],
    [
      "a parameter without a value",
      { ...removeOf("x == :y"), args: { x: 1 } },
      "query.semantic",
      "commands[1].query, line 1, column 6, near `:y`",
    ],
    [
      "arguments that are no object",
      { ...updateOf("true"), args: [1] },
      "query.arguments",
      "commands[1].args",
    ],
    [
      "a name that no collection has",
      removeOf("true", "x".repeat(300)),
      "value.invalid",
      "commands[1].collection",
    ],
  ])("%s", async (_, command, code, at) => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure(upsertOf({ _id: "a" }), command);
    expect(error.at).toBe(at);
    expect(error.code).toBe(code);
    expect(error.message.endsWith(` at ${at}`)).toBe(true);
  });

  test("the error keeps the place in the text", async () => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure(upsertOf({}), removeOf("a ==\n&& b"));
    expect(error.place).toEqual({ line: 2, column: 1, near: "&& b" });
    expect(error.expected).toBeDefined();
  });
});
