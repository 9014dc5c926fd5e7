/**
 * Stands in for vitest inside a page of a real browser, so that the contract suite of KeyValue runs
 * there as it is: collects tests, and has the matchers that the suite uses.
 */

interface Collected {
  readonly title: string;
  readonly body: () => Promise<void> | void;
}

const collected: Collected[] = [];

/** The suite yields to the event loop by Node's function. */
Object.assign(globalThis, {
  setImmediate: (task: () => void) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", () => {
      port1.close();
      task();
    });
    port1.start();
    port2.postMessage(0);
  },
});

export function test(title: string, body: () => Promise<void> | void): void {
  collected.push({ title, body });
}

/** Generated cases have the small size. */
export function inject(): boolean {
  return false;
}

/** Runs the tests one after the other. Returns their number, and a line for each that failed. */
export async function runTests(): Promise<{ count: number; failures: string[] }> {
  const failures: string[] = [];
  for (const { title, body } of collected) {
    try {
      await body();
    } catch (error) {
      const stack = error instanceof Error ? (error.stack ?? "") : "";
      failures.push(`${title}: ${String(error)}\n${stack}`);
    }
  }
  return { count: collected.length, failures };
}

interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toBeUndefined(): void;
  toBeGreaterThan(expected: number): void;
  toBeLessThanOrEqual(expected: number): void;
  toHaveLength(expected: number): void;
  toThrow(part: string): void;
  readonly rejects: {
    toThrow(part: string): Promise<void>;
    toMatchObject(expected: Readonly<Record<string, unknown>>): Promise<void>;
  };
}

export function expect(actual: unknown): Matchers {
  return {
    toBe: (expected) => check(Object.is(actual, expected), actual, expected),
    toEqual: (expected) => check(isEqual(actual, expected), actual, expected),
    toBeUndefined: () => check(actual === undefined, actual, undefined),
    toBeGreaterThan: (expected) => check((actual as number) > expected, actual, expected),
    toBeLessThanOrEqual: (expected) => check((actual as number) <= expected, actual, expected),
    toHaveLength: (expected) => {
      const { length } = actual as { readonly length: number };
      check(length === expected, length, expected);
    },
    toThrow: (part) => checkError(errorOf(actual as () => unknown), part),
    rejects: {
      toThrow: async (part) => checkError(await rejectionOf(actual as Promise<unknown>), part),
      toMatchObject: async (expected) => {
        const error = (await rejectionOf(actual as Promise<unknown>)) as Record<string, unknown>;
        for (const [name, value] of Object.entries(expected)) {
          check(isEqual(error[name], value), error[name], value);
        }
      },
    },
  };
}

expect.hasAssertions = (): void => {};

function check(isMet: boolean, actual: unknown, expected: unknown): void {
  if (!isMet) throw new Error(`expected ${describe(expected)}, found ${describe(actual)}`);
}

function checkError(error: unknown, part: string): void {
  check(String(error).includes(part), String(error), part);
}

function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("expected an error, nothing was thrown");
}

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection, the promise was resolved");
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const names = Object.keys(a);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (names.length !== Object.keys(b).length) return false;
  return names.every(
    (name) => Object.hasOwn(b, name) && isEqual(fieldOf(a, name), fieldOf(b, name)),
  );
}

function fieldOf(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}

function describe(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  try {
    return JSON.stringify(value)?.slice(0, 300) ?? String(value);
  } catch {
    return String(value);
  }
}
