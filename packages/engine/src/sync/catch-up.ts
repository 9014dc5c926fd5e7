/**
 * Catch-up: streams that lack more than a round should carry are told in pieces what they lack, many of
 * them from one reading of the log (S12, S15, S22).
 */

import type { Steps } from "../query/frame/steps.ts";
import type { StoreSnapshot } from "../store/store.ts";
import { gatherWindow } from "./change-window.ts";
import type { Group } from "./group.ts";
import { matchWindow, type StreamNews } from "./matching.ts";
import { oldestOf } from "./round.ts";
import type { Stream } from "./stream.ts";
import type { StreamHost } from "./stream-host.ts";

export interface CatchUpNews {
  readonly txn: number;
  readonly streams: readonly StreamNews[];
  /** Those that the log does not reach back to: they compare. */
  readonly lost: readonly Stream[];
  readonly failed: ReadonlyMap<Group, unknown>;
  readonly exhausted: ReadonlySet<Stream>;
}

export function* readCatchUp(
  snapshot: StoreSnapshot,
  streams: readonly Stream[],
  host: StreamHost,
): Steps<CatchUpNews> {
  const txn = snapshot.txnId;
  const collections = new Set<string>();
  let oldest = txn;
  for (const stream of streams) {
    collections.add(stream.group.collection);
    oldest = Math.min(oldest, oldestOf(stream));
  }
  const isWanted = (name: string): boolean => collections.has(name);
  const window = yield* gatherWindow(snapshot, oldest, isWanted, host.limits);
  const isServed = (stream: Stream): boolean => oldestOf(stream) >= window.floor;
  const served = streams.filter(isServed);
  const lost = streams.filter((stream) => !isServed(stream));
  const matching = { snapshot, window, since: undefined, streams: served };
  const matched = yield* matchWindow(matching, host);
  const { failed, exhausted } = matched;
  return { txn, streams: matched.streams, lost, failed, exhausted };
}
