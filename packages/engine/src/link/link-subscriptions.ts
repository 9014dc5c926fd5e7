/**
 * Link subscriptions: pure functions that keep the subscriptions of a link in both directions,
 * those of the own replication (S50, S56) and those of the other side.
 */

import {
  compareBytes,
  type Subscribe,
  type Subscribed,
  type Unsubscribed,
  type Want,
} from "@bigpeer/protocol";
import type {
  Follow,
  LinkAction,
  LinkedState,
  LinkMoment,
  LinkSessionEvent,
  Served,
  WantedQuery,
} from "./link-state.ts";

type EventOf<K extends LinkSessionEvent["kind"]> = Extract<LinkSessionEvent, { kind: K }>;

export interface SubscriptionStep {
  readonly state: LinkedState;
  readonly actions: readonly LinkAction[];
}

/** Why a subscription is over; undefined if its owner ended it. */
interface Reason {
  readonly code: string;
  readonly message: string;
}

// Queries that this side follows.

function keyOf({ collection, condition }: WantedQuery): string {
  return JSON.stringify([collection, condition]);
}

/** Follows added queries and ends removed ones. Their documents stay (S56). */
export function configure(state: LinkedState, wanted: readonly WantedQuery[]): SubscriptionStep {
  const missing = new Map(wanted.map((query) => [keyOf(query), query]));
  const follows = new Map(state.follows);
  const actions: LinkAction[] = [];
  for (const [id, follow] of state.follows) {
    if (missing.delete(keyOf(follow.query))) continue;
    follows.delete(id);
    actions.push(...leave(id, follow));
  }
  const { state: next, actions: asked } = ask({ ...state, follows }, [...missing.values()]);
  return { state: next, actions: [...actions, ...asked] };
}

function leave(id: number, { state }: Follow): LinkAction[] {
  if (state !== "asked" && state !== "following") return [];
  return [
    { kind: "send", message: { t: "unsubscribe", id } },
    { kind: "unfollow", id },
  ];
}

function ask(state: LinkedState, queries: readonly WantedQuery[]): SubscriptionStep {
  const follows = new Map(state.follows);
  const actions: LinkAction[] = [];
  let { lastId } = state;
  for (const query of queries) {
    lastId++;
    follows.set(lastId, { query, state: "asked", untilMs: 0 });
    const { collection, condition } = query;
    actions.push({ kind: "follow", id: lastId, query: { collection, condition } });
  }
  return { state: { ...state, lastId, follows }, actions };
}

/** The cursor is known: sends `subscribe`. */
export function sendSubscribe(
  state: LinkedState,
  { id, cursor }: EventOf<"cursor">,
): SubscriptionStep {
  const follow = state.follows.get(id);
  if (follow?.state !== "asked") return { state, actions: [] };
  const query = follow.query.statement;
  const message = { t: "subscribe", id, query, args: {}, ...(cursor && { cursor }) } as const;
  return { state, actions: [{ kind: "send", message }] };
}

/** Ignores a query that ended meanwhile. */
export function takeSubscribed(state: LinkedState, message: Subscribed): SubscriptionStep {
  const { id, filter, mode } = message;
  const follow = state.follows.get(id);
  if (follow === undefined || !isFollowing(follow)) return { state, actions: [] };
  const isResumed = mode === "resume";
  const actions: LinkAction[] = [{ kind: "subscribed", id, filter, isResumed }];
  return { state: withFollow(state, id, { ...follow, state: "following" }), actions };
}

/** The source may be busy or too old for the query: it is requested again later. */
export function takeUnsubscribed(
  state: LinkedState,
  { id, code, message }: Unsubscribed,
  now: LinkMoment,
): SubscriptionStep {
  const follow = state.follows.get(id);
  if (follow === undefined || !isFollowing(follow)) return { state, actions: [] };
  const untilMs = now.elapsedMs + state.config.limits.retryMs;
  return {
    state: withFollow(state, id, { ...follow, state: "refused", untilMs }),
    actions: [
      { kind: "unfollow", id },
      { kind: "note", code, message },
    ],
  };
}

/** Documents cannot be merged yet: ends these subscriptions until they can be (S86). */
export function hold(state: LinkedState, { ids, untilMs }: EventOf<"held">): SubscriptionStep {
  const follows = new Map(state.follows);
  const actions: LinkAction[] = [];
  for (const id of ids) {
    const follow = follows.get(id);
    if (follow === undefined || !isFollowing(follow)) continue;
    follows.set(id, { ...follow, state: "held", untilMs });
    actions.push({ kind: "send", message: { t: "unsubscribe", id } });
  }
  return { state: { ...state, follows }, actions };
}

/** Requests due queries again, under new ids, so that messages under way are ignored. */
export function followDue(state: LinkedState, now: LinkMoment): SubscriptionStep {
  const due: WantedQuery[] = [];
  const follows = new Map(state.follows);
  for (const [id, follow] of state.follows) {
    const nowMs = follow.state === "held" ? now.wallMs : now.elapsedMs;
    if (isFollowing(follow) || follow.untilMs > nowMs) continue;
    follows.delete(id);
    due.push(follow.query);
  }
  return due.length === 0 ? { state, actions: [] } : ask({ ...state, follows }, due);
}

function isFollowing({ state }: Follow): boolean {
  return state === "asked" || state === "following";
}

function withFollow(state: LinkedState, id: number, follow: Follow): LinkedState {
  return { ...state, follows: new Map(state.follows).set(id, follow) };
}

// Queries that the other side follows.

export function serve(state: LinkedState, { id, query, cursor }: Subscribe): SubscriptionStep {
  const { subscriptions: max, subscriptionBytes: bytesMax } = state.config.limits;
  const tooLarge = (what: string): SubscriptionStep => {
    const reason = { code: "query.too_large", message: `expected at most ${what}` };
    return { state, actions: [unsubscribed(id, reason)] };
  };
  if (state.served.size >= max) return tooLarge(`${max} subscriptions`);
  let size = query.length;
  for (const other of state.served.values()) size += other.size;
  if (size > bytesMax) return tooLarge(`${bytesMax} bytes of queries`);
  const one: Served = { size: query.length, stream: undefined };
  return {
    state: withServed(state, id, one),
    actions: [{ kind: "serve", id, query, cursor }],
  };
}

/** A stream began. All its subscriptions start over with it (S69). */
export function served(state: LinkedState, event: EventOf<"served">): SubscriptionStep {
  const { id, filter, filterKey, collection, mode } = event;
  const known = state.served.get(id);
  if (known === undefined) return { state, actions: unfollowed(state, filterKey) };
  const stream = { filter, filterKey, collection, mode };
  const all = new Map(state.served).set(id, { ...known, stream });
  const actions: LinkAction[] = [];
  for (const [each, other] of all) {
    if (other.stream?.filterKey !== filterKey) continue;
    all.set(each, { ...other, stream });
    const message = { t: "subscribed", id: each, filter, collection, mode } as const;
    actions.push({ kind: "send", message });
  }
  return { state: { ...state, served: all }, actions };
}

/** Ends a query of the other side. Does nothing if it has already ended. */
export function unserve(
  state: LinkedState,
  id: number,
  reason: Reason | undefined,
): SubscriptionStep {
  const known = state.served.get(id);
  if (known === undefined) return { state, actions: [] };
  const rest = new Map(state.served);
  rest.delete(id);
  const next = { ...state, served: rest };
  const replies = reason === undefined ? [] : [unsubscribed(id, reason)];
  const { stream } = known;
  return {
    state: next,
    actions: [...replies, ...(stream ? unfollowed(next, stream.filterKey) : [])],
  };
}

/** A `want` for an ended stream was sent before the end: it is ignored. */
export function takeWant(state: LinkedState, { filter, ids }: Want): SubscriptionStep {
  for (const { stream } of state.served.values()) {
    if (stream === undefined || compareBytes(stream.filter, filter) !== 0) continue;
    return { state, actions: [{ kind: "want", filterKey: stream.filterKey, ids }] };
  }
  return { state, actions: [] };
}

/** A stream is over: ends all its subscriptions. */
export function endServed(state: LinkedState, event: EventOf<"stream_failed">): SubscriptionStep {
  const rest = new Map(state.served);
  const actions: LinkAction[] = [];
  for (const [id, { stream }] of state.served) {
    if (stream?.filterKey !== event.filterKey) continue;
    rest.delete(id);
    actions.push(unsubscribed(id, event));
  }
  return { state: { ...state, served: rest }, actions };
}

function withServed(state: LinkedState, id: number, one: Served): LinkedState {
  return { ...state, served: new Map(state.served).set(id, one) };
}

/** Ends a stream that no subscription follows. */
function unfollowed({ served: all }: LinkedState, filterKey: string): LinkAction[] {
  for (const { stream } of all.values()) if (stream?.filterKey === filterKey) return [];
  return [{ kind: "unserve", filterKey }];
}

function unsubscribed(id: number, { code, message }: Reason): LinkAction {
  return { kind: "send", message: { t: "unsubscribed", id, code, message } };
}
