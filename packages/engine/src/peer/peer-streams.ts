/**
 * Peer streams: turns the messages of a peer's subscriptions into batches for its store.
 *
 * Frames of live subscriptions are gathered until their transaction ends and then applied as one
 * (S16). Before `complete` each piece is applied by itself (S15). Frames of a filter that no
 * subscription has belong to a stream that is over: they are ignored (S21), except for S74.
 */

import {
  type Behind,
  byteString,
  type CommittedMessage,
  type Complete,
  type DocumentEntry,
  type Documents,
  type IdRange,
  type Outcome,
  type Ping,
  type Rights,
  type Subscribed,
  type SyncCursor,
  type Unsubscribed,
  type Value,
  type Versions,
} from "@bigpeer/protocol";
import { begunLate, endedWith } from "./ended-streams.ts";
import type { ConfirmedBatch, ConfirmedPart } from "./peer-layers.ts";
import { takeOutcomes } from "./peer-uploads.ts";
import {
  type Following,
  type Gathered,
  type Link,
  type Linked,
  type PeerState,
  type StepContext,
  withLink,
} from "./session-state.ts";

/** Bytes of a transaction that are gathered. A server sends larger ones in pieces (S23). */
export const GATHERED_BYTES_MAX: number = 64 * 1024 * 1024;

export const NOTHING_GATHERED: Gathered = { parts: [], bytes: 0 };

/** The subscriptions without their state on an earlier connection. */
export function unsent(subscriptions: PeerState["subscriptions"]): PeerState["subscriptions"] {
  const plain = [...subscriptions.values()].map(
    ({ key, query, args }) => [key, { key, query, args, isLive: false }] as const,
  );
  return new Map(plain);
}

/** Sends all subscriptions on a connection that has none yet. */
export function subscribeAll(
  state: Linked,
  cursors: ReadonlyMap<string, SyncCursor>,
  context: StepContext,
): Linked {
  let next = state;
  for (const following of state.subscriptions.values()) {
    next = sendSubscribe(next, following, cursors.get(following.key), context);
  }
  return next;
}

export function sendSubscribe(
  state: Linked,
  { key, query, args }: Following,
  cursor: SyncCursor | undefined,
  context: StepContext,
): Linked {
  const { nextId: id, ids } = state.phase.link;
  const place = cursor === undefined ? {} : { cursor };
  context.actions.push({ kind: "send", message: { t: "subscribe", id, query, args, ...place } });
  const next = withLink(state, { nextId: id + 1, ids: new Map(ids).set(id, key) });
  return withFollowing(next, { key, query, args, id, isLive: false });
}

/** Ends a subscription on the connection. The caller ends it in the store. */
export function endSubscription(state: Linked, key: string, context: StepContext): Linked {
  const following = state.subscriptions.get(key);
  if (following?.id === undefined) return state;
  if (following.refusal === undefined) {
    context.actions.push({ kind: "send", message: { t: "unsubscribe", id: following.id } });
  }
  const ids = new Map(state.phase.link.ids);
  ids.delete(following.id);
  const ended = endedWith(state.phase.link, following);
  const entries = gatheredFor(state, key);
  const left = leaveFilter(
    withLink(state, { ids, ended }),
    { ...following, isLive: false },
    context,
  );
  const { filter } = following;
  return filter === undefined ? left : takeUnfiltered(left, { filter, entries }, 0, context);
}

/** Entries for a subscription, of a transaction that has not ended yet. */
function gatheredFor({ phase }: Linked, key: string): readonly DocumentEntry[] {
  const { parts } = phase.link.gathered;
  return parts.flatMap((part) => (part.subscription === key ? part.entries : []));
}

/** Applies entries of an ended stream, because outcomes under way may count on them (S74). */
function takeUnfiltered(
  state: Linked,
  { filter, entries }: Pick<Documents, "filter" | "entries">,
  bytes: number,
  context: StepContext,
): Linked {
  const stream = state.phase.link.ended.filters.get(byteString(filter));
  if (stream === undefined || entries.length === 0) return state;
  const { collection } = stream;
  const notices = entries.map((entry) => [collection, entry] as const);
  return pushApply(state, { parts: [], outcomes: [], notices }, bytes, context);
}

/** Removes a subscription from its filter, and discards what was gathered for it. */
function leaveFilter(state: Linked, following: Following, context: StepContext): Linked {
  const { key, filter } = following;
  if (filter === undefined) return state;
  const { connection } = state;
  if (following.isLive) context.actions.push({ kind: "behind", connection, subscriptions: [key] });
  const { filters, gathered } = state.phase.link;
  const name = byteString(filter);
  const others = (filters.get(name) ?? []).filter((other) => other !== key);
  const left = new Map(filters);
  if (others.length === 0) left.delete(name);
  else left.set(name, others);
  return withLink(state, {
    filters: left,
    gathered: without(gathered, ({ subscription }) => subscription === key),
  });
}

function without(
  gathered: Gathered,
  isGone: (part: Gathered["parts"][number]) => boolean,
): Gathered {
  const parts = gathered.parts.filter((part) => !isGone(part));
  return parts.length === 0 ? NOTHING_GATHERED : { ...gathered, parts };
}

function withFollowing<S extends PeerState>(state: S, following: Following): S {
  const subscriptions = new Map(state.subscriptions).set(following.key, following);
  return { ...state, subscriptions };
}

function followingOf(state: Linked, id: number): Following | undefined {
  const key = state.phase.link.ids.get(id);
  return key === undefined ? undefined : state.subscriptions.get(key);
}

/** The subscriptions that have this filter. */
function followersOf(state: Linked, filter: Uint8Array): Following[] {
  const keys = state.phase.link.filters.get(byteString(filter)) ?? [];
  return keys.flatMap((key) => state.subscriptions.get(key) ?? []);
}

/** Starts a stream, or starts it again: when rights change, under another filter (S20). */
export function takeSubscribed(state: Linked, message: Subscribed, context: StepContext): Linked {
  const following = followingOf(state, message.id);
  if (following === undefined) {
    return withLink(state, { ended: begunLate(state.phase.link.ended, message) });
  }
  const left = leaveFilter(state, following, context);
  const { connection } = state;
  const { key: subscription } = following;
  const { mode, filter, collection } = message;
  if (mode !== "resume") context.actions.push({ kind: "begin", connection, subscription, mode });
  const { filters } = left.phase.link;
  const name = byteString(filter);
  const keys = [...(filters.get(name) ?? []), following.key];
  const next = withLink(left, { filters: new Map(filters).set(name, keys) });
  return withFollowing(next, { ...following, filter, collection, isLive: false });
}

export function takeUnsubscribed(
  state: Linked,
  message: Unsubscribed,
  context: StepContext,
): Linked {
  const following = followingOf(state, message.id);
  if (following === undefined) return state;
  const { key, query, args, id } = following;
  const { code } = message;
  const report = { kind: "unsubscribed", key, code, message: message.message } as const;
  context.actions.push({ kind: "report", event: report });
  const named = id === undefined ? {} : { id };
  const refused = { key, query, args, ...named, isLive: false, refusal: code };
  const left = leaveFilter(state, following, context);
  if (code === "permission.denied") {
    context.actions.push({ kind: "deny", connection: state.connection, subscription: key });
  }
  return withFollowing(left, refused);
}

/** Subscribes again to what was denied, because the new rights may permit it. */
export function takeRights(
  state: Linked,
  { rights, expires }: Rights,
  context: StepContext,
): Linked {
  const { connection } = state;
  const { offsetMs } = state.phase.link;
  context.actions.push({ kind: "rights", connection, rights });
  const renewed = renewal(expires, context.now.wall + offsetMs, context.now.elapsed);
  let next = withLink(state, { ...renewed, isChecked: true });
  for (const following of state.subscriptions.values()) {
    if (following.refusal !== "permission.denied") continue;
    next = sendSubscribe(
      endSubscription(next, following.key, context),
      following,
      undefined,
      context,
    );
  }
  return next;
}

/** A token is renewed at most this long before it expires (S66). */
const RENEWAL_LEAD_MS = 60_000;

/** Wait before a failed renewal is retried, at most, and the time that must be left for it. */
const RENEWAL_AGAIN_MS = 10_000;
const RENEWAL_LEFT_MS = 1000;

/** Least time between two renewals: even the newest token may be over by the server's clock. */
const RENEWAL_LEAST_MS = 1000;

/** When to renew the token, so that the session does not end with the old one (S66). */
export function renewal(
  expires: number | undefined,
  serverNow: number,
  elapsed: number,
): Pick<Link, "renewAt" | "expiresAt"> {
  if (expires === undefined) return { renewAt: undefined, expiresAt: undefined };
  const left = Math.max(0, expires - serverNow);
  const expiresAt = elapsed + left;
  const dueAt = expiresAt - Math.min(RENEWAL_LEAD_MS, left / 2);
  return { renewAt: Math.max(dueAt, elapsed + RENEWAL_LEAST_MS), expiresAt };
}

/** A renewal failed: retries while the old token is valid (S66). */
export function takeUnrenewed(state: Linked, context: StepContext): Linked {
  const { renewAt, expiresAt = 0 } = state.phase.link;
  const { elapsed } = context.now;
  const left = expiresAt - elapsed;
  if (renewAt !== undefined || left < RENEWAL_LEFT_MS) return state;
  return withLink(state, { renewAt: elapsed + Math.min(RENEWAL_AGAIN_MS, left / 2) });
}

/** Undefined if more is gathered than a transaction may have. */
export function takeDocuments(
  state: Linked,
  message: Documents,
  bytes: number,
  context: StepContext,
): Linked | undefined {
  const { filter, entries, range, committed } = message;
  const followers = followersOf(state, filter);
  const isLive = followers.some((following) => following.isLive);
  let next = state;
  if (followers.length === 0) {
    next = takeUnfiltered(state, message, bytes, context);
  } else if (isLive && range === undefined) {
    next = gather(state, message, followers, bytes);
    if (next.phase.link.gathered.bytes > GATHERED_BYTES_MAX) return undefined;
  } else {
    const piece = range === undefined ? { entries } : { entries, range, ...fillOf(message, range) };
    const parts = unready(followers).map(({ key }) => ({ subscription: key, ...piece }));
    next = pushApply(state, { parts, outcomes: [] }, bytes, context);
  }
  return committed === undefined ? next : commit(next, committed, [], context);
}

/** The position of a fill after one of its pieces (S57). */
function fillOf(
  { filter, asOf: txn }: Documents,
  { through: after }: IdRange,
): Pick<ConfirmedPart, "fill"> {
  if (txn === undefined) return {};
  return { fill: after === undefined ? { filter, txn } : { filter, txn, after } };
}

function gather(
  state: Linked,
  { filter, entries }: Documents,
  followers: readonly Following[],
  bytes: number,
): Linked {
  const { gathered } = state.phase.link;
  const name = byteString(filter);
  const parts = followers.map(({ key }) => ({ subscription: key, entries, filter: name }));
  return withLink(state, {
    gathered: { parts: [...gathered.parts, ...parts], bytes: gathered.bytes + bytes },
  });
}

/** The subscriptions that are being filled; all if none is. */
function unready(followers: readonly Following[]): readonly Following[] {
  const filled = followers.filter(({ isLive }) => !isLive);
  return filled.length === 0 ? followers : filled;
}

function pushApply(
  state: Linked,
  batch: ConfirmedBatch,
  bytes: number,
  context: StepContext,
): Linked {
  context.actions.push({ kind: "apply", connection: state.connection, batch, bytes });
  const { taken } = state.phase.link;
  return withLink(state, { taken: { ...taken, waiting: taken.waiting + 1 } });
}

/** The store has applied a batch. */
export function takeApplied(
  state: Linked,
  { committed, completed }: Pick<ConfirmedBatch, "committed" | "completed">,
): Linked {
  const { waiting, txn } = state.phase.link.taken;
  const reached = committed ?? (txn === 0 ? firstOf(completed) : 0);
  return withLink(state, { taken: { waiting: waiting - 1, txn: Math.max(txn, reached) } });
}

/** Where the first stream became complete. It says nothing about streams that were live before. */
function firstOf(completed: ConfirmedBatch["completed"] = []): number {
  return completed.length === 0 ? 0 : Math.min(...completed.map(({ txn }) => txn));
}

export function takeCommitted(
  state: Linked,
  message: CommittedMessage,
  context: StepContext,
): Linked {
  return commit(takeOutcomes(state, message.outcomes), message.txn, message.outcomes, context);
}

/** The transaction has ended: everything gathered becomes one batch. */
function commit(
  state: Linked,
  txn: number,
  outcomes: readonly Outcome[],
  context: StepContext,
): Linked {
  const { gathered } = state.phase.link;
  let next = state;
  if (gathered.parts.length > 0 || outcomes.length > 0 || hasLive(state)) {
    const batch = { parts: gathered.parts.map(partOf), outcomes, committed: txn };
    next = pushApply(state, batch, gathered.bytes, context);
  }
  return withLink(next, { gathered: NOTHING_GATHERED, committed: txn, isChecked: false });
}

function partOf({ subscription, entries }: ConfirmedPart): ConfirmedPart {
  return { subscription, entries };
}

function hasLive(state: PeerState): boolean {
  for (const { isLive } of state.subscriptions.values()) if (isLive) return true;
  return false;
}

/** A ping of the server: cursors advance (S5), and live subscriptions are still live (S71). */
export function reach(state: Linked, txn: number, context: StepContext): Linked {
  const { committed, isChecked } = state.phase.link;
  if ((txn <= committed && !isChecked) || !hasLive(state)) return state;
  const reached = Math.max(txn, committed);
  const next = pushApply(state, { parts: [], outcomes: [], committed: reached }, 0, context);
  return withLink(next, { committed: reached, isChecked: false });
}

/**
 * Answers how far the store is (S43): up to the transaction of the ping if all that arrived is
 * applied, and not merely received.
 */
export function answerPing(state: Linked, ping: Ping, context: StepContext): Linked {
  const { taken } = state.phase.link;
  const txn = taken.waiting === 0 ? Math.max(taken.txn, ping.txn ?? 0) : taken.txn;
  const now = Math.round(context.now.wall);
  const reached = txn === 0 ? {} : { txn };
  context.actions.push({ kind: "pong", ping: ping.now, now, ...reached });
  return withLink(state, { taken: { ...taken, txn } });
}

export function takeComplete(
  state: Linked,
  { filter, txn }: Complete,
  context: StepContext,
): Linked {
  const followers = followersOf(state, filter);
  if (followers.length === 0) return state;
  const name = byteString(filter);
  const { gathered } = state.phase.link;
  const parts = gathered.parts.filter((part) => part.filter === name).map(partOf);
  const completed = followers.map(({ key }) => ({ subscription: key, filter, txn }));
  const given = pushApply(state, { parts, outcomes: [], completed }, 0, context);
  let next = withLink(given, { gathered: without(gathered, (part) => part.filter === name) });
  for (const following of followers) next = withFollowing(next, { ...following, isLive: true });
  return next;
}

/** These filters are no longer live: discards what was gathered, because it comes again (S22). */
export function takeBehind(state: Linked, { filters }: Behind, context: StepContext): Linked {
  const names = new Set(filters.map(byteString));
  const followers = filters.flatMap((filter) => followersOf(state, filter));
  if (followers.length === 0) return state;
  const subscriptions = followers.map(({ key }) => key);
  context.actions.push({ kind: "behind", connection: state.connection, subscriptions });
  const { gathered } = state.phase.link;
  let next = withLink(state, { gathered: without(gathered, ({ filter }) => names.has(filter)) });
  for (const following of followers) next = withFollowing(next, { ...following, isLive: false });
  return next;
}

/** Each comparison is answered, whether it is followed or not: the server counts answers (S70). */
export function takeVersions(
  state: Linked,
  message: Versions,
  bytes: number,
  context: StepContext,
): void {
  const { filter, range } = message;
  const followers = followersOf(state, filter);
  if (followers.length === 0) return sendWant(filter, [], range.through === undefined, context);
  const subscriptions = unready(followers).map(({ key }) => key);
  const { connection } = state;
  context.actions.push({ kind: "compare", connection, subscriptions, versions: message, bytes });
}

/** Requests what a comparison has shown to be missing, if a subscription still has the filter. */
export function sendCompared(
  link: Link,
  compared: {
    readonly filter: Uint8Array;
    readonly ids: readonly Value[];
    readonly isLast: boolean;
  },
  context: StepContext,
): void {
  const { filter, ids, isLast } = compared;
  sendWant(filter, link.filters.has(byteString(filter)) ? ids : [], isLast, context);
}

function sendWant(
  filter: Uint8Array,
  ids: readonly Value[],
  isLast: boolean,
  context: StepContext,
): void {
  if (ids.length === 0 && !isLast) return;
  const last = isLast ? { isLast } : {};
  context.actions.push({ kind: "send", message: { t: "want", filter, ids, ...last } });
}

/** Requests whole documents where a delta did not fit (S18). */
export function sendWants(
  state: Linked,
  wants: readonly { readonly subscription: string; readonly ids: readonly Value[] }[],
  context: StepContext,
): void {
  for (const { subscription, ids } of wants) {
    const filter = state.subscriptions.get(subscription)?.filter;
    if (filter !== undefined) sendWant(filter, ids, false, context);
  }
}
