/**
 * The upsert command: where the id comes from, what is merged, what overrides do, what is refused.
 */

import { equalValues, type Value, type ValueObject } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { typedFields } from "../../../src/crdt/typed-values.ts";
import { anyKey, anyValue } from "../../contract/any-value.ts";
import { COLLECTION, openCommands, upsertOf } from "../../support/run-commands.ts";

const TOKEN = { id: "content-1", len: 5, metadata: { name: "a.png" } };

describe("the id", () => {
  test("is `id`, or `_id` in the value, which never becomes a field", async () => {
    const { write, fields } = await openCommands();
    expect(await write(upsertOf({ x: 1 }, { id: "a" }), upsertOf({ _id: "b", x: 2 }))).toEqual([
      { method: "upsert", id: "a" },
      { method: "upsert", id: "b" },
    ]);
    expect(fields("a")).toEqual({ x: 1 });
    expect(fields("b")).toEqual({ x: 2 });
  });

  test("is generated if there is none", async () => {
    const { write, fields } = await openCommands();
    const [one, two] = await write(upsertOf({ x: 1 }), upsertOf({ x: 2 }));
    expect(one).toEqual({ method: "upsert", id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(one).not.toEqual(two);
    expect(fields((one as { id: Value }).id)).toEqual({ x: 1 });
  });

  test("may be in both places if it is the same, whatever the order of its keys", async () => {
    const { write, fields } = await openCommands();
    const value = { _id: { b: 2, a: 1 }, x: 1 };
    expect(await write(upsertOf(value, { id: { a: 1, b: 2 } }))).toEqual([
      { method: "upsert", id: { a: 1, b: 2 } },
    ]);
    expect(fields({ a: 1, b: 2 })).toEqual({ x: 1 });
  });

  test.each<[string, Value, Value | undefined, string]>([
    ["two that differ", { _id: "b" }, "a", "commands[0].id"],
    ["null", {}, null, "commands[0].id"],
    ["a float inside", {}, [1, 1.5], "commands[0].id[1]"],
    ["a float in the value", { _id: 0.5 }, undefined, "commands[0].value._id"],
    ["null in the value", { _id: null }, undefined, "commands[0].value._id"],
    ["half of a surrogate pair", {}, "\ud800", "commands[0].id"],
  ])("is refused: %s", async (_, value, id, at) => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure(upsertOf(value, id === undefined ? {} : { id }));
    expect(error.at).toBe(at);
    expect(error.code).toBe("id.invalid");
  });
});

describe("the value", () => {
  test.each<[string, Value]>([
    ["an array", [{ x: 1 }]],
    ["text", "x"],
    ["null", null],
  ])("%s is not a document", async (_, value) => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure(upsertOf({}), upsertOf(value));
    expect(error.code).toBe("value.invalid");
    expect(error.at).toBe("commands[1].value");
  });

  test("merges into an existing document: objects deeply, everything else as a whole", async () => {
    const { write, fields } = await openCommands();
    const first = { _id: "a", kept: 1, map: { x: 1, deep: { p: 1 } }, list: [1, 2], n: 1 };
    await write(upsertOf(first));
    await write(upsertOf({ _id: "a", map: { y: 2, deep: { q: 2 } }, list: [3], n: null }));
    expect(fields("a")).toEqual({
      kept: 1,
      map: { x: 1, y: 2, deep: { p: 1, q: 2 } },
      list: [3],
      n: null,
    });
  });

  test("starts a removed document anew", async () => {
    const { write, fields } = await openCommands();
    await write(upsertOf({ _id: "a", old: 1 }));
    await write(
      { method: "remove", collection: COLLECTION, query: "true" },
      upsertOf({ _id: "a", x: 1 }),
    );
    expect(fields("a")).toEqual({ x: 1 });
  });

  test("with the shape of a token is a map and merges deeply", async () => {
    const { write, document } = await openCommands();
    await write(upsertOf({ _id: "a", pic: TOKEN, deep: { pic: TOKEN } }));
    expect(document("a")).toEqual({
      id: "a",
      fields: { pic: TOKEN, deep: { pic: TOKEN } },
      types: undefined,
    });
    await write(upsertOf({ _id: "a", pic: { ...TOKEN, len: 6, metadata: { by: "me" } } }));
    const shown = document("a");
    expect(shown && typedFields(shown)["pic"]).toEqual({
      map: {
        value: {
          id: { register: { value: "content-1" } },
          len: { register: { value: 6 } },
          metadata: {
            map: {
              value: {
                name: { register: { value: "a.png" } },
                by: { register: { value: "me" } },
              },
            },
          },
        },
      },
    });
  });

  test("that is too large fails the batch, with its place", async () => {
    const { writeFailure, fields } = await openCommands();
    const error = await writeFailure(
      upsertOf({ _id: "a" }),
      upsertOf({ _id: "b", x: "x".repeat(6 * 1024 * 1024) }),
    );
    expect(error.code).toBe("query.evaluation");
    expect(error.at).toBe("commands[1].value");
    expect(fields("a")).toBeUndefined();
  });

  test("written twice shows the same as once", async () => {
    const name = anyKey().filter((key) => key !== "_id");
    const fields: fc.Arbitrary<ValueObject> = fc.dictionary(name, anyValue(), { maxKeys: 4 });
    await fc.assert(
      fc.asyncProperty(fields, fields, async (before, value) => {
        const { write, document } = await openCommands();
        await write(upsertOf(before, { id: "a" }));
        await write(upsertOf(value, { id: "a" }));
        const once = document("a");
        await write(upsertOf(value, { id: "a" }));
        return equalValues(once?.fields, document("a")?.fields);
      }),
      { numRuns: 50 },
    );
  });

  test("an invalid collection name is refused", async () => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure({ method: "upsert", collection: "", value: {} });
    expect(error.at).toBe("commands[0].collection");
    expect(error.code).toBe("value.invalid");
  });
});

describe("overrides", () => {
  test("register: an object is stored and replaced as one value", async () => {
    const { write, document } = await openCommands();
    const overrides = { x: "register" } as const;
    await write(upsertOf({ _id: "a", x: { p: 1 } }, { valueTypeOverrides: overrides }));
    await write(upsertOf({ _id: "a", x: { q: 2 } }, { valueTypeOverrides: overrides }));
    expect(document("a")).toEqual({ id: "a", fields: { x: { q: 2 } }, types: { x: "register" } });
  });

  test("counter: starts at the value, and again if the document exists", async () => {
    const { write, update, document } = await openCommands();
    const overrides = { n: "counter" } as const;
    await write(upsertOf({ _id: "a", n: 5 }, { valueTypeOverrides: overrides }));
    await update({ method: "increment", path: "n", value: 2 });
    expect(document("a")).toEqual({ id: "a", fields: { n: 7 }, types: { n: "counter" } });
    await write(upsertOf({ _id: "a", n: 1 }, { valueTypeOverrides: overrides }));
    expect(document("a")).toEqual({ id: "a", fields: { n: 1 }, types: { n: "counter" } });
  });

  test.each<[string, Value]>([
    ["a fraction", 1.5],
    ["text", "1"],
    ["null", null],
    ["beyond 64 bits with sign", 2n ** 63n],
  ])("counter: %s is refused", async (_, n) => {
    const { writeFailure } = await openCommands();
    const error = await writeFailure(upsertOf({ n }, { valueTypeOverrides: { n: "counter" } }));
    expect(error.code).toBe("value.invalid");
    expect(error.at).toBe("commands[0].value.n");
  });

  test("attachment: a token of uploaded content, with or without metadata", async () => {
    const { write, attach, document } = await openCommands();
    await attach("content-1", 5);
    const overrides = { pic: "attachment", other: "attachment" } as const;
    const value = { _id: "a", pic: { id: "content-1", len: 5 }, other: TOKEN };
    await write(upsertOf(value, { valueTypeOverrides: overrides }));
    expect(document("a")).toEqual({
      id: "a",
      fields: { pic: { id: "content-1", len: 5, metadata: {} }, other: TOKEN },
      types: { pic: "attachment", other: "attachment" },
    });
  });

  test.each<[string, Value, string]>([
    ["text", "content-1", "commands[0].value.pic"],
    ["more than a token", { ...TOKEN, more: 1 }, "commands[0].value.pic"],
    ["metadata that is no text", { ...TOKEN, metadata: { x: 1 } }, "commands[0].value.pic"],
    ["an unknown id", { ...TOKEN, id: "content-2" }, "commands[0].value.pic.id"],
    ["an id without end", { ...TOKEN, id: "x".repeat(5000) }, "commands[0].value.pic.id"],
    ["another length", { ...TOKEN, len: 6 }, "commands[0].value.pic.len"],
  ])("attachment: %s is refused", async (_, pic, at) => {
    const { writeFailure, attach } = await openCommands();
    await attach("content-1", 5);
    const error = await writeFailure(
      upsertOf({ pic }, { valueTypeOverrides: { pic: "attachment" } }),
    );
    expect(error.at).toBe(at);
    expect(error.code).toBe("attachment.invalid");
  });

  test.each(["y", "_id", "constructor"])("%s is not a field of the value", async (name) => {
    const { writeFailure } = await openCommands();
    const overrides = { [name]: "register" } as const;
    const error = await writeFailure(
      upsertOf({ _id: "a", x: 1 }, { valueTypeOverrides: overrides }),
    );
    expect(error.code).toBe("value.invalid");
    expect(error.at).toBe(`commands[0].valueTypeOverrides.${name}`);
  });
});
