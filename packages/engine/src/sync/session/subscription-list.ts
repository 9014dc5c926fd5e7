/**
 * Subscription list: pure functions that map the subscriptions of a session to streams.
 *
 * Subscriptions with the same effective filter share one stream. The stream starts over with each
 * one that joins, and ends with the last (S69).
 */

import { compareBytes, PeerError, type Subscribe, type Want } from "@bigpeer/protocol";
import { approximateSize } from "../../store/records.ts";
import { filterKeyOf } from "../stream/filter.ts";
import type { SessionAction, SessionEvent } from "./session-event.ts";
import type { OpenSession, Subscription } from "./session-state.ts";

/** Subscriptions of one session that may have the same filter (S68). */
const SHARING_MAX = 16;

export interface ListStep {
  readonly state: OpenSession;
  readonly actions: readonly SessionAction[];
}

/** Why a subscription is over; undefined if the peer ended it. */
interface Reason {
  readonly code: string;
  readonly message: string;
}

export function subscribe(state: OpenSession, message: Subscribe): ListStep {
  const { id, query, args, cursor } = message;
  const { subscriptions: max, subscriptionBytes: bytesMax } = state.config.limits;
  const tooLarge = (what: string): ListStep => {
    const reason = { code: "query.too_large", message: `expected at most ${what}` };
    return { state, actions: [unsubscribed(id, reason)] };
  };
  if (state.subscriptions.size >= max) return tooLarge(`${max} subscriptions`);
  const size = query.length + approximateSize(args);
  let bytes = size;
  for (const other of state.subscriptions.values()) bytes += other.size;
  if (bytes > bytesMax) return tooLarge(`${bytesMax} bytes of queries and arguments`);
  const subscriptions = new Map(state.subscriptions);
  subscriptions.set(id, { query, args, size, stream: undefined });
  const actions: SessionAction[] = [{ kind: "subscribe", id, query, args, cursor }];
  return { state: { ...state, subscriptions }, actions };
}

/** A stream began for a subscription that is new or has another filter than before. */
export function followed(
  state: OpenSession,
  event: Extract<SessionEvent, { kind: "followed" }>,
): ListStep {
  const { id, filter, filterKey, collection, mode } = event;
  const subscription = state.subscriptions.get(id);
  // The subscription ended while the stream began.
  if (subscription === undefined) return { state, actions: unfollow(state, filterKey) };
  const stream = { filter, filterKey, collection, mode };
  const subscriptions = new Map(state.subscriptions);
  subscriptions.set(id, { ...subscription, stream });
  const actions: SessionAction[] = [];
  // All subscriptions of the stream start over with it.
  for (const [each, other] of subscriptions) {
    if (other.stream?.filterKey !== filterKey) continue;
    if (each !== id) subscriptions.set(each, { ...other, stream });
    const message = { t: "subscribed", id: each, filter, collection, mode } as const;
    actions.push({ kind: "send", message });
  }
  const next = { ...state, subscriptions };
  const { stream: left } = subscription;
  return { state: next, actions: [...actions, ...(left ? unfollow(next, left.filterKey) : [])] };
}

/** Ends a subscription. Does nothing if it has already ended. */
export function endFollowing(state: OpenSession, id: number, reason: Reason | undefined): ListStep {
  const subscription = state.subscriptions.get(id);
  if (subscription === undefined) return { state, actions: [] };
  const subscriptions = new Map(state.subscriptions);
  subscriptions.delete(id);
  const next = { ...state, subscriptions };
  const replies = reason === undefined ? [] : [unsubscribed(id, reason)];
  const { stream } = subscription;
  return {
    state: next,
    actions: [...replies, ...(stream ? unfollow(next, stream.filterKey) : [])],
  };
}

/** A stream is over: ends all its subscriptions. */
export function endStream(
  state: OpenSession,
  event: Extract<SessionEvent, { kind: "stream_failed" }>,
): ListStep {
  const subscriptions = new Map(state.subscriptions);
  const actions: SessionAction[] = [];
  for (const [id, { stream }] of state.subscriptions) {
    if (stream?.filterKey !== event.filterKey) continue;
    subscriptions.delete(id);
    actions.push(unsubscribed(id, event));
  }
  return { state: { ...state, subscriptions }, actions };
}

/** A `want` for an ended stream was sent before the end: it still answers a comparison (S70). */
export function wantStream(state: OpenSession, want: Want): ListStep {
  const { filter, ids } = want;
  const isLast = want.isLast === true;
  for (const { stream } of state.subscriptions.values()) {
    if (stream === undefined || compareBytes(stream.filter, filter) !== 0) continue;
    const { filterKey } = stream;
    return { state, actions: [{ kind: "want", filterKey, ids, isLast }] };
  }
  const filterKey = filterKeyOf(filter);
  return { state, actions: isLast ? [{ kind: "want", filterKey, ids: [], isLast }] : [] };
}

/** The permissions changed: computes each filter again (S20). */
export function recheck({ subscriptions }: OpenSession): SessionAction[] {
  return [...subscriptions].flatMap(([id, { query, args, stream }]: [number, Subscription]) => {
    if (stream === undefined) return [];
    const { filter, filterKey } = stream;
    return [{ kind: "recheck", id, query, args, filter, filterKey } as const];
  });
}

/** Ends a stream that no subscription follows. */
function unfollow({ subscriptions }: OpenSession, filterKey: string): SessionAction[] {
  for (const { stream } of subscriptions.values()) {
    if (stream?.filterKey === filterKey) return [];
  }
  return [{ kind: "unfollow", filterKey }];
}

function unsubscribed(id: number, { code, message }: Reason): SessionAction {
  return { kind: "send", message: { t: "unsubscribed", id, code, message } };
}

/** Limits the subscriptions of one stream, which all get `subscribed` when it starts over (S68). */
export function requireFew({ subscriptions }: OpenSession, filterKey: string): void {
  let count = 0;
  for (const { stream } of subscriptions.values()) if (stream?.filterKey === filterKey) count++;
  if (count < SHARING_MAX) return;
  const message = `expected at most ${SHARING_MAX} subscriptions to the same documents`;
  throw new PeerError("query.too_large", message);
}
