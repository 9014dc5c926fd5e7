/**
 * Round: reads all transactions that became durable since the last round and matches them for all
 * streams, before anything is sent. So a round that fails leaves each stream where it was.
 *
 * Streams that have almost caught up take part. They get what they lack from the same snapshot, and
 * are live from then on. So nothing is lost or sent twice in between.
 */

import type { Steps } from "../../query/frame/steps.ts";
import type { Authority } from "../../query/permission/authority.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import { type Matched, matchWindow } from "../change/matching.ts";
import { type Answers, readWanted } from "../download/comparison.ts";
import { type ChangeWindow, gatherWindow } from "../log/change-window.ts";
import { isTransient } from "../log/transient-error.ts";
import type { ServedSession, Stream } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";
import { readOutcomes, type SizedOutcome } from "./upload-outcome.ts";

export interface RoundInput {
  readonly snapshot: StoreSnapshot;
  /** Position of the live streams. */
  readonly since: number;
  /** Streams that become live with this round. */
  readonly joining: readonly Stream[];
  /** Sessions with outcomes. */
  readonly sessions: readonly ServedSession[];
  /** Live streams with requested documents. */
  readonly requested: readonly Stream[];
}

export interface RoundChanges {
  readonly txn: number;
  readonly since: number;
  readonly matched: Matched;
  /** The window does not reach back to the live streams: all of them are behind. */
  readonly isLost: boolean;
  /** Joining streams that lack more than the window has. */
  readonly late: readonly Stream[];
  readonly results: ReadonlyMap<ServedSession, SessionResults>;
  /** Live streams whose requests could not be evaluated. */
  readonly failed: ReadonlyMap<Stream, unknown>;
}

/** Results that go to one session only. */
export interface SessionResults {
  outcomes: readonly SizedOutcome[];
  /** Permissions of the session when the outcomes were read. */
  readonly authority: Authority | undefined;
  /** Live streams whose frames the outcomes rely on. */
  counted: readonly Stream[];
  readonly answers: { readonly stream: Stream; readonly answers: Answers }[];
}

export function* readRound(input: RoundInput, context: StreamContext): Steps<RoundChanges> {
  const { snapshot, since, joining, sessions, requested } = input;
  const txn = snapshot.txnId;
  const window = yield* windowFor(input, context);
  const hasLive = context.groups.liveCount > 0;
  const isLost = hasLive && since < window.start;
  const isServed = (stream: Stream): boolean => stream.oldestSent >= window.start;
  const streams = joining.filter(isServed);
  const late = joining.filter((stream) => !isServed(stream));
  const isLive = hasLive && !isLost;
  const matching = { snapshot, window, since: isLive ? since : undefined, streams };
  const matched = yield* matchWindow(matching, context);
  const results = new Map<ServedSession, SessionResults>();
  for (const session of sessions) {
    const each = resultsOf(results, session);
    each.counted = [...session.live()].filter(
      ({ group }) => matched.live.has(group) && !matched.tooMuch.has(group),
    );
    each.outcomes = yield* readOutcomes(session, { snapshot, since, matched }, context);
  }
  const failed = new Map<Stream, unknown>();
  for (const stream of requested) {
    try {
      const answers = yield* readWanted(stream, snapshot, context);
      resultsOf(results, stream.session).answers.push({ stream, answers });
    } catch (error) {
      // A condition of one peer that fails must not affect the others.
      if (isTransient(error)) throw error;
      failed.set(stream, error);
    }
  }
  return { txn, since, matched, isLost, late, results, failed };
}

function* windowFor(
  { snapshot, since, joining }: RoundInput,
  { groups, limits }: StreamContext,
): Steps<ChangeWindow> {
  const collections = new Set<string>();
  let oldest = groups.liveCount > 0 ? since : Number.POSITIVE_INFINITY;
  for (const stream of joining) {
    collections.add(stream.group.collection);
    oldest = Math.min(oldest, stream.oldestSent);
  }
  if (oldest >= snapshot.txnId) return { start: 0, documents: [] };
  const isWanted = (name: string): boolean => groups.hasLive(name) || collections.has(name);
  return yield* gatherWindow(snapshot, oldest, isWanted, limits);
}

function resultsOf(
  all: Map<ServedSession, SessionResults>,
  session: ServedSession,
): SessionResults {
  let results = all.get(session);
  if (results === undefined) {
    results = { outcomes: [], authority: session.port.authority, counted: [], answers: [] };
    all.set(session, results);
  }
  return results;
}
