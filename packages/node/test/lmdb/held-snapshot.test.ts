import type { Key, KeyEntry, KeyRange, Snapshot } from "@bigpeer/engine";
import { type Value } from "@bigpeer/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { SnapshotHolder, type View } from "../../src/lmdb/held-snapshot.ts";

const RANGE: KeyRange = { from: "a", to: "z" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A view that counts what is open on it. */
class CountedView implements View {
  readonly state = this;
  openCount = 0;
  releaseCount = 0;

  get(key: Key): Value | undefined {
    if (key === "damaged") throw new Error("cannot decode");
    return key;
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    yield;
    return this.get(key);
  }

  has(): boolean {
    return true;
  }

  keys(): Iterator<Key> {
    this.openCount++;
    const keys = ["a", "b", "damaged"];
    return {
      next: () => {
        const value = keys.shift();
        if (value === "damaged") throw new Error("cannot decode");
        return value === undefined ? { done: true, value } : { value };
      },
      return: () => {
        this.openCount--;
        return { done: true, value: undefined };
      },
    };
  }

  entries(): Iterator<KeyEntry> {
    return [{ key: "a", value: 1 }][Symbol.iterator]();
  }

  release(): void {
    // A cursor that is open when its transaction ends would end the process.
    if (this.openCount > 0) throw new Error("released while an iterator is open");
    this.releaseCount++;
  }
}

function readsOf(snapshot: Snapshot): string[] {
  return [
    codeOf(() => snapshot.get("a")),
    codeOf(() => snapshot.has("a")),
    codeOf(() => snapshot.keys(RANGE)),
    codeOf(() => snapshot.entries(RANGE)),
  ];
}

test("a snapshot reads its view until it is closed, and releases it once", () => {
  const view = new CountedView();
  const snapshot = new SnapshotHolder(1000).hold(view);
  expect(snapshot.get("a")).toBe("a");
  expect([...snapshot.entries(RANGE)]).toEqual([{ key: "a", value: 1 }]);
  snapshot.close();
  snapshot.close();
  expect(view.releaseCount).toBe(1);
  expect(readsOf(snapshot)).toEqual(Array(4).fill("store.closed"));
});

test("iterators are returned with their snapshot, after a break and after an error", () => {
  const view = new CountedView();
  const snapshot = new SnapshotHolder(1000).hold(view);
  for (const key of snapshot.keys(RANGE)) if (key === "a") break;
  expect(view.openCount).toBe(0);
  expect(codeOf(() => [...snapshot.keys(RANGE)])).toBe("store.corrupt");
  expect(view.openCount).toBe(0);
  const halfWay = snapshot.keys(RANGE)[Symbol.iterator]();
  expect(halfWay.next().value).toBe("a");
  expect(view.openCount).toBe(1);
  snapshot.close();
  expect(view.openCount).toBe(0);
  expect(codeOf(() => halfWay.next())).toBe("store.closed");
});

test("a view that cannot be read is reported as damage", () => {
  const snapshot = new SnapshotHolder(1000).hold(new CountedView());
  expect(codeOf(() => snapshot.get("damaged"))).toBe("store.corrupt");
});

test("each snapshot expires at its own age", () => {
  const holder = new SnapshotHolder(1000);
  const views = Array.from({ length: 4 }, () => new CountedView());
  const [first, second] = views.map((view) => {
    const snapshot = holder.hold(view);
    vi.advanceTimersByTime(300);
    return snapshot;
  });
  second?.close();
  expect(views.map((view) => view.releaseCount)).toEqual([1, 1, 0, 0]);
  expect(codeOf(() => first?.get("a"))).toBe("store.snapshot_expired");
  expect(codeOf(() => second?.get("a"))).toBe("store.closed");
  vi.advanceTimersByTime(399);
  expect(views.map((view) => view.releaseCount)).toEqual([1, 1, 0, 0]);
  vi.advanceTimersByTime(1);
  expect(views.map((view) => view.releaseCount)).toEqual([1, 1, 1, 0]);
  vi.advanceTimersByTime(300);
  expect(views.map((view) => view.releaseCount)).toEqual([1, 1, 1, 1]);
  // Nothing is held, so nothing waits.
  expect(vi.getTimerCount()).toBe(0);
});

test("a snapshot that is renewed lives on, and ends when it is not renewed any more", () => {
  const holder = new SnapshotHolder(1000);
  const views = [new CountedView(), new CountedView()];
  const [renewed] = views.map((view) => holder.hold(view));
  for (let i = 0; i < 10; i++) {
    vi.advanceTimersByTime(700);
    renewed?.renew?.();
  }
  expect(views.map((view) => view.releaseCount)).toEqual([0, 1]);
  // It is the oldest all the same.
  const later = holder.hold(new CountedView());
  expect(holder.endOldest(() => true)).toBe(true);
  expect(codeOf(() => renewed?.get("a"))).toBe("store.snapshot_expired");
  expect(later.has("a")).toBeDefined();
  later.renew?.();
  vi.advanceTimersByTime(1000);
  expect(codeOf(() => later.get("a"))).toBe("store.snapshot_expired");
});

test("an iterator of an expired snapshot fails with the reason", () => {
  const snapshot = new SnapshotHolder(1000).hold(new CountedView());
  const walk = snapshot.keys(RANGE)[Symbol.iterator]();
  walk.next();
  vi.advanceTimersByTime(1000);
  expect(codeOf(() => walk.next())).toBe("store.snapshot_expired");
});

test("all snapshots end with their storage, with its reason", () => {
  const holder = new SnapshotHolder(1000);
  const views = [new CountedView(), new CountedView()];
  const snapshots = views.map((view) => holder.hold(view));
  holder.endAll("store.closed");
  expect(views.map((view) => view.releaseCount)).toEqual([1, 1]);
  for (const snapshot of snapshots) expect(codeOf(() => snapshot.get("a"))).toBe("store.closed");
  expect(vi.getTimerCount()).toBe(0);
  const later = holder.hold(new CountedView());
  vi.advanceTimersByTime(1000);
  expect(codeOf(() => later.get("a"))).toBe("store.snapshot_expired");
});
