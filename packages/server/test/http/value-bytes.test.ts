/**
 * Values as the bytes of an answer: the same at once and in pieces, and never more than the bound.
 */

import { encodeCbor, setField, stringifyJson, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { writeValue } from "../../src/http/value-bytes.ts";
import { LoopShare } from "../../src/limits/loop-share.ts";

const scalars: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom(null, true, -0, Number.NaN, 2n ** 63n, -(2n ** 63n), '\u{1f600} " \\ \n'),
  fc.integer(),
  fc.double(),
  fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
  fc.uint8Array({ maxLength: 5 }),
);

const elements: fc.Arbitrary<Value> = fc.oneof(
  scalars,
  fc.array(scalars, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "b", "ü"), scalars),
);

/** Objects whose fields have arrays of every length around the ones that make a difference. */
const objects: fc.Arbitrary<Value> = fc
  .array(
    fc.tuple(
      fc.constantFrom("documents", "items", "txnId", "error", "__proto__", 'a"b', "ü"),
      elements,
      fc.option(fc.constantFrom(0, 1, 63, 64, 65, 80, 81, 500)),
    ),
    { maxLength: 5 },
  )
  .map((fields) => {
    const object = {};
    for (const [key, element, count] of fields) {
      const array = count === null ? element : Array.from({ length: count }, () => element);
      setField<Value>(object, key, array);
    }
    return object;
  });

test("the bytes are the same in one slice or in many, in JSON with a line end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(objects, elements), fc.boolean(), async (value, isSliced) => {
      const bounds = { sizeMax: 1e9, share: new LoopShare(isSliced ? 0 : 1e9) };
      const json = await writeValue(value, "json", bounds);
      expect(Buffer.from(json).toString()).toBe(`${stringifyJson(value)}\n`);
      const cbor = await writeValue(value, "cbor", bounds);
      expect(Buffer.from(cbor).equals(encodeCbor(value))).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

test("the bytes are the same if elements contain long lists", async () => {
  const lists = fc.array(fc.oneof(objects, elements), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(lists, fc.boolean(), async (result, isSliced) => {
      const value = { result, after: 1 };
      const bounds = { sizeMax: 1e9, share: new LoopShare(isSliced ? 0 : 1e9), innerList: "items" };
      const json = await writeValue(value, "json", bounds);
      expect(Buffer.from(json).toString()).toBe(`${stringifyJson(value)}\n`);
      const cbor = await writeValue(value, "cbor", bounds);
      expect(Buffer.from(cbor).equals(encodeCbor(value))).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

test.each(["json", "cbor"] as const)(
  "one element of megabytes in %s is written in pieces if its list is named, and only then",
  async (form) => {
    const items = Array.from({ length: 40_000 }, (_, i) => ({ i, text: "x".repeat(60) }));
    const value = { result: [{ items }] };
    const turnsWith = async (innerList: string | undefined): Promise<number> => {
      let turns = 0;
      let isOver = false;
      const turn = (): void => {
        turns++;
        if (!isOver) setImmediate(turn);
      };
      turn();
      await writeValue(value, form, { sizeMax: 1e9, share: new LoopShare(0), innerList });
      isOver = true;
      return turns;
    };
    expect(await turnsWith("items")).toBeGreaterThan(20);
    expect(await turnsWith(undefined)).toBeLessThan(5);
  },
);

test("elements of any size are written completely: pieces adapt to them", async () => {
  const texts = Array.from({ length: 3000 }, (_, i) => "x".repeat((i * 37) % 5000));
  const value = { texts, after: 1 };
  for (const form of ["json", "cbor"] as const) {
    const bytes = await writeValue(value, form);
    const whole = form === "json" ? Buffer.from(`${stringifyJson(value)}\n`) : encodeCbor(value);
    expect(Buffer.from(bytes).equals(whole)).toBe(true);
  }
});

test.each(["json", "cbor"] as const)("a short answer in %s is written synchronously", (form) => {
  expect(writeValue({ documents: [{ id: 1 }] }, form)).not.toBeInstanceOf(Promise);
  const items = Array.from({ length: 1000 }, (_, i) => i);
  expect(writeValue({ items }, form, { sizeMax: 1e6, share: new LoopShare(1e9) })).toBeInstanceOf(
    Uint8Array,
  );
});

test.each(["json", "cbor"] as const)(
  "a long answer in %s lets other requests run",
  async (form) => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ i, text: "some text" }));
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    await writeValue({ items }, form, { sizeMax: 1e9, share: new LoopShare(0) });
    isOver = true;
    expect(turns).toBeGreaterThan(20);
  },
);

test.each(["json", "cbor"] as const)(
  "of many long answers in %s, one is written in each pass of the event loop",
  async (form) => {
    const share = new LoopShare(0);
    let pass = 0;
    let isOver = false;
    const next = (): void => {
      pass++;
      if (!isOver) setImmediate(next);
    };
    next();
    const writers = new Map<number, Set<number>>();
    const writing = Array.from({ length: 10 }, async (_, writer) => {
      const item = {
        get text(): string {
          writers.set(pass, (writers.get(pass) ?? new Set()).add(writer));
          return "x".repeat(10_000);
        },
      };
      const items = Array.from({ length: 200 }, () => item);
      return writeValue({ items }, form, { sizeMax: 1e9, share });
    });
    await Promise.all(writing);
    isOver = true;
    writers.delete(1);
    expect(Array.from(writers.values(), ({ size }) => size)).toEqual(
      Array.from(writers.values(), () => 1),
    );
    expect(writers.size).toBeGreaterThan(100);
  },
);

/** What a piece should have. */
const PIECE_SIZE = 64 * 1024;

const TOO_LARGE = {
  code: "query.too_large",
  message: "the answer is larger than 1000 bytes; ask for fewer rows with LIMIT",
};

test.each(["json", "cbor"] as const)(
  "an answer in %s beyond the size limit is refused",
  async (form) => {
    const bounds = { sizeMax: 1000, share: new LoopShare(0) };
    const text = "x".repeat(1000);
    expect(() => writeValue({ text }, form, bounds)).toThrow(expect.objectContaining(TOO_LARGE));
    const items = Array.from({ length: 2000 }, () => "four");
    const writing = async (): Promise<string | Uint8Array> => writeValue({ items }, form, bounds);
    await expect(writing()).rejects.toThrow(expect.objectContaining(TOO_LARGE));
  },
);

test.each(["json", "cbor"] as const)(
  "few large elements in %s are refused at the first that exceeds the limit, and the rest is not read",
  (form) => {
    const untouched = Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("it was looked at");
      },
    });
    const large = "x".repeat(PIECE_SIZE);
    const items = [large, large, large, untouched];
    const bounds = { sizeMax: 2.5 * PIECE_SIZE, share: new LoopShare(1e9) };
    expect(() => writeValue({ items }, form, bounds)).toThrow("the answer is larger than");
  },
);

test("an answer of exactly the limit is not refused", async () => {
  const items = Array.from({ length: 2000 }, () => "four");
  const size = stringifyJson({ items }).length + 1;
  const bounds = { sizeMax: size, share: new LoopShare(0) };
  expect(await writeValue({ items }, "json", bounds)).toHaveLength(size);
});

test("nothing is written after the piece that exceeds the limit", () => {
  let written = 0;
  const item = {
    get text(): string {
      written++;
      return "x".repeat(100);
    },
  };
  const items = Array.from({ length: 100_000 }, () => item);
  const bounds = { sizeMax: 100_000, share: new LoopShare(1e9) };
  expect(() => writeValue({ items }, "cbor", bounds)).toThrow("the answer is larger than 100000");
  expect(written).toBeLessThan(5000);
});
