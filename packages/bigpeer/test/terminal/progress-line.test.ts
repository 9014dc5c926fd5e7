/**
 * The line that shows how far a command is.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ProgramHost } from "../../src/program/host.ts";
import { ProgressLine } from "../../src/terminal/progress-line.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open({ isTerminal = true, isQuiet = false } = {}): {
  line: ProgressLine;
  drawn: string[];
} {
  const drawn: string[] = [];
  const errors = {
    isTerminal,
    write: (text: string | Uint8Array) => void drawn.push(String(text)),
  };
  return {
    line: new ProgressLine({ errors } as unknown as ProgramHost, "documents", isQuiet),
    drawn,
  };
}

test("a terminal shows number, rate, part and time left, and nothing stays", () => {
  const { line, drawn } = open();
  vi.advanceTimersByTime(10_000);
  line.update({ done: 12_000, part: 0.1 });
  expect(drawn).toEqual(["\r\u001b[K12,000 documents, 1,200/s, 10 %, 1 min 30 s left"]);
  // Drawn now and then only.
  line.update({ done: 12_001, part: 0.1 });
  expect(drawn).toHaveLength(1);
  vi.advanceTimersByTime(10_000);
  line.update({ done: 20_000 });
  expect(drawn.at(-1)).toBe("\r\u001b[K20,000 documents, 1,000/s");
  line.clear();
  line.clear();
  expect(drawn.slice(2)).toEqual(["\r\u001b[K"]);
});

test.each([{ isTerminal: false }, { isQuiet: true }])("nothing is drawn: %j", (options) => {
  const { line, drawn } = open(options);
  vi.advanceTimersByTime(10_000);
  line.update({ done: 1, part: 0.5 });
  line.clear();
  expect(drawn).toEqual([]);
});
