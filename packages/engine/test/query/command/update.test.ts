/**
 * The update command: what each field command does, which documents it counts, what is refused.
 */

import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories, isFullSize } from "../../../../protocol/test/support/test-size.ts";
import { UPDATE_ROUNDS_MAX } from "../../../src/limits.ts";
import type { FieldCommand } from "../../../src/query/command/command.ts";
import {
  type Commands,
  fieldOf,
  openCommands,
  updateOf,
  upsertOf,
} from "../../support/run-commands.ts";

const TOKEN = { id: "content-1", len: 5, metadata: { name: "a.png" } };

async function opened(...documents: Value[]): Promise<Commands> {
  const commands = await openCommands();
  await commands.write(...documents.map((each) => upsertOf(each)));
  return commands;
}

function counts(updated: number, error = 0): object {
  return { method: "update", updated, error, internalError: 0, permissionDenied: 0 };
}

describe("the documents", () => {
  test("are those that the filter selects, with its arguments", async () => {
    const { write, fields } = await opened({ _id: "a", n: 1 }, { _id: "b", n: 5 });
    const command = updateOf("n > $args.n", fieldOf("set", "big", true));
    expect(await write({ ...command, args: { n: 3 } })).toEqual([counts(1)]);
    expect(fields("a")).toEqual({ n: 1 });
    expect(fields("b")).toEqual({ n: 5, big: true });
  });

  test("are selected with the arguments of their command of the batch", async () => {
    const { write, fields } = await opened({ _id: "a" }, { _id: "b" });
    const command = updateOf("_id == :id", fieldOf("set", "x", 1));
    const results = await write(
      { ...command, args: { id: "a" } },
      { ...command, args: { id: "none" } },
    );
    expect(results).toEqual([counts(1), counts(0)]);
    expect(fields("b")).toEqual({});
  });

  test("count as updated even if the value was the same", async () => {
    const { update } = await opened({ _id: "a", x: 1 });
    expect(await update(fieldOf("set", "x", 1))).toEqual(counts(1));
  });

  test("without field commands none is updated", async () => {
    const { update } = await opened({ _id: "a", x: 1 });
    expect(await update()).toEqual(counts(0));
  });
});

describe("set", () => {
  test("merges objects; scalars and arrays replace the value", async () => {
    const { update, fields } = await opened({ _id: "a", m: { x: 1 }, list: [1, 2], s: { t: 1 } });
    await update(
      fieldOf("set", "m", { y: { z: 2 } }),
      fieldOf("set", "list", [3]),
      fieldOf("set", "s", 5),
      fieldOf("set", "deep.er['x-y']", 6),
    );
    expect(fields("a")).toEqual({
      m: { x: 1, y: { z: 2 } },
      list: [3],
      s: 5,
      deep: { er: { "x-y": 6 } },
    });
  });

  test("replaces a value that is not a map", async () => {
    const { update, fields } = await opened({ _id: "a", x: 5 });
    expect(await update(fieldOf("set", "x.y", 1))).toEqual(counts(1));
    expect(fields("a")).toEqual({ x: { y: 1 } });
  });

  test("turns a counter into a register", async () => {
    const { update, document } = await opened({ _id: "a" });
    await update(fieldOf("increment", "n", 3));
    await update(fieldOf("set", "n", 10));
    expect(document("a")).toEqual({ id: "a", fields: { n: 10 }, types: undefined });
  });

  test("treats an object with the shape of a token as a map and merges deeply", async () => {
    const { update, document } = await opened({ _id: "a" });
    await update(fieldOf("set", "m.pic", TOKEN));
    await update(fieldOf("set", "m", { pic: { ...TOKEN, metadata: { by: "me" } } }));
    expect(document("a")).toEqual({
      id: "a",
      fields: { m: { pic: { ...TOKEN, metadata: { name: "a.png", by: "me" } } } },
      types: undefined,
    });
  });
});

describe("setAttachment", () => {
  test("refers to content that was uploaded", async () => {
    const { update, attach, document } = await opened({ _id: "a" });
    await attach("content-1", 5);
    await update(fieldOf("setAttachment", "m.pic", { id: "content-1", len: 5 }));
    expect(document("a")).toEqual({
      id: "a",
      fields: { m: { pic: { id: "content-1", len: 5, metadata: {} } } },
      types: { m: { pic: "attachment" } },
    });
  });

  test.each<[string, Value, string]>([
    ["no token", 5, "commands[0].commands[0].value"],
    ["content that is not here", TOKEN, "commands[0].commands[0].value.id"],
    ["another length", { id: "content-2", len: 6 }, "commands[0].commands[0].value.len"],
  ])("%s fails the batch, even if no document is selected", async (_, token, at) => {
    const { writeFailure, attach } = await opened({ _id: "a" });
    await attach("content-2", 5);
    const error = await writeFailure(updateOf("false", fieldOf("setAttachment", "pic", token)));
    expect(error.code).toBe("attachment.invalid");
    expect(error.at).toBe(at);
  });
});

describe("increment", () => {
  test("creates a counter where there is none, and adds to an existing one", async () => {
    const { update, document } = await opened({ _id: "a" });
    await update(fieldOf("increment", "n", 2), fieldOf("increment", "m.n", 1));
    await update(fieldOf("increment", "n", -5));
    expect(document("a")).toEqual({
      id: "a",
      fields: { n: -3, m: { n: 1 } },
      types: { n: "counter", m: { n: "counter" } },
    });
  });

  test("adds to a PN_COUNTER", async () => {
    const { execute, update, document } = await opened({ _id: "a" });
    await execute("UPDATE cars APPLY n PN_INCREMENT BY 0.5");
    expect(await update(fieldOf("increment", "n", 2))).toEqual(counts(1));
    expect(document("a")).toEqual({ id: "a", fields: { n: 2.5 }, types: { n: "pn_counter" } });
  });

  test.each<[string, Value]>([
    ["a plain number", { n: 1 }],
    ["null", { n: null }],
    ["a map", { n: {} }],
    ["a parent that is no map", { n: 1, m: 5 }],
  ])("%s is an error of the document, which is left unchanged", async (_, value) => {
    const { update, fields } = await opened({ _id: "a" }, { _id: "b", ...(value as object) });
    const commands = [fieldOf("set", "x", 1), fieldOf("increment", "n", 1)];
    expect(await update(...commands, fieldOf("increment", "m.n", 1))).toEqual(counts(1, 1));
    expect(fields("a")).toEqual({ x: 1, n: 1, m: { n: 1 } });
    expect(fields("b")).toEqual(value);
  });
});

describe("replaceWithCounter", () => {
  test("starts a counter at the value, whatever was there", async () => {
    const { update, document } = await opened({ _id: "a", n: "text" });
    expect(await update(fieldOf("replaceWithCounter", "n", 4))).toEqual(counts(1));
    expect(document("a")).toEqual({ id: "a", fields: { n: 4 }, types: { n: "counter" } });
  });

  test("with null starts at the existing number", async () => {
    const { update, document } = await opened({ _id: "a", n: 7, m: { big: 2n ** 62n } });
    const commands = ["n", "m.big"].map((path) => fieldOf("replaceWithCounter", path, null));
    expect(await update(...commands)).toEqual(counts(1));
    expect(document("a")).toEqual({
      id: "a",
      fields: { n: 7, m: { big: 2n ** 62n } },
      types: { n: "counter", m: { big: "counter" } },
    });
  });

  test("with null leaves a counter as it is", async () => {
    const { store, update } = await opened({ _id: "a" });
    await update(fieldOf("increment", "n", 7));
    const before = store.read((view) => view.state("cars", "a"));
    expect(await update(fieldOf("replaceWithCounter", "n", null))).toEqual(counts(1));
    expect(store.read((view) => view.state("cars", "a"))).toEqual(before);
  });

  test.each<[string, Value]>([
    ["nothing", {}],
    ["text", { n: "1" }],
    ["a fraction", { n: 1.5 }],
    ["an integer beyond a counter", { n: 2n ** 63n }],
  ])("with null is an error of a document that has %s", async (_, value) => {
    const { update, fields } = await opened({ _id: "a", ...(value as object) });
    expect(await update(fieldOf("replaceWithCounter", "n", null))).toEqual(counts(0, 1));
    expect(fields("a")).toEqual(value);
  });
});

describe("field commands at one path", () => {
  test("see the result of earlier ones", async () => {
    const { update, document } = await opened({ _id: "a", n: 5 });
    const result = await update(
      fieldOf("replaceWithCounter", "n", null),
      fieldOf("increment", "n", 3),
      fieldOf("increment", "n", -1),
      fieldOf("set", "m", { x: 1 }),
      fieldOf("set", "m.y", 2),
      fieldOf("set", "m", { x: 3 }),
    );
    expect(result).toEqual(counts(1));
    expect(document("a")).toEqual({
      id: "a",
      fields: { n: 7, m: { x: 3, y: 2 } },
      types: { n: "counter" },
    });
  });

  test("a document that one command does not fit is changed by none of them", async () => {
    const { update, fields } = await opened({ _id: "a", n: 5 }, { _id: "b", n: "x" });
    const result = await update(
      fieldOf("set", "x", 1),
      fieldOf("replaceWithCounter", "n", null),
      fieldOf("increment", "n", 1),
      fieldOf("set", "x", "done"),
      fieldOf("increment", "x", 1),
    );
    expect(result).toEqual(counts(0, 2));
    expect(fields("a")).toEqual({ n: 5 });
    expect(fields("b")).toEqual({ n: "x" });
  });

  test("a set turns a value that blocks a later increment into a map, but does not help an earlier one", async () => {
    const { update, fields, document } = await opened({ _id: "a", a: 5 });
    const steps = [fieldOf("set", "a.b", 1), fieldOf("increment", "a.c", 1)];
    expect(await update(...steps.toReversed())).toEqual(counts(0, 1));
    expect(fields("a")).toEqual({ a: 5 });
    expect(await update(...steps)).toEqual(counts(1));
    const after = { id: "a", fields: { a: { b: 1, c: 1 } }, types: { a: { c: "counter" } } };
    expect(document("a")).toEqual(after);
  });

  test("an increment that must wait is not overtaken by a set that would unblock it", async () => {
    const { update, fields } = await opened({ _id: "a", a: { y: 5 } });
    const result = await update(
      fieldOf("set", "a.x.p", 1),
      fieldOf("increment", "a.y.q", 1),
      fieldOf("set", "a.y.z", 1),
    );
    expect(result).toEqual(counts(0, 1));
    expect(fields("a")).toEqual({ a: { y: 5 } });
  });

  test.runIf(isFullSize)(
    "a document changed by all of them shows the same as after one update for each",
    async () => {
      const command = anyFieldCommand();
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom<Value[]>(
            {},
            { x: 1 },
            { x: { x: 2 } },
            { x: { x: 1, y: { y: 1 } }, y: 1 },
          ),
          fc.constantFrom("", "x", "x.x", "x.y.x"),
          fc.array(command, { maxLength: 3 }),
          fc.array(command, { minLength: 2, maxLength: 7 }),
          async (value, pnCounter, earlier, commands) => {
            // Earlier updates leave counters, attachments and hidden values behind.
            const started = async (): Promise<Commands> => {
              const opening = await opened({ _id: "a", ...(value as object) });
              await opening.attach("content-1", 5);
              if (pnCounter !== "") {
                await opening.execute(`UPDATE cars APPLY ${pnCounter} PN_INCREMENT BY 0.5`);
              }
              for (const each of earlier) await opening.update(each);
              return opening;
            };
            const together = await started();
            const apart = await started();
            const before = together.document("a");
            const { updated, error } = await together.update(...commands);
            let errors = 0;
            for (const each of commands) errors += (await apart.update(each)).error;
            expect([updated, error]).toEqual(errors === 0 ? [1, 0] : [0, 1]);
            expect(together.document("a")).toEqual(errors === 0 ? apart.document("a") : before);
          },
        ),
        { numRuns: histories(400) },
      );
    },
  );

  test("a round takes one tick for all documents", async () => {
    const { update, store } = await opened({ _id: "a" }, { _id: "b" });
    await update(fieldOf("set", "x", 1), fieldOf("set", "y", 1), fieldOf("set", "x", 2));
    const stamps = store.read((view) =>
      ["a", "b"].flatMap((id) => {
        const { root } = view.state("cars", id).state;
        return ["x", "y"].map((name) => root.get(name)?.reg?.stamp.time ?? 0);
      }),
    );
    const [x = 0, y = 0] = stamps;
    expect(x).toBeGreaterThan(y);
    expect(stamps).toEqual([x, y, x, y]);
  });
});

/** Commands that meet often: at one path, above and below each other, and side by side. */
function anyFieldCommand(): fc.Arbitrary<FieldCommand> {
  const names = fc.array(fc.constantFrom("x", "x", "y"), { minLength: 1, maxLength: 3 });
  const path = names.map((each) => each.join("."));
  const value = fc.constantFrom<Value[]>(1, "text", { x: 2 }, { x: { y: 3 } }, {}, [4], TOKEN);
  const amount = fc.integer({ min: -100, max: 100 });
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ method: fc.constant("set" as const), path, value }) },
    {
      weight: 4,
      arbitrary: fc.record({ method: fc.constant("increment" as const), path, value: amount }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        method: fc.constant("replaceWithCounter" as const),
        path,
        value: fc.constantFrom(null, 5),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        method: fc.constant("setAttachment" as const),
        path,
        value: fc.constant(TOKEN),
      }),
    },
  );
}

describe("many changes of one path", () => {
  test("increments are combined into their sum", async () => {
    const { update, document } = await opened({ _id: "a", n: 1 });
    const many = Array.from({ length: 3000 }, (_, i) => fieldOf("increment", "m.n", i % 3));
    const others = [fieldOf("set", "m.x", 1), fieldOf("increment", "m.n", 7)];
    expect(await update(...many, ...others)).toEqual(counts(1));
    expect(document("a")).toEqual({
      id: "a",
      fields: { n: 1, m: { n: 3007, x: 1 } },
      types: { m: { n: "counter" } },
    });
  });

  test("increments of a PN_COUNTER are combined as well", async () => {
    const { execute, update, document } = await opened({ _id: "a" });
    await execute("UPDATE cars APPLY n PN_INCREMENT BY 0.5");
    const many = Array.from({ length: 100 }, () => fieldOf("increment", "n", 2));
    expect(await update(...many)).toEqual(counts(1));
    expect(document("a")).toEqual({ id: "a", fields: { n: 200.5 }, types: { n: "pn_counter" } });
  });

  test("a sum may exceed 64 bits on the way, but not at the end", async () => {
    const { update, writeFailure, fields } = await opened({ _id: "a" });
    const half = fieldOf("increment", "n", 2n ** 62n);
    expect(await update(half, half, fieldOf("increment", "n", -1))).toEqual(counts(1));
    expect(fields("a")).toEqual({ n: 2n ** 63n - 1n });
    const error = await writeFailure(updateOf("true", half, fieldOf("set", "x", 1), half));
    expect(error.code).toBe("value.invalid");
    expect(error.at).toBe("commands[0].commands[2].value");
    expect(error.message).toContain("found 9223372036854775808");
  });

  test("other changes are at most 64; more fail the batch", async () => {
    const { update, writeFailure, fields } = await opened({ _id: "a" });
    const sets = Array.from({ length: UPDATE_ROUNDS_MAX }, (_, i) => fieldOf("set", "n", i));
    expect(await update(...sets)).toEqual(counts(1));
    expect(fields("a")).toEqual({ n: 63 });
    const error = await writeFailure(updateOf("true"), updateOf("false", ...sets, ...sets));
    expect(error.code).toBe("value.invalid");
    expect(error.at).toBe("commands[1].commands");
    expect(error.message).toContain("expected at most 64 changes of one path");
    expect(error.message).toContain("found 128");
  });

  test("sibling fields are not limited, even if their parent becomes a map", async () => {
    const { update, fields } = await opened({ _id: "a", m: 5 });
    const pairs = Array.from({ length: 200 }, (_, i) => [
      fieldOf("set", `m.s${i}`, i),
      fieldOf("increment", `m.n${i}`, i),
    ]);
    expect(await update(...pairs.flat())).toEqual(counts(1));
    expect(Object.keys((fields("a") as { m: object }).m)).toHaveLength(400);
  });
});

describe("size", () => {
  const LARGE = "x".repeat(3 * 1024 * 1024);

  test("a document that would be too large is an error, and the others are updated", async () => {
    const { update, fields } = await opened({ _id: "a", x: LARGE }, { _id: "b" });
    expect(await update(fieldOf("set", "y", LARGE))).toEqual(counts(1, 1));
    expect(fields("a")).toEqual({ x: LARGE });
    expect(fields("b")).toEqual({ y: LARGE });
  });

  test("the size after the last round counts", async () => {
    const { update, fields } = await opened({ _id: "a", x: LARGE }, { _id: "b" });
    const grow = [fieldOf("set", "y", 1), fieldOf("set", "y", LARGE)];
    expect(await update(...grow)).toEqual(counts(1, 1));
    expect(fields("a")).toEqual({ x: LARGE });
    const shrink = [fieldOf("set", "y", LARGE), fieldOf("set", "y", 1)];
    expect(await update(...shrink)).toEqual(counts(2));
  });
});

describe("errors of a field command fail the batch, with their place", () => {
  test.each<[string, FieldCommand, string, string]>([
    [
      "text behind the path",
      fieldOf("set", "a b", 1),
      "query.syntax",
      ".path, line 1, column 3, near `b`",
    ],
    ["an empty path", fieldOf("set", "", 1), "query.syntax", ".path, line 1, column 1 (the end)"],
    ["an element of an array", fieldOf("set", "a[0]", 1), "value.invalid", ".path"],
    ["the id", fieldOf("set", "_id", 1), "value.invalid", ".path"],
    ["a part of the id", fieldOf("set", "_id.x", 1), "value.invalid", ".path"],
    [
      "a path that is too long",
      fieldOf("set", Array.from({ length: 65 }, () => "x").join("."), 1),
      "value.invalid",
      ".path",
    ],
    ["a value that is too deep there", fieldOf("set", "a", nested(64)), "value.invalid", ".value"],
    ["a fraction", fieldOf("increment", "a", 1.5), "value.invalid", ".value"],
    ["null", fieldOf("increment", "a", null), "value.invalid", ".value"],
    ["text", fieldOf("increment", "a", "1"), "value.invalid", ".value"],
    ["beyond 64 bits with sign", fieldOf("increment", "a", 2n ** 63n), "value.invalid", ".value"],
    [
      "a counter that starts with a fraction",
      fieldOf("replaceWithCounter", "a", 0.5),
      "value.invalid",
      ".value",
    ],
    [
      "a counter that starts with an array",
      fieldOf("replaceWithCounter", "a", [1]),
      "value.invalid",
      ".value",
    ],
  ])("%s", async (_, command, code, place) => {
    const { writeFailure, fields } = await opened({ _id: "a" });
    const error = await writeFailure(
      updateOf("true", fieldOf("set", "ok", 1)),
      updateOf("true", fieldOf("set", "ok", 2), command),
    );
    expect(error.at).toBe(`commands[1].commands[1]${place}`);
    expect(error.code).toBe(code);
    expect(error.message).toContain(` at commands[1].commands[1]${place}`);
    expect(fields("a")).toEqual({});
  });
});

function nested(levels: number): Value {
  let value: Value = 1;
  for (let i = 0; i < levels; i++) value = { x: value };
  return value;
}
