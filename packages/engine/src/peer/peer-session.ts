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
  takeSealed,
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
  type Turn,
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
  const turn: Turn = { now, actions: [] };
  const next = take(state, event, turn);
  return { state: schedule(next, turn), actions: turn.actions };
}

function take(state: PeerState, event: PeerEvent, turn: Turn): PeerState {
  switch (event.kind) {
    case "start":
      return start(state, turn);
    case "stop":
      return stop(state, turn);
    case "subscribe":
      return subscribe(state, event, turn);
    case "unsubscribe":
      return unsubscribe(state, event.key, turn);
    case "pending":
      return isLinked(state) ? takePending(state, turn) : state;
    case "tick":
      return tick(state, event.isReading, turn);
    case "token":
      if (isLinked(state)) {
        turn.actions.push({ kind: "send", message: { t: "token", token: event.token } });
      }
      return state;
    case "metadata":
      return takeMetadata(state, event.metadata, turn);
    case "watch":
      return takeWatch(state, event.isOn, turn);
    default:
      // A failure of the store is reported even if it belongs to an earlier connection.
      if (event.connection !== state.connection && event.kind !== "failed") return state;
      return takeOfConnection(state, event, turn);
  }
}

type EventOfConnection = Extract<PeerEvent, { readonly connection: number }>;

function takeOfConnection(state: PeerState, event: EventOfConnection, turn: Turn): PeerState {
  switch (event.kind) {
    case "opened":
      return state.phase.name === "connecting" ? greet(state, event, turn) : state;
    case "message":
      return takeMessage(state, event, turn);
    case "garbled":
      return isTalking(state.phase) ? refuse(state, event.message, turn) : state;
    case "disconnected":
      return isUp(state.phase) ? disconnect(state, event, turn) : state;
    case "failed":
      return fail(state, event, turn);
    case "unrenewed":
      return isLinked(state) ? takeUnrenewed(state, turn) : state;
    case "answered":
      return isLinked(state) ? takeAnswered(state, event, turn) : state;
    default:
      return isLinked(state) ? takeStoreWork(state, event, turn) : state;
  }
}

type StoreEvent = Extract<
  EventOfConnection,
  { readonly kind: "welcomed" | "applied" | "compared" | "sealed" | "reoffered" | "forked" }
>;

/** The store has done a piece of work. */
function takeStoreWork(linked: Linked, event: StoreEvent, turn: Turn): PeerState {
  const state = { ...linked, storeFailures: 0 };
  switch (event.kind) {
    case "welcomed":
      return state.phase.name === "settling" ? settle(state, event.cursors, turn) : state;
    case "applied":
      sendWants(state, event.wants, turn);
      return takeApplied(state, event.batch);
    case "compared":
      sendCompared(state.phase.link, event, turn);
      return state;
    case "sealed":
      return takeSealed(state, event, turn);
    case "reoffered":
      return takeReoffered(state, event.ask, turn);
    case "forked":
      return takeForkDone(state, turn);
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

function start(state: PeerState, turn: Turn): PeerState {
  if (isUp(state.phase)) return state;
  const failures = state.phase.name === "stopped" ? 1 : state.failures;
  return dial({ ...state, failures }, turn);
}

function dial(state: PeerState, turn: Turn): PeerState {
  const connection = state.connection + 1;
  turn.actions.push({ kind: "dial", connection });
  return { ...state, connection, phase: { name: "connecting", since: turn.now.elapsed } };
}

function stop(state: PeerState, turn: Turn): PeerState {
  const { phase } = state;
  cancelRuns(state, turn);
  if (isTalking(phase)) sayBye("stopped", "the peer stops", turn);
  if (isUp(phase)) turn.actions.push({ kind: "hangUp", connection: state.connection });
  if (phase.name !== "stopped") {
    const message = "the peer was stopped";
    turn.actions.push({
      kind: "report",
      event: { kind: "disconnected", code: "stopped", message },
    });
  }
  return { ...state, phase: { name: "stopped" }, failures: 0 };
}

function sayBye(code: ByeCode, message: string, turn: Turn): void {
  turn.actions.push({ kind: "send", message: { t: "bye", code, message } });
}

/** A refused login counts like a refused token: the peer retries at the slowest rate (S8). */
function disconnect(
  state: PeerState,
  { message, refusal }: Extract<PeerEvent, { readonly kind: "disconnected" }>,
  turn: Turn,
): PeerState {
  if (refusal === undefined) return lose(state, { code: "lost", message }, turn);
  return lose(state, { code: "unauthorized", message, isSlow: true, refusal }, turn);
}

/** Closes what is left of a lost connection and schedules the next attempt (S8). */
function lose(state: PeerState, end: End, turn: Turn): PeerState {
  const { elapsed } = turn.now;
  cancelRuns(state, turn);
  turn.actions.push({ kind: "hangUp", connection: state.connection });
  const failures = failuresAfter(state, end, elapsed);
  const pace = Math.max(failures, state.storeFailures);
  const retryInMs = Math.max(waitOf(pace, state.chance), end.after ?? 0);
  const { code, message, refusal } = end;
  const why = refusal === undefined ? {} : { refusal };
  turn.actions.push({
    kind: "report",
    event: { kind: "disconnected", code, message, retryInMs, ...why },
  });
  const next = { ...state, chance: nextChance(state.chance), failures: failures + 1 };
  if (retryInMs === 0) return dial(next, turn);
  return { ...next, phase: { name: "waiting", until: elapsed + retryInMs } };
}

/** Ends the connection because the server violates the protocol (S1). */
function refuse(state: PeerState, message: string, turn: Turn): PeerState {
  sayBye("malformed", message, turn);
  return lose(state, { code: "malformed", message }, turn);
}

/** Ends the connection: what the store failed to apply comes again on the next one. */
function fail(
  state: PeerState,
  { connection, error }: { readonly connection: number; readonly error: unknown },
  turn: Turn,
): PeerState {
  turn.actions.push({ kind: "report", event: { kind: "failed", error } });
  const next = { ...state, storeFailures: state.storeFailures + 1 };
  if (connection !== state.connection || !isLinked(state)) return next;
  sayBye("stopped", "the store of the peer could not take what came", turn);
  return lose(next, { code: "store", message: "the own store failed" }, turn);
}

function greet(
  state: PeerState,
  { token, site }: Extract<PeerEvent, { readonly kind: "opened" }>,
  turn: Turn,
): PeerState {
  const { appId: app, description: peer } = state;
  const now = Math.round(turn.now.wall);
  const hello = { t: "hello", version: SYNC_VERSION, app, token, site, peer, now } as const;
  turn.actions.push({ kind: "send", message: hello });
  const { metadata } = peer;
  return { ...state, phase: { name: "greeting", since: turn.now.elapsed, site, metadata } };
}

function takeMessage(
  state: PeerState,
  { message, bytes }: { readonly message: ServerMessage; readonly bytes: number },
  turn: Turn,
): PeerState {
  if (!isTalking(state.phase)) return state;
  if (message.t === "bye") {
    const { code, after } = message;
    const isSlow = code === "unauthorized" || code === "version";
    return lose(state, { code, message: message.message, after, isSlow }, turn);
  }
  if (isLinked(state)) {
    const heard = withLink(state, { heardAt: turn.now.elapsed });
    return takeOnLink(heard, message, bytes, turn);
  }
  if (message.t === "welcome") return welcome(state, message, turn);
  if (message.t === "ping") {
    turn.actions.push({ kind: "pong", ping: message.now, now: Math.round(turn.now.wall) });
    return state;
  }
  return message.t === "pong" ? state : unexpected(state, message, turn);
}

function unexpected(state: PeerState, { t }: ServerMessage, turn: Turn): PeerState {
  return refuse(state, `expected no ${t} in this place`, turn);
}

function welcome(state: PeerState, message: Welcome, turn: Turn): PeerState {
  const { phase, connection } = state;
  if (phase.name !== "greeting") return state;
  const { version, app, history, rights } = message;
  if (version !== SYNC_VERSION) {
    const end = versionMismatch("the peer", "the server", version);
    sayBye("version", end, turn);
    return lose(state, { code: "version", message: end, isSlow: true }, turn);
  }
  if (app !== state.appId) return leaveForeign(state, app, turn);
  const { elapsed, wall } = turn.now;
  const offsetMs = Math.round(message.now + (elapsed - phase.since) / 2 - wall);
  turn.actions.push({ kind: "welcome", connection, history, app, rights, offsetMs });
  catchUpMetadata(state, turn);
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
    isJudged: false,
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
function leaveForeign(state: PeerState, app: string, turn: Turn): PeerState {
  sayBye("stopped", "this peer is of another app", turn);
  turn.actions.push({ kind: "hangUp", connection: state.connection });
  turn.actions.push({ kind: "report", event: { kind: "foreign", app } });
  return { ...state, phase: { name: "stopped" }, failures: 0 };
}

/** The store has applied `welcome`: starts the streams and the uploads. */
function settle(
  state: Linked,
  cursors: Extract<PeerEvent, { readonly kind: "welcomed" }>["cursors"],
  turn: Turn,
): PeerState {
  const { connection } = state;
  const { link } = state.phase;
  const { history, offsetMs, known } = link;
  turn.actions.push({ kind: "report", event: { kind: "connected", history, offsetMs } });
  const next = subscribeAll({ ...state, phase: { name: "open", link } }, cursors, turn);
  sendWatch(next, turn);
  turn.actions.push({ kind: "reoffer", connection, site: link.uploads.site, known });
  return next;
}

/** Handles messages that may come at any time; all others need a settled session. */
function takeOnLink(state: Linked, message: ServerMessage, bytes: number, turn: Turn): PeerState {
  switch (message.t) {
    case "pong":
      return state;
    case "ping": {
      const answered = answerPing(state, message, turn);
      return message.txn === undefined ? answered : reach(answered, message.txn, turn);
    }
    case "rights":
      return takeRights(state, message, turn);
    case "presence":
      return takePresence(state, message);
    case "run":
      return takeRun(state, message, turn) ?? unexpected(state, message, turn);
    case "cancel":
      return takeCancel(state, message, turn);
    default:
      return state.phase.name === "settling"
        ? unexpected(state, message, turn)
        : takeOfStream(state, message, bytes, turn);
  }
}

type AnyTime = "ping" | "pong" | "rights" | "presence" | "run" | "cancel";

function takeOfStream(
  state: Linked,
  message: Exclude<ServerMessage, { readonly t: AnyTime }>,
  bytes: number,
  turn: Turn,
): PeerState {
  switch (message.t) {
    case "subscribed":
      return takeSubscribed(state, message, turn);
    case "unsubscribed":
      return takeUnsubscribed(state, message, turn);
    case "documents": {
      const large = { code: "too_large", message: "a transaction was too large" } as const;
      return takeDocuments(state, message, bytes, turn) ?? lose(state, large, turn);
    }
    case "versions":
      takeVersions(state, message, bytes, turn);
      return state;
    case "complete":
      return takeComplete(state, message, turn);
    case "behind":
      return takeBehind(state, message, turn);
    case "committed":
      return pump(takeCommitted(state, message, turn), turn);
    case "forked":
      return takeForked(state, message, turn);
    case "site": {
      const gap = { code: "gap", message: "the server has other uploads than expected" } as const;
      return takeSite(state, message, turn) ?? lose(state, gap, turn);
    }
    case "welcome":
    case "bye":
      return unexpected(state, message, turn);
    default:
      return unreachable(message);
  }
}

function subscribe(
  state: PeerState,
  event: Extract<PeerEvent, { readonly kind: "subscribe" }>,
  turn: Turn,
): PeerState {
  const { key, query, args, cursor } = event;
  if (state.subscriptions.has(key)) return state;
  const following = { key, query, args, isLive: false };
  const next = { ...state, subscriptions: new Map(state.subscriptions).set(key, following) };
  return isLinked(next) && next.phase.name === "open"
    ? sendSubscribe(next, following, cursor, turn)
    : next;
}

function unsubscribe(state: PeerState, key: string, turn: Turn): PeerState {
  if (!state.subscriptions.has(key)) return state;
  const ended = isLinked(state) ? endSubscription(state, key, turn) : state;
  turn.actions.push({ kind: "release", connection: state.connection, subscription: key });
  const subscriptions = new Map(ended.subscriptions);
  subscriptions.delete(key);
  return { ...ended, subscriptions };
}

function tick(state: PeerState, isReading: boolean, turn: Turn): PeerState {
  const { wakeAt: _, ...next } = state;
  const { elapsed } = turn.now;
  const { phase } = next;
  switch (phase.name) {
    case "stopped":
      return next;
    case "waiting":
      return elapsed >= phase.until ? dial(next, turn) : next;
    case "connecting":
    case "greeting":
      return elapsed - phase.since >= DEAD_AFTER_MS ? dieOfSilence(next, turn) : next;
    case "settling":
    case "open":
      return isLinked(next) ? tickLink(next, isReading, turn) : next;
    default:
      return unreachable(phase);
  }
}

function dieOfSilence(state: PeerState, turn: Turn): PeerState {
  const message = `nothing was heard for ${DEAD_AFTER_MS / 1000} s`;
  return lose(state, { code: "silent", message }, turn);
}

/** While the host does not read, silence of the server means nothing; pings are still sent. */
function tickLink(state: Linked, isReading: boolean, turn: Turn): PeerState {
  const { elapsed, wall } = turn.now;
  const { link } = state.phase;
  const heardAt = isReading ? link.heardAt : elapsed;
  if (elapsed - heardAt >= DEAD_AFTER_MS) return dieOfSilence(state, turn);
  let next = withLink(state, { heardAt });
  if (elapsed >= pingAt(link)) {
    turn.actions.push({ kind: "send", message: { t: "ping", now: Math.round(wall) } });
    next = withLink(next, { pingedAt: elapsed });
  }
  if (link.renewAt === undefined || elapsed < link.renewAt) return next;
  turn.actions.push({ kind: "renew" });
  return withLink(next, { renewAt: undefined });
}
