/**
 * What a line of the log has, in both formats, and what never gets into one.
 */

import { PeerError } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  createAdjustableLog,
  createLog,
  describeError,
  type LogFields,
  type LogOptions,
} from "../../src/observability/log.ts";
import { type LogLine, logLines } from "../support/log-lines.ts";

const KEY = `bp_3c9d01ef_${"aB3-_".repeat(9).slice(0, 43)}`;

type Format = LogOptions["format"];

/** The text of one event. */
function line(format: Format, message: string, fields?: LogFields): string {
  const lines: string[] = [];
  createLog({ level: "info", format, write: (each) => lines.push(each) })("warn", message, fields);
  expect(lines).toHaveLength(1);
  return lines.join("");
}

function jsonLine(message: string, fields?: LogFields): LogLine | undefined {
  return logLines(line("json", message, fields))[0];
}

/** A line of text without its time. */
function textLine(message: string, fields?: LogFields): string {
  return line("text", message, fields).replace(/^\S+ /, "");
}

test("a line of JSON has level, time, the fields and the message", () => {
  const fields = { requestId: "r1", status: 503, elapsedMs: 1.5 };
  expect(line("json", "one\n  two", fields)).toMatch(/^\{"level":"warn","time":".*"\}\n$/);
  const { time, ...rest } = jsonLine("one\n  two", fields) ?? { time: "" };
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(rest).toEqual({ level: "warn", ...fields, msg: "one\n  two" });
});

test("a line of text has time, level, message, and the fields if there are any", () => {
  const pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warn one two\n$/;
  expect(line("text", "one\n  two")).toMatch(pattern);
  const fields = {
    status: 503,
    path: "/api/v4/store",
    isLast: true,
    none: null,
    absent: undefined,
    empty: "",
    statement: 'SELECT "a"\nFROM b',
    list: [1, "two"],
  };
  expect(textLine("answered", fields)).toBe(
    'warn answered status=503 path=/api/v4/store isLast=true none=null empty="" ' +
      'statement="SELECT \\"a\\"\\nFROM b" list=[1,"two"]\n',
  );
});

test("an event is one line, whatever its message and fields contain", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.jsonValue(), (message, value) => {
      const text = `one\r${message}\ntwo\u2028`;
      expect(line("json", text, { value, text })).toMatch(/^[^\n\r]*\n$/);
      expect(line("text", text, { value, text })).toMatch(/^[^\p{Cc}\u2028\u2029]*\n$/u);
      expect(jsonLine(text)?.msg).toBe(text.toWellFormed());
    }),
  );
});

test("control characters for the terminal are escaped in text", () => {
  expect(textLine("a\u001b[2Jb", { path: "/\u001b[2J\u0085" })).toBe(
    'warn a\\x1b[2Jb path="/\\u001b[2J\\x85"\n',
  );
});

test("a message is not a format string", () => {
  expect(jsonLine("100%% of %s and %j")?.msg).toBe("100%% of %s and %j");
});

test("secret fields are hidden in both formats, also nested ones", () => {
  const names = ["authorization", "apiKey", "token", "secret", "password", "cookie"];
  const secrets = Object.fromEntries(names.map((name) => [name, "hunter2"]));
  for (const format of ["json", "text"] as const) {
    const text = line(format, "a request", { ...secrets, headers: { ...secrets, host: "here" } });
    expect(text).not.toContain("hunter2");
    expect(text).toContain("here");
  }
  expect(jsonLine("a request", { token: "hunter2" })).toEqual({
    level: "warn",
    time: expect.any(String),
    token: "[hidden]",
    msg: "a request",
  });
});

test("only the id of an API key is logged, anywhere in a text and also if it was truncated", () => {
  for (const format of ["json", "text"] as const) {
    for (const before of ["", " ", "\n", "Bearer ", "x", '"', "é"]) {
      for (const key of [KEY, KEY.slice(0, 40), `${KEY}more`]) {
        const reported = `found ${before}${key}`;
        const text = line(format, reported, {
          path: reported,
          deep: { list: [reported] },
          [reported]: 1,
        });
        expect(text.match(/bp_3c9d01ef_…/g)).toHaveLength(4);
        expect(text).not.toContain(KEY.slice(0, 20));
      }
    }
  }
});

test("a token is not logged, anywhere in a text and also without its signature", () => {
  const claims = Buffer.from(JSON.stringify({ sub: "ada", aud: "shop" })).toString("base64url");
  const header = Buffer.from(JSON.stringify({ alg: "HS256" })).toString("base64url");
  for (const format of ["json", "text"] as const) {
    for (const before of ["", "Bearer ", "x", '"']) {
      for (const token of [`${header}.${claims}.c2lnbmVk`, `${header}.${claims}`]) {
        const reported = `found ${before}${token}`;
        const text = line(format, reported, { path: reported, deep: { list: [reported] } });
        expect(text.match(/eyJ…/g)).toHaveLength(3);
        expect(text).not.toContain(claims);
      }
    }
  }
});

test("events below the level are left out", () => {
  const lines: string[] = [];
  const log = createLog({ level: "warn", format: "json", write: (each) => lines.push(each) });
  for (const level of ["debug", "info", "warn", "error"] as const) log(level, "it happened");
  expect(lines.map((each) => JSON.parse(each).level)).toEqual(["warn", "error"]);
});

test("the level can be changed while the log is in use", () => {
  const lines: string[] = [];
  const write = (each: string): void => void lines.push(JSON.parse(each).msg);
  const { log, setLevel } = createAdjustableLog({ level: "warn", format: "json", write });
  log("info", "first");
  setLevel("debug");
  log("debug", "second");
  setLevel("error");
  log("warn", "third");
  log("error", "fourth");
  expect(lines).toEqual(["second", "fourth"]);
});

test("a field without a JSON form does not stop the event", () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const thrower = {
    toJSON: () => {
      throw new Error("no");
    },
  };
  for (const value of [circle, thrower, 2n ** 64n, Number.NaN, Symbol("s"), () => 1]) {
    expect(jsonLine("told", { value })?.msg).toBe("told");
    expect(textLine("told", { value })).toMatch(/^warn told.*\n$/);
  }
});

test("an expected error is a sentence with its cause and no stack", () => {
  const cause = new Error("no space left");
  const error = new PeerError("store.full", "disk full: the write was not committed", { cause });
  expect(describeError(error)).toBe("disk full: the write was not committed: no space left");
  const denied = Object.assign(new Error("EACCES: denied, mkdir '/x'"), { syscall: "mkdir" });
  expect(describeError(denied)).toBe("EACCES: denied, mkdir '/x'");
});

test("an internal error is logged with its stack", () => {
  expect(describeError(new TypeError("undefined is not a function"))).toMatch(/log\.test\.ts/);
  expect(describeError("thrown text")).toBe("thrown text");
});
