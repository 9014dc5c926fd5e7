/**
 * Server session: the Big Peer's side of one connection, as a pure state machine without socket,
 * timer or clock.
 *
 * `serverStep` takes a state, an event and the time. It returns the next state and the actions to
 * perform, in order. It decides which messages are allowed when, and when a session ends; documents
 * do not pass through it. The phases (rule numbers are those of docs/sync-protocol.md):
 *
 *   greeting → admitting → open → closed
 *
 * The session of a peer whose `hello` the owner of the channel has checked begins with admitting.
 */

import {
  type Bye,
  type ByeCode,
  type Hello,
  type PeerMessage,
  type ServerMessage,
  SYNC_VERSION,
  unreachable,
} from "@bigpeer/protocol";
import { askRun, cancelRun, takeAnswer } from "./awaited-runs.ts";
import { checkGreeting, isForApp } from "./greeting.ts";
import { causeOfDeath, isPingDue, watchQueue } from "./liveness.ts";
import type { Grant, Moment, SessionAction, SessionEvent } from "./session-event.ts";
import { hearPong, NO_PINGS, sendPing } from "./session-ping.ts";
import {
  type AdmittingSession,
  CLOSED,
  type GreetingSession,
  type OpenSession,
  type SessionConfig,
  type SessionState,
} from "./session-state.ts";
import {
  endFollowing,
  endStream,
  followed,
  recheck,
  subscribe,
  wantStream,
} from "./subscription-list.ts";
import { sequenceOf, settleUpload, takeUpload } from "./upload-sequence.ts";

export interface ServerStep {
  readonly state: SessionState;
  readonly actions: readonly SessionAction[];
}

type EventOf<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

/** One sentence for all faults of a credential (S3). */
const UNAUTHORIZED = "the credential is not known, has expired, or is not for this app";

/** Milliseconds after which a peer should reconnect when the server has failed. */
const BUSY_AFTER_MS = 1000;

/** Message to a peer whose credential has used up its upload allowance (S59). */
const LIMITED =
  "too many uploads of this credential were refused, or too many devices are new; " +
  "what was not taken stays on the device";

const NOTHING: readonly SessionAction[] = [];

const NO_RUNS: OpenSession["runs"] = new Map();

/** State of a session whose connection was just made. */
export function newSession(config: SessionConfig, now: Moment): GreetingSession {
  return { phase: "greeting", config, sinceMs: now.elapsedMs };
}

/** State of a session whose `hello` was checked. */
export function greetedSession(config: SessionConfig, hello: Hello, now: Moment): AdmittingSession {
  return {
    phase: "admitting",
    config,
    sinceMs: now.elapsedMs,
    hello: { ...hello, token: "" },
    newer: undefined,
  };
}

export function serverStep(state: SessionState, event: SessionEvent, now: Moment): ServerStep {
  if (state.phase === "closed") return { state, actions: NOTHING };
  // These events end any phase.
  switch (event.kind) {
    case "garbled":
      return endWith("malformed", event.reason);
    case "revoked":
      return endWith("unauthorized", UNAUTHORIZED);
    case "closing":
      return endWith("closing", "the server stops", event.afterMs);
    case "failed":
      return endWith("busy", "the server could not go on with this session", BUSY_AFTER_MS);
    case "disconnected":
      return { state: CLOSED, actions: [{ kind: "release" }] };
    default:
      break;
  }
  switch (state.phase) {
    case "greeting":
      return greetingStep(state, event, now);
    case "admitting":
      return admittingStep(state, event, now);
    case "open":
      return openStep(state, event, now);
    default:
      return unreachable(state);
  }
}

function send(message: ServerMessage): SessionAction {
  return { kind: "send", message };
}

function endWith(code: ByeCode, message: string, after?: number): ServerStep {
  const bye: Bye = { t: "bye", code, message };
  return {
    state: CLOSED,
    actions: [
      send(after === undefined ? bye : { ...bye, after }),
      { kind: "close" },
      { kind: "release" },
    ],
  };
}

/** Ends the session because of an invalid credential. */
function sendAway(): ServerStep {
  const { state, actions } = endWith("unauthorized", UNAUTHORIZED);
  return { state, actions: [{ kind: "note_failure" }, ...actions] };
}

function unexpected({ t }: PeerMessage, expected: string): ServerStep {
  return endWith("malformed", `expected ${expected}, found ${t}`);
}

/** The peer sent `bye`: it expects no answer. */
function farewell(): ServerStep {
  return { state: CLOSED, actions: [{ kind: "close" }, { kind: "release" }] };
}

// Greeting: waits for `hello`.

function greetingStep(state: GreetingSession, event: SessionEvent, now: Moment): ServerStep {
  switch (event.kind) {
    case "message":
      return greet(state, event.message, now);
    case "tick": {
      const { helloMs } = state.config.limits;
      if (now.elapsedMs - state.sinceMs < helloMs) return { state, actions: NOTHING };
      return endWith("malformed", `expected hello within ${helloMs} ms`);
    }
    default:
      return { state, actions: NOTHING };
  }
}

function greet({ config }: GreetingSession, message: PeerMessage, now: Moment): ServerStep {
  const greeting = checkGreeting(message);
  if (greeting.kind === "bye") return farewell();
  if (greeting.kind === "refused") return endWith(greeting.code, greeting.message);
  const { hello } = greeting;
  if (!isForApp(hello, config.app)) return sendAway();
  const { token } = hello;
  const state = greetedSession(config, hello, now);
  return { state, actions: [{ kind: "admit", ticket: 0, token, hello }] };
}

// Admitting: waits for the check of the credential.

function admittingStep(state: AdmittingSession, event: SessionEvent, now: Moment): ServerStep {
  switch (event.kind) {
    case "message":
      return whileAdmitting(state, event.message, now);
    case "admitted":
      return admit(state, event, now);
    case "rejected":
      return sendAway();
    case "unanswered":
      return endWith("busy", "the credential could not be checked", BUSY_AFTER_MS);
    case "rights_changed":
      return { state: { ...state, newer: event.grant }, actions: NOTHING };
    case "tick": {
      const isLate = now.elapsedMs - state.sinceMs >= state.config.limits.admissionMs;
      if (!isLate) return { state, actions: NOTHING };
      return endWith("busy", "the credential could not be checked in time", BUSY_AFTER_MS);
    }
    default:
      return { state, actions: NOTHING };
  }
}

function whileAdmitting(state: AdmittingSession, message: PeerMessage, now: Moment): ServerStep {
  if (message.t === "ping") {
    return { state, actions: [send({ t: "pong", ping: message.now, now: now.wallMs })] };
  }
  if (message.t === "bye") return farewell();
  return unexpected(message, "nothing before welcome");
}

function admit(state: AdmittingSession, event: EventOf<"admitted">, now: Moment): ServerStep {
  const { config, hello } = state;
  const grant = state.newer ?? event.grant;
  const { expiresMs } = grant.admission;
  if (isOver(expiresMs, now)) return sendAway();
  const { messageBytes, uploads, subscriptions } = config.limits;
  const open: OpenSession = {
    phase: "open",
    config,
    hello,
    expiresMs,
    ticket: event.ticket,
    heardMs: now.elapsedMs,
    pingedMs: undefined,
    pings: NO_PINGS,
    lastPong: undefined,
    announcedTxn: event.txn,
    subscriptions: new Map(),
    uploads: sequenceOf(hello.site, event.known),
    runs: NO_RUNS,
    waiting: undefined,
  };
  const welcome = send({
    t: "welcome",
    version: SYNC_VERSION,
    history: config.history,
    app: config.app,
    txn: event.txn,
    now: now.wallMs,
    known: event.known,
    rights: grant.rights,
    bounds: { messageBytes, uploads, subscriptions },
    ...(expiresMs !== undefined && { expires: expiresMs }),
  });
  return { state: open, actions: [{ kind: "grant", grant }, welcome] };
}

function isOver(expiresMs: number | undefined, now: Moment): boolean {
  return expiresMs !== undefined && expiresMs <= now.wallMs;
}

// Open: subscriptions and uploads.

function openStep(state: OpenSession, event: SessionEvent, now: Moment): ServerStep {
  switch (event.kind) {
    case "message":
      return hear({ ...state, heardMs: now.elapsedMs }, event, now);
    case "admitted":
      if (event.ticket !== state.ticket) return { state, actions: NOTHING };
      return isOver(event.grant.admission.expiresMs, now)
        ? sendAway()
        : regrant(state, event.grant);
    case "rejected":
      return event.ticket === state.ticket ? sendAway() : { state, actions: NOTHING };
    case "unanswered":
      // The previous token stays valid until it expires.
      return { state, actions: NOTHING };
    case "rights_changed":
      return regrant(state, event.grant);
    case "followed":
      return followed(state, event);
    case "not_followed":
      return endFollowing(state, event.id, event);
    case "stream_failed":
      return endStream(state, event);
    case "identified": {
      const { site, known } = event;
      const uploads = sequenceOf(site, known, state.uploads);
      return { state: { ...state, uploads }, actions: [send({ t: "site", site, known })] };
    }
    case "uploaded": {
      const { site, number, answer } = event;
      const { line, actions } = settleUpload(state.uploads, site, number, answer);
      // The server may have read nothing from the peer until now.
      return { state: { ...state, uploads: line, heardMs: now.elapsedMs }, actions };
    }
    case "upload_failed":
      return endUpload(event);
    case "upload_limited":
      return endWith("busy", LIMITED, event.afterMs);
    case "run":
      return askRun(state, event);
    case "cancel_run":
      return cancelRun(state, event.id);
    case "tick":
      return tick(state, event, now);
    default:
      return { state, actions: NOTHING };
  }
}

function hear(state: OpenSession, event: EventOf<"message">, now: Moment): ServerStep {
  const { message, size } = event;
  switch (message.t) {
    case "hello":
      return unexpected(message, "hello once");
    case "subscribe":
      if (state.subscriptions.has(message.id)) {
        return endWith("malformed", `expected a subscription with another id than ${message.id}`);
      }
      return subscribe(state, message);
    case "unsubscribe":
      return endFollowing(state, message.id, undefined);
    case "want":
      return wantStream(state, message);
    case "upload": {
      const max = state.config.limits.uploads;
      if (state.uploads.inFlight >= max) {
        return endWith("malformed", `expected at most ${max} uploads without an outcome`);
      }
      const { line, actions } = takeUpload(state.uploads, message);
      return { state: { ...state, uploads: line }, actions };
    }
    case "site":
      return { state, actions: [{ kind: "identify", site: message.site }] };
    case "token": {
      const ticket = state.ticket + 1;
      const { token } = message;
      const { hello } = state;
      return { state: { ...state, ticket }, actions: [{ kind: "admit", ticket, token, hello }] };
    }
    case "ping":
      return { state, actions: [send({ t: "pong", ping: message.now, now: now.wallMs })] };
    case "pong":
      return { state: hearPong(state, message, now), actions: NOTHING };
    case "metadata": {
      const { hello } = state;
      const peer = { ...hello.peer, metadata: message.metadata };
      return { state: { ...state, hello: { ...hello, peer } }, actions: [{ kind: "describe" }] };
    }
    case "watch":
      return { state, actions: [{ kind: "watch", isOn: message.isOn }] };
    case "answer": {
      const step = takeAnswer(state, message, size);
      return typeof step === "string" ? endWith("malformed", step) : step;
    }
    case "bye":
      return farewell();
    default:
      return unreachable(message);
  }
}

/** The permissions or the expiry of the session changed (S7, S67). */
function regrant(state: OpenSession, grant: Grant): ServerStep {
  const { rights, admission } = grant;
  const { expiresMs } = admission;
  const granted: ServerMessage =
    expiresMs === undefined ? { t: "rights", rights } : { t: "rights", rights, expires: expiresMs };
  return {
    state: { ...state, expiresMs },
    actions: [{ kind: "grant", grant }, send(granted), ...recheck(state)],
  };
}

function endUpload({ site, number, code }: EventOf<"upload_failed">): ServerStep {
  switch (code) {
    case "clock.ahead": {
      // Its stamp is from a wrong clock and never changes. Under a new site the peer stamps it
      // again, by the offset that the next connection measures (S76).
      const message = "the upload is ahead of the server's clock";
      const { state, actions } = endWith("busy", message, BUSY_AFTER_MS);
      return { state, actions: [send({ t: "forked", site, number }), ...actions] };
    }
    case "operation.invalid":
      return endWith("malformed", "expected an upload with a site, a number and a digest");
    case "store.closed":
      return endWith("closing", "the server stops", BUSY_AFTER_MS);
    default:
      return endWith("busy", "the upload could not be kept", BUSY_AFTER_MS);
  }
}

function tick(before: OpenSession, event: EventOf<"tick">, now: Moment): ServerStep {
  const { limits } = before.config;
  if (isOver(before.expiresMs, now)) return endWith("expired", "the token has expired");
  const state = watchQueue(before, event, now.elapsedMs);
  const death = causeOfDeath(state, limits, now.elapsedMs);
  if (death !== undefined) return endWith("too_slow", death);
  const hasChanges = event.txn > state.announcedTxn;
  return isPingDue(state, hasChanges, limits, now.elapsedMs)
    ? sendPing(state, event.txn, now)
    : { state, actions: NOTHING };
}
