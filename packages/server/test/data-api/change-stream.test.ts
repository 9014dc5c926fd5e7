/** One change stream: whose permissions its lines are by, and when a long poll ends. */

import { ChangeFeed, type ChangeReader } from "@bigpeer/engine/changes";
import { Authority, readPermissions } from "@bigpeer/engine/query";
import type { ValueObject } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../engine/test/support/open-store.ts";
import { LINES } from "../../src/data-api/change-format.ts";
import {
  type CallerNow,
  ChangeStream,
  type ChangeStreamOptions,
  type FindCaller,
} from "../../src/data-api/change-stream.ts";
import type { LiveSink } from "../../src/http/answer.ts";

/** Calls after which a stream that never comes to an end is ended. */
const CALLS_MAX = 50;

/** The permissions of a caller, as a token brings them each time that it is verified. */
function narrow(query: string): Authority {
  const permissions = readPermissions({
    read: { everything: false, queriesByCollection: { cars: [query] } },
  });
  return new Authority(permissions, "caller");
}

class Taken implements LiveSink {
  text = "";
  isOver = false;
  readonly #listeners = new Set<() => void>();

  async write(bytes: Buffer): Promise<void> {
    this.text += bytes.toString();
  }

  onOver(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  leave(): void {
    this.isOver = true;
    for (const listener of this.#listeners) listener();
  }

  get lines(): readonly ValueObject[] {
    const texts = this.text.split("\n").slice(0, -1);
    return texts.map((line) => JSON.parse(line) as ValueObject);
  }
}

function streamOf(
  options: Pick<ChangeStreamOptions, "reader"> & Partial<ChangeStreamOptions>,
): ChangeStream {
  return new ChangeStream({
    authority: undefined,
    format: LINES,
    waitMs: undefined,
    findCaller: () => ({ authority: undefined }),
    onLines: () => {},
    onFault: () => {},
    ...options,
  });
}

async function openFeed() {
  const { store, platform } = await openStore();
  const feed = new ChangeFeed({ store, platform, appId: "test" });
  const insert = async (id: string, fields: ValueObject): Promise<void> => {
    await store.transact((transaction) => {
      transaction.apply([{ kind: "insert", collection: "cars", id, fields }]);
    });
  };
  return { feed, insert };
}

/** A caller that is created anew for each question, as many times as a stream may need. */
function renewed(make: () => CallerNow): FindCaller {
  let calls = 0;
  return () => (++calls > CALLS_MAX ? undefined : make());
}

test("[C23] equal permissions of a token that is verified anew do not take lines back", async () => {
  const { feed, insert } = await openFeed();
  const reader = feed.open({ collection: "cars", authority: narrow("n > 1") });
  const sink = new Taken();
  const findCaller = renewed(() => ({ authority: narrow("n > 1") }));
  const run = streamOf({ reader, authority: narrow("n > 1"), findCaller }).run(sink);
  onTestFinished(() => sink.leave());
  await insert("a", { n: 1 });
  await insert("b", { n: 2 });
  await expect
    .poll(() => sink.lines.map(({ id, marker }) => id ?? marker))
    .toEqual(["ready", "b", "transaction"]);
  sink.leave();
  await run;
});

test("[C20] a long poll whose time ends during a search waits no more", async () => {
  let wakeUp = (): void => {};
  let isOfSearch = true;
  const reader: ChangeReader = {
    cursor: "c1",
    isInitial: false,
    next: async ({ mayWait = true } = {}) => {
      const isCurrent = !isOfSearch;
      if (isOfSearch || mayWait) await new Promise<void>((resolve) => (wakeUp = resolve));
      // The wake ended the search before the end of the log.
      isOfSearch = false;
      return { lines: [], cursor: "c1", isCurrent };
    },
    lag: () => ({ transactions: 0, ms: 0 }),
    hasPermissionsOf: () => true,
    setAuthority: () => {},
    undo: () => {},
    wake: () => wakeUp(),
    close: () => {},
  };
  const sink = new Taken();
  await streamOf({ reader, waitMs: 1 }).run(sink);
  expect(sink.lines).toEqual([{ marker: "ready", cursor: "c1" }]);
});
