/**
 * Downloads by themselves: what they have read for a stream while that was live for a moment.
 */

import { setImmediate as pause } from "node:timers/promises";
import { decodeServerMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { LiveRuns } from "../../../src/query/live/live-run.ts";
import { MatchIndex } from "../../../src/query/live/match-index.ts";
import { Downloads } from "../../../src/sync/download/downloads.ts";
import { WrittenStamps } from "../../../src/sync/log/written-stamps.ts";
import { Filters } from "../../../src/sync/stream/filter.ts";
import { type Group, Groups } from "../../../src/sync/stream/group.ts";
import { Stream } from "../../../src/sync/stream/stream.ts";
import type { StreamHost } from "../../../src/sync/stream/stream-host.ts";
import { STREAM_LIMITS } from "../../../src/sync/stream/stream-limits.ts";
import {
  StreamingSession,
  type StreamingSessionHost,
} from "../../../src/sync/stream/streaming-session.ts";
import { openStore } from "../../support/open-store.ts";
import { testPlatform } from "../../support/test-platform.ts";

/** A stream that is not live, with a read that ends when `go` is called. */
async function readingStream() {
  const { store } = await openStore();
  const platform = testPlatform(1);
  const host: StreamHost = {
    groups: new Groups(new MatchIndex<Group>(platform, "app")),
    limits: STREAM_LIMITS,
    runs: new LiveRuns({ platform, appId: "app", timeMs: 2000, bytes: 1024, memory: undefined }),
    stamps: new WrittenStamps(store.identity.site),
    made: { encoded: 0 },
    sent: { frames: 0, bytes: 0 },
    elapsed: () => 0,
    checkerOf: () => undefined,
  };
  const waiting: (() => void)[] = [];
  const fail = (_: Stream, error: unknown): void => {
    throw error;
  };
  const downloads = new Downloads(host, {
    newest: () => store.txnId,
    elapsed: () => 0,
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
    join: () => undefined,
    fail,
    wait: () => undefined,
  });
  const streamingHost: StreamingSessionHost = {
    position: () => store.txnId,
    follow: () => "fill",
    end: () => undefined,
    fail,
    place: (stream) => downloads.place(stream),
    goOn: () => undefined,
    closed: () => undefined,
  };
  const answers: unknown[] = [];
  const send = (bytes: Uint8Array): void => {
    const message = decodeServerMessage(bytes);
    if (message.t === "documents") answers.push(message.entries.map(([, id]) => id));
  };
  const port = { send, queuedBytes: 0, authority: undefined, onFailed: () => undefined };
  const session = new StreamingSession(port, streamingHost, host);
  const prepared = new Filters(platform).prepare("SELECT * FROM cars", {}, undefined);
  const stream = new Stream(session, host.groups.of(prepared));
  stream.phase = "behind";
  host.groups.join(stream);
  session.streams.set(stream.key, stream);
  const want = (...ids: string[]): void => session.want(stream.key, ids, false);
  const go = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await pause();
      for (const resolve of waiting.splice(0)) resolve();
    }
  };
  return { stream, groups: host.groups, answers, want, go };
}

test("[S18] what was read before a stream was live for a moment answers nothing that was wanted since", async () => {
  const { stream, groups, answers, want, go } = await readingStream();
  want("1", "2");
  await pause();
  // A round makes it live, the next one answers, and then its session does not read.
  groups.beginLive(stream);
  stream.settle(1, 0);
  stream.answered(2);
  stream.settle(1, 0);
  groups.endLive(stream);
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
