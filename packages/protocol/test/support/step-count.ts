/**
 * Step counter: how many steps a piece of work takes, counted by the host and not by a clock.
 *
 * A step is one run of a block of code (V8's precise block coverage), so a loop counts as often as it
 * turns, wherever it is, and no source needs a hook. What the host itself does in a loop (search a
 * text, copy bytes, read JSON) has no blocks: those calls are counted by the length that they work on.
 * Backtracking inside of a regular expression is not seen; its way through the text is.
 *
 * Blocks are counted in functions that are compiled after the counter was switched on, which is when
 * this file is imported. A function is compiled when it is first called, so in a test all are.
 */
import { Session } from "node:inspector";

/** Bytes, or references of a list, that the host copies in about the time of one step. */
const COPIED_PER_STEP = 16;

const session = new Session();
session.connect();
post("Profiler.enable");
post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

/** Test code, and what runs it, takes no steps; a planted fault is not test code. */
const UNCOUNTED = /\/test\/(?!.*planted)|\/node_modules\/(vitest|@vitest|vite|tinyspy|chai)\//;

function post(method: string, parameters: object = {}): unknown {
  let answer: unknown;
  session.post(method, parameters, (error, result) => {
    if (error !== null) throw new Error(`failed to count steps: ${error.message}`);
    answer = result;
  });
  return answer;
}

/** Steps in blocks of code since the last call. */
function takeBlocks(): number {
  const { result } = post("Profiler.takePreciseCoverage") as Coverage;
  let steps = 0;
  for (const { url, functions } of result) {
    if (UNCOUNTED.test(url)) continue;
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  }
  return steps;
}

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** What a call of the host costs: of what it was called on, with what, and what came back. */
type Cost = (self: unknown, args: readonly unknown[], result: unknown) => number;

let hostSteps = 0;

function lengthOf(of: unknown): number {
  if (typeof of === "string") return of.length;
  if (typeof of !== "object" || of === null) return 0;
  const { length, byteLength } = of as { length?: unknown; byteLength?: unknown };
  if (typeof length === "number") return length;
  return typeof byteLength === "number" ? byteLength : 0;
}

const ofSelf: Cost = (self) => lengthOf(self);
const ofResult: Cost = (_, __, result) => lengthOf(result);
const ofArgument: Cost = (_, [first]) => lengthOf(first);
const copied =
  (cost: Cost): Cost =>
  (self, args, result) =>
    cost(self, args, result) / COPIED_PER_STEP;

/** A search goes from where it begins to what it finds. */
const searched: Cost = (self, [, from], found) => {
  const start = typeof from === "number" ? from : 0;
  return typeof found === "number" && found >= 0 ? found - start + 1 : lengthOf(self) - start;
};

/** Digits of a large integer, of which every one meets every other. */
const digits: Cost = (self, [first], result) => {
  const text = [first, result, self].find((one) => typeof one === "string");
  return (lengthOf(text) / COPIED_PER_STEP) ** 2;
};

const HOST_CALLS: readonly (readonly [object, readonly string[], Cost])[] = [
  [String.prototype, ["indexOf", "lastIndexOf"], searched],
  [String.prototype, ["includes", "toLowerCase", "toUpperCase", "normalize", "trim"], ofSelf],
  [String.prototype, ["trimStart", "trimEnd", "isWellFormed", "localeCompare"], ofSelf],
  [String.prototype, ["split", "replace", "replaceAll"], ofSelf],
  [String.prototype, ["repeat", "padStart", "padEnd"], copied(ofResult)],
  [String.prototype, ["startsWith", "endsWith"], ofArgument],
  [Array.prototype, ["indexOf", "lastIndexOf", "findLast"], searched],
  [Array.prototype, ["includes", "reverse", "fill"], ofSelf],
  [Array.prototype, ["shift", "unshift", "splice"], copied(ofSelf)],
  [Array.prototype, ["slice", "concat", "flat"], copied(ofResult)],
  [Array.prototype, ["join"], copied(ofResult)],
  [Array.prototype, ["sort"], ofSelf],
  [Uint8Array.prototype, ["slice"], copied(ofResult)],
  [Uint8Array.prototype, ["set"], copied(ofArgument)],
  [Uint8Array.prototype, ["fill", "indexOf", "includes"], ofSelf],
  [Buffer.prototype, ["toString"], copied(ofResult)],
  [Buffer.prototype, ["equals", "compare"], copied(ofSelf)],
  [Buffer.prototype, ["indexOf", "includes"], searched],
  [Buffer, ["concat", "from"], copied(ofResult)],
  [TextDecoder.prototype, ["decode"], copied(ofArgument)],
  [TextEncoder.prototype, ["encode"], copied(ofResult)],
  [JSON, ["parse"], ofArgument],
  [JSON, ["stringify"], ofResult],
  [Object, ["keys", "values", "entries"], ofResult],
  [BigInt.prototype, ["toString"], digits],
];

/** Counts the calls of the host until what it returns is called. */
function countHost(): () => void {
  hostSteps = 0;
  const undo = [replace(RegExp.prototype, "exec", countedPattern), countIntegers()];
  for (const [owner, names, cost] of HOST_CALLS) {
    for (const name of names) undo.push(replace(owner, name, (call) => counted(call, cost)));
  }
  return () => {
    for (const one of undo) one();
  };
}

function replace(owner: object, name: string, wrap: (call: Call) => Call): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  if (descriptor === undefined) return () => {};
  Object.defineProperty(owner, name, { ...descriptor, value: wrap(descriptor.value as Call) });
  return () => Object.defineProperty(owner, name, descriptor);
}

function counted(call: Call, cost: Cost): Call {
  return function countedCall(this: unknown, ...args: unknown[]): unknown {
    const result = Reflect.apply(call, this, args);
    hostSteps += cost(this, args, result);
    return result;
  };
}

/** All methods of patterns go through this one: from where it starts to the end of what it finds. */
function countedPattern(call: Call): Call {
  return function countedExec(this: unknown, text: unknown): unknown {
    const { global, sticky, lastIndex } = this as RegExp;
    const from = global || sticky ? lastIndex : 0;
    const match = Reflect.apply(call, this, [text]) as RegExpExecArray | null;
    if (match !== null) hostSteps += match.index + match[0].length - from;
    else hostSteps += sticky ? 1 : lengthOf(text) - from;
    return match;
  };
}

/** Text of many digits as an integer. */
function countIntegers(): () => void {
  const original = globalThis.BigInt;
  globalThis.BigInt = new Proxy(original, {
    apply: (target, self, args: [string]) => {
      hostSteps += digits(self, args, undefined);
      return Reflect.apply(target, self, args);
    },
  });
  return () => {
    globalThis.BigInt = original;
  };
}

/** The steps of `work`, up to its end when it is a promise. One at a time. */
export async function countSteps(work: () => unknown): Promise<number> {
  const stop = countHost();
  takeBlocks();
  try {
    const result = work();
    if (result instanceof Promise) await result;
    return takeBlocks() + hostSteps;
  } finally {
    stop();
  }
}

/** The steps of `work` between calls of `cut`, and those from the last call to the end. */
export function countPieces(work: (cut: () => void) => unknown): number[] {
  const stop = countHost();
  const steps: number[] = [];
  const cut = (): void => {
    steps.push(takeBlocks() + hostSteps);
    hostSteps = 0;
  };
  takeBlocks();
  try {
    work(cut);
    cut();
    return steps;
  } finally {
    stop();
  }
}

/** The steps of each turn of `turns`, the last one included. What it throws ends it, and is a turn. */
export function countTurns(turns: Iterator<unknown, unknown>): number[] {
  const stop = countHost();
  const steps: number[] = [];
  takeBlocks();
  try {
    for (let isDone = false; !isDone; ) {
      hostSteps = 0;
      try {
        isDone = turns.next().done === true;
      } catch {
        isDone = true;
      }
      steps.push(takeBlocks() + hostSteps);
    }
    return steps;
  } finally {
    stop();
  }
}
