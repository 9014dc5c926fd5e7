/**
 * Text functions: characters, bytes, ends, padding, and how much they may make.
 */

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Float, MISSING } from "../../../src/query/value/datum.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "../../../src/query/value/size-bound.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";

const text = fc.string({
  unit: fc.constantFrom("a", "b", "é", "日", "😀", " ", "\n"),
  maxLength: 12,
});

test("null gives null, MISSING gives MISSING, and a value that is not text fails", () => {
  for (const name of ["upper", "lower", "length", "byte_length", "char_length", "trim", "ltrim"]) {
    expect(call(name, null)).toBeNull();
    expect(call(name, MISSING)).toBe(MISSING);
    for (const datum of [1, true, ["a"], { a: "a" }, new Uint8Array([1])]) {
      expect(reasonOf(call(name, datum))).toContain("expected text, found");
    }
  }
  for (const name of ["starts_with", "ends_with", "contains", "concat", "split", "pos"]) {
    expect(call(name, "a", null)).toBeNull();
    expect(call(name, "a", MISSING)).toBe(MISSING);
    expect(reasonOf(call(name, "1", 1))).toBe("expected text, found an integer");
    expect(reasonOf(call(name, [1], "1"))).toBe("expected text, found an array");
  }
});

test("upper and lower case follow Unicode", () => {
  expect(call("upper", "ÀÉ straße 😀x")).toBe("ÀÉ STRASSE 😀X");
  expect(call("lower", "ÀÉ straße")).toBe("àé straße");
});

test("length counts bytes of UTF-8, char_length counts characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (any) => {
      const bytes = Buffer.byteLength(any, "utf8");
      expect(call("length", any)).toBe(bytes);
      expect(call("byte_length", any)).toBe(bytes);
      expect(call("char_length", any)).toBe(Array.from(any).length);
      expect(call("character_length", any)).toBe(Array.from(any).length);
    }),
  );
});

describe("trimming", () => {
  test("removes white space from both ends, or from one", () => {
    expect(call("trim", "\t\nab\r \u0085\u3000")).toBe("ab");
    expect(call("ltrim", "  ab  ")).toBe("ab  ");
    expect(call("rtrim", "\t\nab\r ")).toBe("\t\nab");
    expect(call("trim", " \n ")).toBe("");
    // A byte order mark is no white space.
    expect(call("trim", "\ufeffa")).toBe("\ufeffa");
  });

  test("removes any characters of a set, also those beyond the basic plane", () => {
    expect(call("ltrim", "xyxabxx", "xy")).toBe("abxx");
    expect(call("rtrim", "ab😀x😀", "x😀")).toBe("ab");
    expect(call("trim", "xxaxx", "x")).toBe("a");
    expect(call("trim", "a", "")).toBe("a");
    expect(call("rtrim", "ab", null)).toBeNull();
    expect(reasonOf(call("ltrim", "ab", 5))).toBe("expected text, found an integer");
  });

  test("never splits a character", () => {
    fc.assert(
      fc.property(text, text, (any, set) => {
        expect((call("trim", any, set) as string).isWellFormed()).toBe(true);
      }),
    );
  });

  test("reads a long run of inner blanks only once", () => {
    const long = `a${" ".repeat(200_000)}b`;
    expect(call("trim", long)).toBe(long);
  });
});

describe("substr and substring", () => {
  test("count characters from 0, or from the end", () => {
    expect(call("substr", "abcdef", 1, 3)).toBe("bcd");
    expect(call("substr", "abcdef", -3, 2)).toBe("de");
    expect(call("substr", "abcdef", 2, 100)).toBe("cdef");
    expect(call("substr", "日本😀語x", 1, 3)).toBe("本😀語");
    expect(call("substr", "abc", 1, 0)).toBe("");
    expect(call("substring", "abc")).toBe("abc");
    expect(call("substring", "abcdef", 0, 3)).toBe("abc");
    expect(call("substr", "abc", new Float(1))).toBe("bc");
  });

  test("return null for a start outside the text", () => {
    expect(call("substr", "abcdef", 10)).toBeNull();
    expect(call("substr", "abc", -4)).toBeNull();
    expect(call("substr", "abc", 3)).toBeNull();
    expect(call("substr", "abc", 2n ** 60n)).toBeNull();
  });

  test("fail for a value that is not a position", () => {
    expect(reasonOf(call("substr", "abc", "1"))).toBe("expected an integer, found text");
    expect(reasonOf(call("substr", "abc", 1.5))).toBe("expected an integer, found a float");
    expect(reasonOf(call("substr", "abc", 0, -1))).toBe("expected an integer of 0 or more");
    expect(reasonOf(call("substr", 123, 1))).toBe("expected text, found an integer");
    expect(call("substr", "abc", 1, null)).toBeNull();
  });

  test("agree with a list of the characters", () => {
    fc.assert(
      fc.property(text, fc.nat(15), fc.nat(15), (any, start, length) => {
        const characters = Array.from(any);
        const expected = characters.slice(start, start + length).join("");
        expect(call("substr", any, start, length)).toBe(
          start >= characters.length ? null : expected,
        );
      }),
    );
  });
});

describe("position, pos, contains, starts_with, ends_with", () => {
  test("a position counts characters from 0, and is -1 if there is no match", () => {
    expect(call("position", "語", "日😀語")).toBe(2);
    expect(call("pos", "日😀語", "語")).toBe(2);
    expect(call("position", "", "hello")).toBe(0);
    expect(call("position", "z", "hello")).toBe(-1);
    expect(call("pos", "abc", "c")).toBe(2);
  });

  test("contains is true if any of several parts occurs", () => {
    expect(call("contains", "abc", "a", "z")).toBe(true);
    expect(call("contains", "abc", "y", "z")).toBe(false);
    expect(call("contains", "hello", "")).toBe(true);
    expect(call("contains", "abc", null, "a")).toBeNull();
  });

  test("starts_with and ends_with check the ends, case-sensitively", () => {
    expect(call("starts_with", "hello", "he")).toBe(true);
    expect(call("starts_with", "hello", "hello!")).toBe(false);
    expect(call("ends_with", "hello", "o")).toBe(true);
    expect(call("ends_with", "Hello", "h")).toBe(false);
  });
});

describe("joining and splitting", () => {
  test("concat joins all its arguments", () => {
    expect(call("concat", "a", "b", "c")).toBe("abc");
    expect(call("concat", "", "")).toBe("");
  });

  test("joinstr puts the separator between texts, those in arrays too", () => {
    expect(call("joinstr", "-", "a", ["b", ["c"]], "d", 1)).toBe("a-b-c-d-1");
    expect(call("joinstr", "-", "a", ["b", null])).toBeNull();
    expect(call("joinstr", "-", [])).toBe("");
    expect(call("joinstr", "-", "a", null)).toBeNull();
    expect(reasonOf(call("joinstr", 1, "a"))).toBe("expected text, found an integer");
  });

  test("split keeps empty pieces; empty text has none", () => {
    expect(call("split", "a,b,c", ",")).toEqual(["a", "b", "c"]);
    expect(call("split", ",a,", ",")).toEqual(["", "a", ""]);
    expect(call("split", "abc", "x")).toEqual(["abc"]);
    expect(call("split", "", ",")).toEqual([]);
    expect(call("split", "a😀", "")).toEqual(["a", "😀"]);
  });

  test("joining the pieces of a split gives the original text", () => {
    fc.assert(
      fc.property(text, text, (any, separator) => {
        expect(call("joinstr", separator, call("split", any, separator))).toBe(
          separator === "" ? any : any.split(separator).join(separator),
        );
      }),
    );
  });
});

describe("repeat, lpad, rpad", () => {
  test("repeat repeats a text the given number of times", () => {
    expect(call("repeat", "ab", 3)).toBe("ababab");
    expect(call("repeat", "ab", 0)).toBe("");
    expect(call("repeat", "", 2n ** 60n)).toBe("");
    expect(reasonOf(call("repeat", "ab", -1))).toBe("expected an integer of 0 or more");
    expect(reasonOf(call("repeat", "a", 1.5))).toBe("expected an integer, found a float");
  });

  test("padding uses the first character of its text, a blank by default, and never truncates", () => {
    expect(call("lpad", "ab", 5, "xyz")).toBe("xxxab");
    expect(call("rpad", "ab", 5)).toBe("ab   ");
    expect(call("lpad", "ab", 5, "")).toBe("   ab");
    expect(call("lpad", "abcdef", 3)).toBe("abcdef");
    expect(call("rpad", "日", 3, "😀x")).toBe("日😀😀");
    expect(call("lpad", "ab", 5, null)).toBeNull();
    expect(reasonOf(call("lpad", "ab", -1))).toBe("expected an integer of 0 or more");
    expect(reasonOf(call("rpad", 12, 5))).toBe("expected text, found an integer");
    expect(reasonOf(call("rpad", "a", 5, 1))).toBe("expected text, found an integer");
  });

  test("a result larger than a document fails before it is built", () => {
    for (const [name, ...args] of [
      ["repeat", "x", 1e12],
      ["repeat", "x", 2n ** 63n],
      ["lpad", "x", 1e15],
      ["rpad", "x", 2n ** 60n, "😀"],
    ] as const) {
      const run = testRun({ bytesMax: 10_000 });
      expect(reasonOf(callFunction(name, args, run))).toBe(TEXT_TOO_LONG.reason);
    }
    const run = testRun({ bytesMax: 10_000 });
    expect(() => callFunction("repeat", ["x", 20_000], run)).toThrow("more than 10000 bytes");
  });

  test("the memory of repeated texts adds up over a statement, unless they are small", () => {
    const run = testRun({ bytesMax: 100_000 });
    for (let i = 0; i < 1000; i++) callFunction("repeat", ["x", 1000], run);
    for (let i = 0; i < 9; i++) callFunction("repeat", ["x", 10_000], run);
    callFunction("repeat", ["x", 10_000], run);
    expect(() => callFunction("repeat", ["x", 10_000], run)).toThrow("100000 bytes");
  });

  test("the memory of split, joinstr and concat is counted as well", () => {
    const long = "x".repeat(40_000);
    const run = (): ReturnType<typeof testRun> => testRun({ bytesMax: 100_000 });
    expect(() => callFunction("split", [long, ""], run())).toThrow("100000 bytes");
    expect(() => callFunction("split", [long, "x"], run())).toThrow("100000 bytes");
    expect(callFunction("split", [long, "y"], run())).toEqual([long]);
    expect(() => callFunction("concat", [long, long, long], run())).toThrow("100000 bytes");
    expect(() => callFunction("joinstr", [long, "", "", "", ""], run())).toThrow("100000 bytes");
  });

  test("text that the host cannot hold fails, however large the memory limit", () => {
    const run = testRun({ bytesMax: Number.POSITIVE_INFINITY });
    expect(reasonOf(callFunction("repeat", ["x", TEXT_LENGTH_MAX + 1], run))).toBe(
      TEXT_TOO_LONG.reason,
    );
    expect(reasonOf(callFunction("lpad", ["x", TEXT_LENGTH_MAX * 2], run))).toBe(
      TEXT_TOO_LONG.reason,
    );
    const half = "x".repeat(TEXT_LENGTH_MAX / 2);
    expect(reasonOf(callFunction("concat", [half, half, "x"], run))).toBe(TEXT_TOO_LONG.reason);
  });
});

test("replace substitutes one text for another, from the left, at most the given number of times", () => {
  expect(call("replace", "banana", "an", "AN")).toBe("bANANa");
  expect(call("replace", "banana", "an", "", 1)).toBe("bana");
  expect(call("replace", "aaa", "aa", "b")).toBe("ba");
  expect(call("replace", "abc", "", "x")).toBe("abc");
  expect(call("replace", "abc", "b", "$&", 0)).toBe("abc");
  expect(call("replace", "a.c", ".", "$&")).toBe("a$&c");
  expect(call("replace", "abc", null, "x")).toBeNull();
  expect(reasonOf(call("replace", "abc", 1, "x"))).toBe("expected text, found an integer");
  expect(reasonOf(call("replace", "abc", "b", "x", -1))).toBe("expected an integer of 0 or more");
});

test("the memory of a replace result is counted before it is built", () => {
  const long = "a".repeat(2 ** 20);
  expect(() => callFunction("replace", [long, "a", "b"], testRun({ bytesMax: 2 ** 22 }))).toThrow(
    "memory",
  );
  expect(reasonOf(call("replace", "a".repeat(1000), "a", long))).toBe(TEXT_TOO_LONG.reason);
});
