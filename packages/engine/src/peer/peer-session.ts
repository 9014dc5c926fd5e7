/**
 * Peer session: the sync session of a small peer as a pure state machine. State, event and time
 * give the next state and the actions for the host. It has no socket, timer, clock or randomness.
 *
 * Work for the store is a sequence of actions. The host does them in order, one at a time, and
 * reports each one with an event. The machine does not wait: messages of the server become work as
 * they come.
 */

import {
  type ByeCode,
  type PeerDescription,
  type ServerMessage,
  SYNC_MESSAGE_BYTES_MAX,
  SYNC_VERSION,
  unreachable,
  versionMismatch,
  type Welcome,
} from "@bigpeer/protocol";
import { type End, failuresAfter, nextChance, waitOf } from "./back-off.ts";
import { NONE_ENDED } from "./ended-streams.ts";
import {
  catchUpMetadata,
  sendWatch,
  takeMetadata,
  takePresence,
  takeWatch,
} from "./peer-presence.ts";
import { cancelRuns, takeAnswered, takeCancel, takeRun } from "./peer-runs.ts";
import {
  answerPing,
  endSubscription,
  NOTHING_GATHERED,
  reach,
  renewal,
  sendCompared,
  sendSubscribe,
  sendWants,
  subscribeAll,
  takeApplied,
  takeBehind,
  takeCommitted,
  takeComplete,
  takeDocuments,
  takeRights,
  takeSubscribed,
  takeUnrenewed,
  takeUnsubscribed,
  takeVersions,
  unsent,
} from "./peer-streams.ts";
import {
  pump,
  takeForkDone,
  takeForked,
  takePending,
  takeReoffered,
  takeSequenced,
  takeSite,
  UPLOADS_IN_FLIGHT_MAX,
  uploadsOf,
} from "./peer-uploads.ts";
import {
  isLinked,
  type Linked,
  type PeerEvent,
  type PeerMoment,
  type PeerState,
  type PeerStep,
  type Phase,
  type StepContext,
  withLink,
} from "./session-state.ts";
import { DEAD_AFTER_MS, pingAt, schedule } from "./session-timer.ts";

export function peerState(appId: string, description: PeerDescription, chance: number): PeerState {
  return {
    appId,
    description,
    isWatching: false,
    phase: { name: "stopped" },
    connection: 0,
    chance,
    failures: 0,
    storeFailures: 0,
    subscriptions: new Map(),
  };
}

export function peerStep(state: PeerState, event: PeerEvent, now: PeerMoment): PeerStep {
  const context: StepContext = { now, actions: [] };
  const next = take(state, event, context);
  return { state: schedule(next, context), actions: context.actions };
}

function take(state: PeerState, event: PeerEvent, context: StepContext): PeerState {
  switch (event.kind) {
    case "start":
      return start(state, context);
    case "stop":
      return stop(state, context);
    case "subscribe":
      return subscribe(state, event, context);
    case "unsubscribe":
      return unsubscribe(state, event.key, context);
    case "pending":
      return isLinked(state) ? takePending(state, context) : state;
    case "tick":
      return tick(state, event.isReading, context);
    case "token":
      if (isLinked(state)) {
        context.actions.push({ kind: "send", message: { t: "token", token: event.token } });
      }
      return state;
    case "metadata":
      return takeMetadata(state, event.metadata, context);
    case "watch":
      return takeWatch(state, event.isOn, context);
    default:
      // A failure of the store is reported even if it belongs to an earlier connection.
      if (event.connection !== state.connection && event.kind !== "failed") return state;
      return takeOfConnection(state, event, context);
  }
}

type EventOfConnection = Extract<PeerEvent, { readonly connection: number }>;

function takeOfConnection(
  state: PeerState,
  event: EventOfConnection,
  context: StepContext,
): PeerState {
  switch (event.kind) {
    case "opened":
      return state.phase.name === "connecting" ? greet(state, event, context) : state;
    case "message":
      return takeMessage(state, event, context);
    case "garbled":
      return isTalking(state.phase) ? refuse(state, event.message, context) : state;
    case "disconnected":
      return isUp(state.phase) ? disconnect(state, event, context) : state;
    case "failed":
      return fail(state, event, context);
    case "unrenewed":
      return isLinked(state) ? takeUnrenewed(state, context) : state;
    case "answered":
      return isLinked(state) ? takeAnswered(state, event, context) : state;
    default:
      return isLinked(state) ? takeStoreWork(state, event, context) : state;
  }
}

type StoreEvent = Extract<
  EventOfConnection,
  { readonly kind: "welcomed" | "applied" | "compared" | "sequenced" | "reoffered" | "forked" }
>;

/** The store has done a piece of work. */
function takeStoreWork(linked: Linked, event: StoreEvent, context: StepContext): PeerState {
  const state = { ...linked, storeFailures: 0 };
  switch (event.kind) {
    case "welcomed":
      return state.phase.name === "settling" ? settle(state, event.cursors, context) : state;
    case "applied":
      sendWants(state, event.wants, context);
      return takeApplied(state, event.batch);
    case "compared":
      sendCompared(state.phase.link, event, context);
      return state;
    case "sequenced":
      return takeSequenced(state, event, context);
    case "reoffered":
      return takeReoffered(state, event.ask, context);
    case "forked":
      return takeForkDone(state, context);
    default:
      return unreachable(event);
  }
}

/** Whether there is a connection, or one is being made. */
export function isUp({ name }: Phase): boolean {
  return name !== "stopped" && name !== "waiting";
}

/** Whether messages can arrive. */
function isTalking(phase: Phase): boolean {
  return isUp(phase) && phase.name !== "connecting";
}

function start(state: PeerState, context: StepContext): PeerState {
  if (isUp(state.phase)) return state;
  const failures = state.phase.name === "stopped" ? 1 : state.failures;
  return dial({ ...state, failures }, context);
}

function dial(state: PeerState, context: StepContext): PeerState {
  const connection = state.connection + 1;
  context.actions.push({ kind: "dial", connection });
  return { ...state, connection, phase: { name: "connecting", since: context.now.elapsed } };
}

function stop(state: PeerState, context: StepContext): PeerState {
  const { phase } = state;
  cancelRuns(state, context);
  if (isTalking(phase)) sayBye("stopped", "the peer stops", context);
  if (isUp(phase)) context.actions.push({ kind: "hangUp", connection: state.connection });
  if (phase.name !== "stopped") {
    const message = "the peer was stopped";
    context.actions.push({
      kind: "report",
      event: { kind: "disconnected", code: "stopped", message },
    });
  }
  return { ...state, phase: { name: "stopped" }, failures: 0 };
}

function sayBye(code: ByeCode, message: string, context: StepContext): void {
  context.actions.push({ kind: "send", message: { t: "bye", code, message } });
}

/** A refused login counts like a refused token: the peer retries at the slowest rate (S8). */
function disconnect(
  state: PeerState,
  { message, refusal }: Extract<PeerEvent, { readonly kind: "disconnected" }>,
  context: StepContext,
): PeerState {
  if (refusal === undefined) return lose(state, { code: "lost", message }, context);
  return lose(state, { code: "unauthorized", message, isSlow: true, refusal }, context);
}

/** Closes what is left of a lost connection and schedules the next attempt (S8). */
function lose(state: PeerState, end: End, context: StepContext): PeerState {
  const { elapsed } = context.now;
  cancelRuns(state, context);
  context.actions.push({ kind: "hangUp", connection: state.connection });
  const failures = failuresAfter(state, end, elapsed);
  const pace = Math.max(failures, state.storeFailures);
  const retryInMs = Math.max(waitOf(pace, state.chance), end.after ?? 0);
  const { code, message, refusal } = end;
  const why = refusal === undefined ? {} : { refusal };
  context.actions.push({
    kind: "report",
    event: { kind: "disconnected", code, message, retryInMs, ...why },
  });
  const next = { ...state, chance: nextChance(state.chance), failures: failures + 1 };
  if (retryInMs === 0) return dial(next, context);
  return { ...next, phase: { name: "waiting", until: elapsed + retryInMs } };
}

/** Ends the connection because the server violates the protocol (S1). */
function refuse(state: PeerState, message: string, context: StepContext): PeerState {
  sayBye("malformed", message, context);
  return lose(state, { code: "malformed", message }, context);
}

/** Ends the connection: what the store failed to apply comes again on the next one. */
function fail(
  state: PeerState,
  { connection, error }: { readonly connection: number; readonly error: unknown },
  context: StepContext,
): PeerState {
  context.actions.push({ kind: "report", event: { kind: "failed", error } });
  const next = { ...state, storeFailures: state.storeFailures + 1 };
  if (connection !== state.connection || !isLinked(state)) return next;
  sayBye("stopped", "the store of the peer could not take what came", context);
  return lose(next, { code: "store", message: "the own store failed" }, context);
}

function greet(
  state: PeerState,
  { token, site }: Extract<PeerEvent, { readonly kind: "opened" }>,
  context: StepContext,
): PeerState {
  const { appId: app, description: peer } = state;
  const now = Math.round(context.now.wall);
  const hello = { t: "hello", version: SYNC_VERSION, app, token, site, peer, now } as const;
  context.actions.push({ kind: "send", message: hello });
  const { metadata } = peer;
  return { ...state, phase: { name: "greeting", since: context.now.elapsed, site, metadata } };
}

function takeMessage(
  state: PeerState,
  { message, bytes }: { readonly message: ServerMessage; readonly bytes: number },
  context: StepContext,
): PeerState {
  if (!isTalking(state.phase)) return state;
  if (message.t === "bye") {
    const { code, after } = message;
    const isSlow = code === "unauthorized" || code === "version";
    return lose(state, { code, message: message.message, after, isSlow }, context);
  }
  if (isLinked(state)) {
    const heard = withLink(state, { heardAt: context.now.elapsed });
    return takeOnLink(heard, message, bytes, context);
  }
  if (message.t === "welcome") return welcome(state, message, context);
  if (message.t === "ping") {
    context.actions.push({ kind: "pong", ping: message.now, now: Math.round(context.now.wall) });
    return state;
  }
  return message.t === "pong" ? state : unexpected(state, message, context);
}

function unexpected(state: PeerState, { t }: ServerMessage, context: StepContext): PeerState {
  return refuse(state, `expected no ${t} in this place`, context);
}

function welcome(state: PeerState, message: Welcome, context: StepContext): PeerState {
  const { phase, connection } = state;
  if (phase.name !== "greeting") return state;
  const { version, app, history, rights } = message;
  if (version !== SYNC_VERSION) {
    const end = versionMismatch("the peer", "the server", version);
    sayBye("version", end, context);
    return lose(state, { code: "version", message: end, isSlow: true }, context);
  }
  if (app !== state.appId) return leaveForeign(state, app, context);
  const { elapsed, wall } = context.now;
  const offsetMs = Math.round(message.now + (elapsed - phase.since) / 2 - wall);
  context.actions.push({ kind: "welcome", connection, history, app, rights, offsetMs });
  catchUpMetadata(state, context);
  const link = {
    history,
    app,
    offsetMs,
    window: Math.min(UPLOADS_IN_FLIGHT_MAX, message.bounds.uploads),
    messageBytes: Math.min(SYNC_MESSAGE_BYTES_MAX, message.bounds.messageBytes),
    welcomedAt: elapsed,
    heardAt: elapsed,
    pingedAt: elapsed,
    ...renewal(message.expires, message.now, elapsed),
    committed: 0,
    isChecked: false,
    known: message.known,
    filters: new Map(),
    ids: new Map(),
    nextId: 1,
    ended: NONE_ENDED,
    gathered: NOTHING_GATHERED,
    taken: { waiting: 0, txn: 0 },
    uploads: uploadsOf(phase.site),
    present: undefined,
    runs: new Set<number>(),
  };
  return {
    ...state,
    subscriptions: unsent(state.subscriptions),
    phase: { name: "settling", link },
  };
}

/** Stops, because nothing of this store may go to another app (S39). */
function leaveForeign(state: PeerState, app: string, context: StepContext): PeerState {
  sayBye("stopped", "this peer is of another app", context);
  context.actions.push({ kind: "hangUp", connection: state.connection });
  context.actions.push({ kind: "report", event: { kind: "foreign", app } });
  return { ...state, phase: { name: "stopped" }, failures: 0 };
}

/** The store has applied `welcome`: starts the streams and the uploads. */
function settle(
  state: Linked,
  cursors: Extract<PeerEvent, { readonly kind: "welcomed" }>["cursors"],
  context: StepContext,
): PeerState {
  const { connection } = state;
  const { link } = state.phase;
  const { history, offsetMs, known } = link;
  context.actions.push({ kind: "report", event: { kind: "connected", history, offsetMs } });
  const next = subscribeAll({ ...state, phase: { name: "open", link } }, cursors, context);
  sendWatch(next, context);
  context.actions.push({ kind: "reoffer", connection, site: link.uploads.site, known });
  return next;
}

/** Handles messages that may come at any time; all others need a settled session. */
function takeOnLink(
  state: Linked,
  message: ServerMessage,
  bytes: number,
  context: StepContext,
): PeerState {
  switch (message.t) {
    case "pong":
      return state;
    case "ping": {
      const answered = answerPing(state, message, context);
      return message.txn === undefined ? answered : reach(answered, message.txn, context);
    }
    case "rights":
      return takeRights(state, message, context);
    case "presence":
      return takePresence(state, message);
    case "run":
      return takeRun(state, message, context) ?? unexpected(state, message, context);
    case "cancel":
      return takeCancel(state, message, context);
    default:
      return state.phase.name === "settling"
        ? unexpected(state, message, context)
        : takeOfStream(state, message, bytes, context);
  }
}

type AnyTime = "ping" | "pong" | "rights" | "presence" | "run" | "cancel";

function takeOfStream(
  state: Linked,
  message: Exclude<ServerMessage, { readonly t: AnyTime }>,
  bytes: number,
  context: StepContext,
): PeerState {
  switch (message.t) {
    case "subscribed":
      return takeSubscribed(state, message, context);
    case "unsubscribed":
      return takeUnsubscribed(state, message, context);
    case "documents": {
      const large = { code: "too_large", message: "a transaction was too large" } as const;
      return takeDocuments(state, message, bytes, context) ?? lose(state, large, context);
    }
    case "versions":
      takeVersions(state, message, bytes, context);
      return state;
    case "complete":
      return takeComplete(state, message, context);
    case "behind":
      return takeBehind(state, message, context);
    case "committed":
      return pump(takeCommitted(state, message, context), context);
    case "forked":
      return takeForked(state, message, context);
    case "site": {
      const gap = { code: "gap", message: "the server has other uploads than expected" } as const;
      return takeSite(state, message, context) ?? lose(state, gap, context);
    }
    case "welcome":
    case "bye":
      return unexpected(state, message, context);
    default:
      return unreachable(message);
  }
}

function subscribe(
  state: PeerState,
  event: Extract<PeerEvent, { readonly kind: "subscribe" }>,
  context: StepContext,
): PeerState {
  const { key, query, args, cursor } = event;
  if (state.subscriptions.has(key)) return state;
  const following = { key, query, args, isLive: false };
  const next = { ...state, subscriptions: new Map(state.subscriptions).set(key, following) };
  return isLinked(next) && next.phase.name === "open"
    ? sendSubscribe(next, following, cursor, context)
    : next;
}

function unsubscribe(state: PeerState, key: string, context: StepContext): PeerState {
  if (!state.subscriptions.has(key)) return state;
  const ended = isLinked(state) ? endSubscription(state, key, context) : state;
  context.actions.push({ kind: "release", connection: state.connection, subscription: key });
  const subscriptions = new Map(ended.subscriptions);
  subscriptions.delete(key);
  return { ...ended, subscriptions };
}

function tick(state: PeerState, isReading: boolean, context: StepContext): PeerState {
  const { wakeAt: _, ...next } = state;
  const { elapsed } = context.now;
  const { phase } = next;
  switch (phase.name) {
    case "stopped":
      return next;
    case "waiting":
      return elapsed >= phase.until ? dial(next, context) : next;
    case "connecting":
    case "greeting":
      return elapsed - phase.since >= DEAD_AFTER_MS ? dieOfSilence(next, context) : next;
    case "settling":
    case "open":
      return isLinked(next) ? tickLink(next, isReading, context) : next;
    default:
      return unreachable(phase);
  }
}

function dieOfSilence(state: PeerState, context: StepContext): PeerState {
  const message = `nothing was heard for ${DEAD_AFTER_MS / 1000} s`;
  return lose(state, { code: "silent", message }, context);
}

/** While the host does not read, silence of the server means nothing; pings are still sent. */
function tickLink(state: Linked, isReading: boolean, context: StepContext): PeerState {
  const { elapsed, wall } = context.now;
  const { link } = state.phase;
  const heardAt = isReading ? link.heardAt : elapsed;
  if (elapsed - heardAt >= DEAD_AFTER_MS) return dieOfSilence(state, context);
  let next = withLink(state, { heardAt });
  if (elapsed >= pingAt(link)) {
    context.actions.push({ kind: "send", message: { t: "ping", now: Math.round(wall) } });
    next = withLink(next, { pingedAt: elapsed });
  }
  if (link.renewAt === undefined || elapsed < link.renewAt) return next;
  context.actions.push({ kind: "renew" });
  return withLink(next, { renewAt: undefined });
}
