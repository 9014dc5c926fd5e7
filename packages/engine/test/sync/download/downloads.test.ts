/**
 * Downloads by themselves: what they have read for a stream while that was live for a moment.
 */

import { setImmediate as pause } from "node:timers/promises";
import { decodeServerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { finish } from "../../../src/query/frame/steps.ts";
import { Downloads } from "../../../src/sync/download/downloads.ts";
import { Filters } from "../../../src/sync/stream/filter.ts";
import { Progress } from "../../../src/sync/stream/progress.ts";
import { Stream } from "../../../src/sync/stream/stream.ts";
import { StreamingSession } from "../../../src/sync/stream/streaming-session.ts";
import { openStore } from "../../support/open-store.ts";
import { readingPort, streamHost } from "../../support/stream-host.ts";
import { testPlatform } from "../../support/test-platform.ts";

/** A stream that is not live, with a read that ends when `go` is called. */
async function readingStream() {
  const { store } = await openStore();
  const waiting: (() => void)[] = [];
  const place = (stream: Stream): void => downloads.place(stream);
  const host = streamHost(store, {
    read: async (work) => {
      const read = store.read((snapshot) => finish(work(snapshot)));
      await new Promise<void>((resolve) => waiting.push(resolve));
      return read;
    },
    place,
    advance: place,
  });
  const downloads = new Downloads(host);
  const answers: unknown[] = [];
  const send = (bytes: Uint8Array): void => {
    const message = decodeServerMessage(bytes);
    if (message.t === "documents") answers.push(message.entries.map(([, id]) => id));
  };
  const session = new StreamingSession(readingPort(send), host);
  const prepared = new Filters(testPlatform(1)).prepare("SELECT * FROM cars", {}, undefined);
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
  return { stream, answers, place, want, go };
}

test("[S18] documents read before a stream was briefly live do not answer later wants", async () => {
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

test("[S18] wants of a stream that is not live are answered as they were read", async () => {
  const { answers, want, go } = await readingStream();
  want("1", "2");
  await go();
  want("3");
  await go();
  expect(answers).toEqual([["1", "2"], ["3"]]);
});

test("[S18] what is wanted of a stream that becomes live is left to the rounds", async () => {
  const { stream, answers, place, want, go } = await readingStream();
  want("1", "2");
  stream.becomeLive(1, 0);
  place(stream);
  await go();
  expect([answers, stream.phase, stream.hasWants]).toEqual([[], "live", true]);
});
