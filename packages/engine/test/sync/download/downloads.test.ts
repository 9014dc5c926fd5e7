/**
 * Downloads by themselves: what they have read for a stream while that was live for a moment.
 */

import { setImmediate as pause } from "node:timers/promises";
import { decodeServerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { Downloads } from "../../../src/sync/download/downloads.ts";
import { Filters } from "../../../src/sync/stream/filter.ts";
import { Progress } from "../../../src/sync/stream/progress.ts";
import { Stream } from "../../../src/sync/stream/stream.ts";
import { streamContext } from "../../../src/sync/stream/stream-context.ts";
import type { StreamHost } from "../../../src/sync/stream/stream-host.ts";
import { StreamingSession } from "../../../src/sync/stream/streaming-session.ts";
import { openStore } from "../../support/open-store.ts";
import { testPlatform } from "../../support/test-platform.ts";

/** A stream that is not live, with a read that ends when `go` is called. */
async function readingStream() {
  const { store } = await openStore();
  const platform = testPlatform(1);
  const waiting: (() => void)[] = [];
  const host: StreamHost = {
    ...streamContext({ store, platform, appId: "app" }),
    elapsed: () => 0,
    newestTxn: () => store.txnId,
    position: () => store.txnId,
    pause: () => pause(),
    read: async (work) => {
      const snapshot = store.snapshot();
      const steps = work(snapshot);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      snapshot.close();
      await new Promise<void>((resolve) => waiting.push(resolve));
      return step.value;
    },
    run: () => undefined,
    follow: () => "fill",
    place: (stream) => downloads.place(stream),
    advance: (stream) => downloads.place(stream),
    end: () => undefined,
    fail: (_, error) => {
      throw error;
    },
    wait: () => undefined,
    goOn: () => undefined,
    closed: () => undefined,
  };
  const downloads = new Downloads(host);
  const answers: unknown[] = [];
  const send = (bytes: Uint8Array): void => {
    const message = decodeServerMessage(bytes);
    if (message.t === "documents") answers.push(message.entries.map(([, id]) => id));
  };
  const port = { send, queuedBytes: 0, authority: undefined, onFailed: () => undefined };
  const session = new StreamingSession(port, host);
  const prepared = new Filters(platform).prepare("SELECT * FROM cars", {}, undefined);
  const stream = new Stream(session, host.groups.of(prepared), Progress.since(store.txnId));
  host.groups.join(stream);
  session.add(stream);
  const want = (...ids: string[]): void => session.want(stream.key, ids, false);
  const go = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await pause();
      for (const resolve of waiting.splice(0)) resolve();
    }
  };
  return { stream, answers, want, go };
}

test("[S18] what was read before a stream was live for a moment answers nothing that was wanted since", async () => {
  const { stream, answers, want, go } = await readingStream();
  want("1", "2");
  await pause();
  // A round makes it live, the next one answers, and then its session does not read.
  stream.becomeLive(1, 0);
  stream.answered(2);
  stream.settle(1, 0);
  stream.fallBehind(1);
  want("3", "4");
  await go();
  expect(answers).toEqual([["3", "4"]]);
});

test("[S18] what is wanted of a stream that is not live is answered as it was read", async () => {
  const { answers, want, go } = await readingStream();
  want("1", "2");
  await go();
  want("3");
  await go();
  expect(answers).toEqual([["1", "2"], ["3"]]);
});
