/**
 * Turns: one slice after the other, and a pause between any two.
 */
import { expect, test } from "vitest";
import { Budget } from "../../../src/query/frame/budget.ts";
import type { Steps } from "../../../src/query/frame/steps.ts";
import { NOTHING_HELD, TimeSlicer } from "../../../src/query/run/time-slicer.ts";
import { waitFor } from "../../../src/steps.ts";

test("waiting tasks run one after the other in the order of arrival, each after a pause", async () => {
  const events: string[] = [];
  const pause = async (): Promise<void> => {
    await Promise.resolve();
    events.push("pause");
  };
  const turns = new TimeSlicer(pause, () => 0);
  const read = async (name: string, slices: number): Promise<void> => {
    for (let i = 1; i <= slices; i++) {
      await turns.wait();
      events.push(`${name}${i}`);
    }
  };
  await Promise.all([read("a", 2), read("b", 2), read("c", 1)]);
  expect(events).toEqual([
    "pause",
    "a1",
    "pause",
    "b1",
    "pause",
    "c1",
    "pause",
    "a2",
    "pause",
    "b2",
  ]);
  await read("d", 1);
  expect(events.slice(-2)).toEqual(["pause", "d1"]);
});

test("owners alternate: one with many reads gets no more slices than one with a single read", async () => {
  const events: string[] = [];
  const turns = new TimeSlicer(
    () => Promise.resolve(),
    () => 0,
  );
  const read = async (owner: string, name: string, slices: number): Promise<void> => {
    for (let i = 0; i < slices; i++) {
      await turns.wait(owner);
      events.push(name);
    }
  };
  const many = Array.from({ length: 10 }, (_, i) => read("many", `m${i}`, 2));
  await Promise.all([...many, read("one", "o", 4)]);
  expect(events.slice(0, 8)).toEqual(["m0", "o", "m1", "o", "m2", "o", "m3", "o"]);
  expect(events).toHaveLength(24);
});

/** A clock that the work moves on. */
function bench(): {
  readonly clock: { now: number };
  readonly turns: TimeSlicer;
  readonly budget: Budget;
  readonly held: { closed: number; close(): void };
} {
  const clock = { now: 0 };
  const elapsed = (): number => clock.now;
  // Whatever has its turn in a pause takes long.
  const pause = async (): Promise<void> => {
    await Promise.resolve();
    clock.now += 5000;
  };
  const held = {
    closed: 0,
    close: () => {
      held.closed++;
    },
  };
  const budget = new Budget({ elapsed, timeMsMax: 1_000_000, bytesMax: 1000 });
  return { clock, turns: new TimeSlicer(pause, elapsed), budget, held };
}

test("a task that ends within one slice returns at once, and its resource is closed", () => {
  const { clock, turns, budget, held } = bench();
  const steps = function* steps(): Steps<string> {
    for (let i = 0; i < 9; i++) {
      clock.now++;
      yield;
    }
    return "done";
  };
  expect(turns.take(steps(), budget, held)).toBe("done");
  expect(held.closed).toBe(1);
});

test("slices of others do not count against the time of a row", async () => {
  const { clock, turns, budget, held } = bench();
  const steps = function* steps(): Steps<string> {
    for (let row = 0; row < 10; row++) {
      budget.startRow();
      budget.look();
      clock.now += 20;
      yield;
      // Between two rows.
      budget.look();
    }
    return "done";
  };
  const result = turns.take(steps(), budget, held);
  expect(result).toBeInstanceOf(Promise);
  expect(held.closed).toBe(0);
  expect(await result).toBe("done");
  expect(held.closed).toBe(1);
});

test("a resource is closed once when a step fails, in the first slice or later", async () => {
  for (const failing of [0, 5]) {
    const { clock, turns, budget, held } = bench();
    const steps = function* steps(): Steps<string> {
      for (let i = 0; i < 10; i++) {
        if (i === failing) throw new Error("enough");
        clock.now += 20;
        yield;
      }
      return "done";
    };
    await expect((async () => turns.take(steps(), budget, held))()).rejects.toThrow("enough");
    expect(held.closed).toBe(1);
  }
});

test("all tasks that start between two pauses share one slice; the others wait", async () => {
  const { clock, turns, budget } = bench();
  let begun = 0;
  const steps = function* steps(): Steps<string> {
    begun++;
    for (let i = 0; i < 4; i++) {
      clock.now++;
      yield;
    }
    return "done";
  };
  const results = Array.from({ length: 20 }, () =>
    turns.take(steps(), budget, { close: () => {} }, "owner"),
  );
  expect(results.filter((result) => result === "done").length).toBe(begun);
  expect(begun).toBeLessThanOrEqual(5);
  const all = results.map((result) => Promise.resolve(result));
  expect(await Promise.all(all)).toEqual(Array(20).fill("done"));
});

/** Pauses that end when the test says so, and a clock that work moves on. */
function paused(rowMs = 75): {
  turns: TimeSlicer;
  budget: Budget;
  row: (name: string) => Steps<string>;
  turn: (between?: () => void) => Promise<string[]>;
  doneNow: () => readonly string[];
} {
  let now = 0;
  let waiting: (() => void)[] = [];
  let done: string[] = [];
  const pause = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  const elapsed = (): number => now;
  const row = function* row(name: string): Steps<string> {
    for (let i = 0; i < 3; i++) {
      now += rowMs;
      done.push(name);
      if (i < 2) yield;
    }
    return name;
  };
  /** All pauses of this turn end, and what comes between two of them is done; what was done in it. */
  const turn = async (between?: () => void): Promise<string[]> => {
    const ending = waiting;
    waiting = [];
    for (const end of ending) {
      end();
      for (let i = 0; i < 20; i++) await Promise.resolve();
      between?.();
    }
    const before = done;
    done = [];
    return before;
  };
  const budget = new Budget({ elapsed, timeMsMax: 1_000_000, bytesMax: 1000 });
  return { turns: new TimeSlicer(pause, elapsed), budget, row, turn, doneNow: () => done };
}

test("a long row that starts and one that continues do not run in the same pass", async () => {
  const { turns, budget, row, turn } = paused();
  const held = { close: () => {} };
  const all = ["a", "b", "c"].map((name) => Promise.resolve(turns.take(row(name), budget, held)));
  const doneInTurns: string[][] = [];
  for (let i = 0; i < 40; i++) doneInTurns.push(await turn());
  expect(await Promise.all(all)).toEqual(["a", "b", "c"]);
  expect(doneInTurns.flat()).toHaveLength(9);
  expect(doneInTurns.filter((done) => done.length > 1)).toEqual([]);
});

test("a long row that starts before a pause and one right after it do not run in the same pass", async () => {
  const { turns, budget, row, turn } = paused();
  const held = { close: () => {} };
  const begin = (name: string): Promise<string> =>
    Promise.resolve(turns.take(row(name), budget, held));
  // A pause of the host ends in the same pass of its loop in which the sockets were read.
  const first = begin("a");
  expect(await turn()).toEqual(["a"]);
  const second = begin("b");
  expect(await turn()).toHaveLength(1);
  for (let i = 0; i < 40; i++) await turn();
  expect(await Promise.all([first, second])).toEqual(["a", "b"]);
});

test("a continued task within its slice lets others start in the same pass", async () => {
  const { turns, budget, row, turn, doneNow } = paused(10);
  const held = { close: () => {} };
  const long = Promise.resolve(turns.take(row("long"), budget, held));
  for (let i = 0; i < 4 && !(await turn()).includes("long"); i++);
  for (let i = 0; i < 4 && !(await turn()).includes("long"); i++);
  const other = turns.take(row("other"), budget, held);
  expect(doneNow()).toEqual(["other"]);
  for (let i = 0; i < 20; i++) await turn();
  expect(await Promise.all([long, other])).toEqual(["long", "other"]);
});

test("a long row is counted until a whole pass has ended, whatever was counted before", async () => {
  const { turns, budget, row, turn } = paused();
  const held = { close: () => {} };
  const all: Promise<string>[] = [];
  const begin = (): void => {
    if (all.length < 12) all.push(Promise.resolve(turns.take(row("a"), budget, held)));
  };
  const doneInTurns: string[][] = [];
  begin();
  for (let i = 0; i < 100; i++) doneInTurns.push(await turn(begin));
  expect(await Promise.all(all)).toHaveLength(12);
  expect(doneInTurns.filter((done) => done.length > 1)).toEqual([]);
});

test("a row that failed because it took too long uses up the slice of other new tasks", async () => {
  const { clock, turns, budget, held } = bench();
  let begun = 0;
  // oxlint-disable-next-line require-yield -- it ends before it could
  const endless = function* endless(): Steps<string> {
    begun++;
    clock.now += 75;
    throw new Error("too long");
  };
  expect(() => turns.take(endless(), budget, held)).toThrow("too long");
  const others = Array.from({ length: 3 }, async () => turns.take(endless(), budget, held));
  expect(begun).toBe(1);
  expect((await Promise.allSettled(others)).map(({ status }) => status)).toEqual(
    Array(3).fill("rejected"),
  );
  expect(begun).toBe(4);
});

test("[H5] owners of all stores alternate with each other, one slice between two pauses", async () => {
  const events: string[] = [];
  const pause = async (): Promise<void> => {
    await Promise.resolve();
    events.push("pause");
  };
  const turns = new TimeSlicer(pause, () => 0);
  const read = async (store: string, slices: number): Promise<void> => {
    const ofStore = turns.of(store);
    for (let i = 0; i < slices; i++) {
      await ofStore.wait("key");
      events.push(store);
    }
  };
  // Four reads of one store, and one of another whose owner has the same name.
  await Promise.all([1, 2, 3, 4].map(() => read("a", 1)).concat(read("b", 3)));
  expect(events.filter((event) => event === "pause")).toHaveLength(7);
  expect(events.join(" ")).toMatch(/^(pause [ab] ?)+$/);
  expect(events.filter((event) => event !== "pause").join("")).toBe("abababa");
});

test("work that waits for a promise takes no slices until it is settled", async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => {
    pauses++;
  };
  const turns = new TimeSlicer(pause, () => 0);
  const budget = new Budget({ elapsed: () => 0, timeMsMax: Infinity, bytesMax: Infinity });
  let settle: (value: number) => void = () => {};
  const promise = new Promise<number>((resolve) => {
    settle = resolve;
  });
  let steps = 0;
  function* work(): Steps<number> {
    steps++;
    const first = yield* waitFor(promise);
    steps++;
    yield;
    return first + (yield* waitFor(Promise.resolve(1)));
  }
  const done = turns.take(work(), budget, NOTHING_HELD);
  for (let i = 0; i < 50; i++) await Promise.resolve();
  expect([steps, pauses]).toEqual([1, 0]);
  settle(6);
  expect(await done).toBe(7);
});
