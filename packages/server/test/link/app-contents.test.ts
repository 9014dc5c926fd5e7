/**
 * Where contents are looked for: one link after the other, bounded, and never in circles.
 */

import type { FetchOutcome } from "@bigpeer/engine/link";
import { createStore } from "@bigpeer/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { CONTENT_SEARCHES_MAX } from "../../src/limits/limits.ts";
import { AppContents, type ContentLink } from "../../src/link/app-contents.ts";

/** A link that answers as it is told. */
class SpokenLink implements ContentLink {
  isLinked = true;
  isPulling = true;
  isEager = false;
  fetchingNow: string | undefined;
  readonly asked: string[] = [];
  readonly referred: string[] = [];
  answer: (id: string) => FetchOutcome | Promise<FetchOutcome> = () => "missing";

  isFetching(id: string): boolean {
    return this.fetchingNow === id;
  }

  async fetch(id: string): Promise<FetchOutcome> {
    this.asked.push(id);
    return this.answer(id);
  }

  refer(ids: readonly string[]): void {
    this.referred.push(...ids);
  }
}

async function openContents(...links: SpokenLink[]) {
  const stored = await createStore(temporaryFolder(), testHost());
  onTestFinished(() => stored.close());
  const { store } = stored;
  const kept = new Set<string>();
  const source = { links, isSomebodyAway: false };
  const clock = { ms: 0 };
  const app = { store, attachments: { has: (id: string) => kept.has(id) } };
  const host = {
    elapsed: () => clock.ms,
    fault: (error: unknown) => {
      throw error;
    },
  };
  const contents = new AppContents(app, source, host);
  const refer = (from: number, to: number): Promise<unknown> =>
    store.transact((transaction) => {
      for (let i = from; i < to; i++) {
        const fields = { photo: { id: `content-${i}`, len: 1, metadata: {} } };
        const types = { photo: "attachment" } as const;
        transaction.apply([{ kind: "insert", collection: "cars", id: `${i}`, fields, types }]);
      }
    });
  return { contents, kept, source, clock, stored, store, refer };
}

test("[M36] links are asked one after the other until one has the content, those that pull nothing never", async () => {
  const [none, has, idle, last] = Array.from({ length: 4 }, () => new SpokenLink());
  if (!none || !has || !idle || !last) throw new Error("expected four links");
  idle.isPulling = false;
  const { contents, kept } = await openContents(idle, none, has, last);
  has.answer = (id) => {
    kept.add(id);
    return "kept";
  };
  expect(await Promise.all([contents.find("a"), contents.find("a")])).toEqual(["kept", "kept"]);
  expect([none, has, idle, last].map(({ asked }) => asked)).toEqual([["a"], ["a"], [], []]);
  // One that brings it already is waited for first.
  last.fetchingNow = "b";
  last.answer = has.answer;
  expect(await contents.find("b")).toBe("kept");
  expect([none.asked, last.asked]).toEqual([["a"], ["b"]]);
});

test("[M36] content is missing if all links say so, and retried later if one is away, ends, or is slow", async () => {
  const link = new SpokenLink();
  const { contents, source } = await openContents(link);
  expect(await contents.find("a")).toBe("missing");
  link.answer = () => "refused";
  expect(await contents.find("a")).toBe("missing");
  link.answer = () => "over";
  expect(await contents.find("a")).toBe("later");
  link.answer = () => "missing";
  source.isSomebodyAway = true;
  expect(await contents.find("a")).toBe("later");
  link.answer = () => new Promise(() => {});
  expect(await contents.find("b", 1)).toBe("later");
});

test("[M36] the number of searches that callers wait for is limited", async () => {
  const link = new SpokenLink();
  const { contents } = await openContents(link);
  let finish: (outcome: FetchOutcome) => void = () => {};
  const answered = new Promise<FetchOutcome>((resolve) => {
    finish = resolve;
  });
  link.answer = () => answered;
  const searches = Array.from({ length: CONTENT_SEARCHES_MAX }, (_, i) => contents.find(`${i}`));
  expect(await contents.find("one more")).toBe("later");
  finish("missing");
  expect(new Set(await Promise.all(searches))).toEqual(new Set(["missing"]));
  expect(await contents.find("one more")).toBe("missing");
});

test("[S89] on behalf of a link the other links are asked, at most once for a while and once at a time", async () => {
  const [asking, other] = [new SpokenLink(), new SpokenLink()];
  const { contents, clock } = await openContents(asking, other);
  await contents.relay("a", asking);
  await contents.relay("a", asking);
  expect([asking.asked, other.asked]).toEqual([[], ["a"]]);
  clock.ms += 10_001;
  await contents.relay("a", asking);
  expect(other.asked).toEqual(["a", "a"]);
  other.fetchingNow = "b";
  await contents.relay("b", asking);
  expect(other.asked).toEqual(["a", "a"]);
  other.answer = () => new Promise(() => {});
  void contents.find("c");
  await vi.waitFor(() => expect(other.asked.length).toBe(3));
  await contents.relay("c", asking);
  expect([asking.asked, other.asked]).toEqual([["c"], ["a", "a", "c"]]);
});

test("[M36] all missing contents are counted and passed to eager links, repeatedly", async () => {
  const [eager, lazy] = [new SpokenLink(), new SpokenLink()];
  const { contents, clock, store, refer } = await openContents(eager, lazy);
  await refer(0, 1_500);
  await store.transact((transaction) => {
    transaction.apply([{ kind: "attach", id: "content-7", len: 1, by: "ann" }]);
  });
  contents.tick();
  expect(contents.lastCount).toBeUndefined();
  expect(await contents.count()).toBe(1_499);
  expect(eager.referred).toEqual([]);
  eager.isEager = true;
  contents.hurry();
  contents.tick();
  await vi.waitFor(() => expect(new Set(eager.referred).size).toBe(1_499));
  await contents.count();
  contents.tick();
  await refer(1_500, 1_501);
  // Looks that found the same have made the pause longer: this is the longest.
  clock.ms += 600_000;
  await vi.waitFor(() => {
    contents.tick();
    expect(new Set(eager.referred).size).toBe(1_500);
  });
  expect(lazy.referred).toEqual([]);
  expect(await contents.count()).toBe(1_500);
});

test("[M36] a closed app has nothing to count", async () => {
  const { contents, stored } = await openContents(new SpokenLink());
  await stored.close();
  expect(await contents.count()).toBeUndefined();
});

test("[M36] while no missing content arrives, the search becomes less and less frequent", async () => {
  const eager = new SpokenLink();
  eager.isEager = true;
  const { contents, clock, refer } = await openContents(eager);
  await refer(0, 1);
  const looks: number[] = [];
  for (; clock.ms < 100_000; clock.ms += 1_000) {
    const before = eager.referred.length;
    contents.tick();
    if (eager.referred.length > before) looks.push(clock.ms / 1_000);
    // One that is under way ends in its turn.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  expect(looks).toEqual([0, 5, 15, 35, 75]);
  await refer(1, 2);
  contents.hurry();
  contents.tick();
  expect(eager.referred.length).toBe(looks.length + 2);
});
