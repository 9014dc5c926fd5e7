/**
 * Catch-up: reads from the change log what streams lack, in pieces, if they lack too much to join a
 * round (S12, S15, S22). One read of the log serves many streams.
 */

import type { Steps } from "../../query/frame/steps.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import { type Matched, matchWindow, type StreamChanges } from "../change/matching.ts";
import { gatherSlice, gatherWindow } from "../log/change-window.ts";
import type { Stream, StreamGroup } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";

export interface CatchUpChanges {
  readonly txn: number;
  readonly streams: readonly StreamChanges[];
  /** Streams that the change log cannot serve: they compare, and links fill again. */
  readonly lost: readonly Stream[];
  readonly failed: ReadonlyMap<StreamGroup, unknown>;
  readonly exhausted: ReadonlySet<Stream>;
}

export function* readCatchUp(
  snapshot: StoreSnapshot,
  streams: readonly Stream[],
  context: StreamContext,
): Steps<CatchUpChanges> {
  const txn = snapshot.txnId;
  const collections = new Set<string>();
  let oldest = txn;
  for (const stream of streams) {
    collections.add(stream.group.collection);
    oldest = Math.min(oldest, stream.oldestSent);
  }
  const isWanted = (name: string): boolean => collections.has(name);
  const window = yield* gatherWindow(snapshot, oldest, isWanted, context.limits);
  const isServed = (stream: Stream): boolean => stream.oldestSent >= window.start;
  const served = streams.filter(isServed);
  const matching = { snapshot, window, since: undefined, streams: served };
  const matched = yield* matchWindow(matching, context);
  const changes = [...matched.streams];
  const lost: Stream[] = [];
  const failed = new Map(matched.failed);
  const exhausted = new Set(matched.exhausted);
  for (const stream of streams) {
    if (isServed(stream)) continue;
    const slice = yield* readSlice(snapshot, stream, context);
    if (slice === undefined) {
      lost.push(stream);
      continue;
    }
    changes.push(...slice.streams);
    for (const [group, error] of slice.failed) failed.set(group, error);
    for (const each of slice.exhausted) exhausted.add(each);
  }
  return { txn, streams: changes, lost, failed, exhausted };
}

/** A link may lack `gatheredChanges` times this many transactions; beyond it, it fills. */
const SLICED_TRANSACTIONS = 10;

/**
 * Reads the log for one link, a range of ids at a time, because a link cannot compare (S50).
 * Returns undefined for other streams, or if the log does not reach back or is too long.
 */
function* readSlice(
  snapshot: StoreSnapshot,
  stream: Stream,
  context: StreamContext,
): Steps<Matched | undefined> {
  const { group, sweep: after } = stream;
  const { head } = snapshot;
  const since = stream.oldestSent;
  const countMax = context.limits.gatheredChanges * SLICED_TRANSACTIONS;
  if (group.follower === undefined || since < head.floor) return undefined;
  if (head.txnId - since > countMax) return undefined;
  const { collection } = group;
  const slice = yield* gatherSlice(snapshot, { collection, since, after }, context.limits);
  const window = { start: since, documents: slice.documents };
  const matched = yield* matchWindow(
    { snapshot, window, since: undefined, streams: [stream] },
    context,
  );
  for (const each of matched.streams) each.cut ??= slice.through;
  return matched;
}
