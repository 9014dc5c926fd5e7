import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { createLog, describeError } from "../src/log.ts";

test("an event is one line with its time and level, whatever its message carries", () => {
  const lines: string[] = [];
  createLog((line) => lines.push(line))("warn", "one\n  two");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warn one two\n$/);
});

test("what the world did is a sentence with its cause and no stack", () => {
  const cause = new Error("no space left");
  const error = new PeerError("store.full", "expected room for a commit", { cause });
  expect(describeError(error)).toBe("expected room for a commit: no space left");
  const denied = Object.assign(new Error("EACCES: denied, mkdir '/x'"), { syscall: "mkdir" });
  expect(describeError(denied)).toBe("EACCES: denied, mkdir '/x'");
});

test("what we did wrong is told with its stack", () => {
  expect(describeError(new TypeError("undefined is not a function"))).toMatch(/log\.test\.ts/);
  expect(describeError("thrown text")).toBe("thrown text");
});
