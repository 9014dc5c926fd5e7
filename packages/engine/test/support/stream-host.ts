/**
 * Stream hosts for tests of one part: whatever a test does not provide does nothing, and a stream
 * that fails throws.
 */

import { setImmediate as pause } from "node:timers/promises";
import { finish } from "../../src/query/frame/steps.ts";
import type { Store } from "../../src/store/store.ts";
import { streamContext } from "../../src/sync/stream/stream-context.ts";
import type { StreamHost } from "../../src/sync/stream/stream-host.ts";
import { testPlatform } from "./test-platform.ts";

export function streamHost(store: Store, provided: Partial<StreamHost> = {}): StreamHost {
  return {
    ...streamContext({ store, platform: testPlatform(1), appId: "app" }),
    elapsed: () => 0,
    newestTxn: () => store.txnId,
    position: () => store.txnId,
    pause: () => pause(),
    read: (work) => Promise.resolve(store.read((snapshot) => finish(work(snapshot)))),
    run: (work) => finish(work),
    follow: () => "fill",
    place: () => undefined,
    advance: () => undefined,
    end: () => undefined,
    fail: (_, error) => {
      throw error;
    },
    wait: () => undefined,
    goOn: () => undefined,
    closed: () => undefined,
    ...provided,
  };
}

/** A session that reads at once, and ignores what it is sent unless `send` is given. */
export function readingPort(send: (bytes: Uint8Array) => void = () => undefined) {
  return { send, queuedBytes: 0, authority: undefined, onFailed: () => undefined };
}
