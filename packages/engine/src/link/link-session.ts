/**
 * Link session: one side of a link, as a pure state machine without socket, timer or clock.
 *
 * `linkStep` takes a state, an event and the time. It returns the next state and the actions to
 * perform, in order. Documents do not pass through it. Rule numbers are those of
 * docs/sync-protocol.md.
 *
 *   greeting → proving → meeting → linked → closed
 */

import {
  type Bye,
  type ByeCode,
  type Linked,
  type LinkHello,
  type LinkMessage,
  type LinkPing,
  SYNC_VERSION,
  unreachable,
  versionMismatch,
} from "@bigpeer/protocol";
import { causeOfDeath, isPingDue, watchQueue } from "../sync/session/liveness.ts";
import { type LinkSide, linkProofBytes } from "./link-proof.ts";
import {
  CLOSED,
  type Greeting,
  type LinkAction,
  type LinkConfig,
  type LinkedState,
  type LinkMoment,
  type LinkSessionEvent,
  type LinkState,
  type LinkStep,
  type Meeting,
  type Proving,
  type WantedQuery,
} from "./link-state.ts";
import {
  configure,
  endServed,
  followDue,
  hold,
  sendSubscribe,
  serve,
  served,
  takeSubscribed,
  takeUnsubscribed,
  takeWant,
  unserve,
} from "./link-subscriptions.ts";

type EventOf<K extends LinkSessionEvent["kind"]> = Extract<LinkSessionEvent, { kind: K }>;

/** One sentence for all cases: it must not reveal which apps exist (S83). */
const UNAUTHORIZED =
  "there is no such app to be linked with here, or its replication secret is another";

/** Reason if this side has no secret. */
const NO_SECRET = "there is no replication secret for the app here";

const NOTHING: readonly LinkAction[] = [];

const HISTORY = /^[0-9A-Za-z]{1,64}$/;

/** State of a link whose connection was just made. `hasGreeted`: its `link` is already sent. */
export function newLink(
  config: LinkConfig,
  wanted: readonly WantedQuery[],
  now: LinkMoment,
  hasGreeted = false,
): Greeting {
  return { phase: "greeting", config, sinceMs: now.elapsedMs, wanted, hasGreeted };
}

export function linkStep(state: LinkState, event: LinkSessionEvent, now: LinkMoment): LinkStep {
  if (state.phase === "closed") return { state, actions: NOTHING };
  // These events end any phase.
  switch (event.kind) {
    case "garbled":
      return endWith("malformed", event.reason);
    case "closing":
      return endWith(event.code, event.message, event.after);
    case "disconnected":
      return lost();
    case "message":
      if (event.message.t === "bye") return farewell(event.message);
      break;
    default:
      break;
  }
  switch (state.phase) {
    case "greeting":
      return greetingStep(state, event, now);
    case "proving":
      return provingStep(state, event, now);
    case "meeting":
      return meetingStep(state, event, now);
    case "linked":
      return linkedStep(state, event, now);
    default:
      return unreachable(state);
  }
}

function stay(state: LinkState): LinkStep {
  return { state, actions: NOTHING };
}

function send(message: LinkMessage): LinkAction {
  return { kind: "send", message };
}

function endWith(code: ByeCode, message: string, after?: number): LinkStep {
  const bye = after === undefined ? { code, message } : { code, message, after };
  const isOrderly = true;
  return {
    state: CLOSED,
    actions: [
      send({ t: "bye", ...bye }),
      { kind: "ended", bye, isOrderly },
      { kind: "close" },
      { kind: "release", isOrderly },
    ],
  };
}

/** The other side sent `bye`: what it sent before counts (S6). */
function farewell({ code, message, after }: Bye): LinkStep {
  const bye = after === undefined ? { code, message } : { code, message, after };
  const isOrderly = true;
  return {
    state: CLOSED,
    actions: [{ kind: "ended", bye, isOrderly }, { kind: "close" }, { kind: "release", isOrderly }],
  };
}

function lost(): LinkStep {
  return { state: CLOSED, actions: [{ kind: "release", isOrderly: false }] };
}

function unexpected({ t }: LinkMessage, expected: string): LinkStep {
  return endWith("malformed", `expected ${expected}, found ${t}`);
}

function otherSide(side: LinkSide): LinkSide {
  return side === "dial" ? "accept" : "dial";
}

/** Events that all phases before `linked` handle alike. */
function beforeLinked(
  state: Greeting | Proving | Meeting,
  event: LinkSessionEvent,
  now: LinkMoment,
): LinkStep {
  if (event.kind === "configured") return stay({ ...state, wanted: event.wanted });
  const { greetingMs } = state.config.limits;
  if (event.kind !== "tick" || now.elapsedMs - state.sinceMs < greetingMs) return stay(state);
  return endWith("malformed", `expected the other side to be linked within ${greetingMs} ms`);
}

// Greeting: waits for `link`.

function greetingStep(state: Greeting, event: LinkSessionEvent, now: LinkMoment): LinkStep {
  const { side } = state.config;
  if (event.kind === "opened" && side === "dial" && !state.hasGreeted) {
    return { state: { ...state, hasGreeted: true }, actions: [greeting(state.config)] };
  }
  if (event.kind !== "message") return beforeLinked(state, event, now);
  const { message } = event;
  return message.t === "link" ? greet(state, message) : unexpected(message, "link first");
}

const DIALING = "the dialing Big Peer";
const ACCEPTING = "the accepting Big Peer";

function greeting({ app, nonce }: LinkConfig): LinkAction {
  return send({ t: "link", version: SYNC_VERSION, app, nonce });
}

function greet({ config, sinceMs, wanted, hasGreeted }: Greeting, hello: LinkHello): LinkStep {
  if (hello.version !== SYNC_VERSION) {
    const [own, other] = config.side === "dial" ? [DIALING, ACCEPTING] : [ACCEPTING, DIALING];
    const message = versionMismatch(own, other, hello.version);
    return endWith("version", message);
  }
  if (hello.app !== config.app) return endWith("unauthorized", UNAUTHORIZED);
  const { side } = config;
  const nonces =
    side === "dial"
      ? { dial: config.nonce, accept: hello.nonce }
      : { dial: hello.nonce, accept: config.nonce };
  const state: Proving = { phase: "proving", config, sinceMs, wanted, nonces, claim: undefined };
  const greeted = hasGreeted ? NOTHING : [greeting(config)];
  // The side that dialled proves first (S48).
  return { state, actions: side === "dial" ? [...greeted, sign(state, "dial")] : greeted };
}

// Proving: waits for the proof of the other side.

function sign({ config, nonces }: Proving, side: LinkSide): LinkAction {
  return { kind: "sign", side, bytes: linkProofBytes({ app: config.app, side, nonces }) };
}

function provingStep(state: Proving, event: LinkSessionEvent, now: LinkMoment): LinkStep {
  const { side } = state.config;
  if (event.kind === "message") {
    const { message } = event;
    if (message.t !== "proof" || state.claim !== undefined) {
      return unexpected(message, "one proof");
    }
    const claimed = { ...state, claim: message.proof };
    return { state: claimed, actions: [sign(claimed, otherSide(side))] };
  }
  if (event.kind !== "signed") return beforeLinked(state, event, now);
  if (event.side === side) return prove(state, event.proof, now);
  const { claim } = state;
  if (claim === undefined) return stay(state);
  if (event.proof === undefined || !isSame(claim, event.proof)) {
    return endWith("unauthorized", UNAUTHORIZED);
  }
  if (side === "accept") return { state, actions: [sign(state, "accept")] };
  return meet(state, NOTHING, now);
}

function prove(state: Proving, proof: Uint8Array | undefined, now: LinkMoment): LinkStep {
  if (proof === undefined) return endWith("unauthorized", NO_SECRET);
  const proved = [send({ t: "proof", proof })];
  return state.config.side === "dial" ? { state, actions: proved } : meet(state, proved, now);
}

/** Compares in constant time. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (const [i, byte] of a.entries()) difference |= byte ^ (b[i] ?? 0);
  return difference === 0;
}

function meet(
  { config, sinceMs, wanted }: Proving,
  before: readonly LinkAction[],
  now: LinkMoment,
): LinkStep {
  const { history, sites } = config;
  const linked = send({ t: "linked", history, txn: now.txn, now: Math.round(now.wallMs), sites });
  return { state: { phase: "meeting", config, sinceMs, wanted }, actions: [...before, linked] };
}

// Meeting: waits for `linked`.

function meetingStep(state: Meeting, event: LinkSessionEvent, now: LinkMoment): LinkStep {
  if (event.kind !== "message") return beforeLinked(state, event, now);
  const { message } = event;
  return message.t === "linked" ? link(state, message, now) : unexpected(message, "linked");
}

function link({ config, wanted }: Meeting, message: Linked, now: LinkMoment): LinkStep {
  const { history, txn } = message;
  // The history becomes part of keys, and is shown.
  if (!HISTORY.test(history)) {
    return endWith("malformed", "expected a history of 1 to 64 letters and digits");
  }
  if (history === config.history) return endWith("stopped", "the link leads to this very store");
  const state: LinkedState = {
    phase: "linked",
    config,
    partner: history,
    heardMs: now.elapsedMs,
    pingedMs: now.elapsedMs,
    announcedTxn: now.txn,
    partnerTxn: txn,
    announcedSites: config.sites.length,
    lastId: 0,
    follows: new Map(),
    served: new Map(),
    waiting: undefined,
  };
  const { state: next, actions } = configure(state, wanted);
  const linked: LinkAction = { kind: "linked", partner: history };
  return { state: next, actions: [linked, ...noteSites(message), ...actions] };
}

function noteSites({ sites }: Linked | LinkPing): LinkAction[] {
  return sites === undefined ? [] : [{ kind: "sites", sites }];
}

// Linked: both sides follow each other.

function linkedStep(state: LinkedState, event: LinkSessionEvent, now: LinkMoment): LinkStep {
  switch (event.kind) {
    case "message":
      return hear({ ...state, heardMs: now.elapsedMs }, event, now);
    case "configured":
      return configure(state, event.wanted);
    case "cursor":
      return sendSubscribe(state, event);
    case "held":
      return hold(state, event);
    case "served":
      return served(state, event);
    case "not_served":
      return unserve(state, event.id, event);
    case "stream_failed":
      return endServed(state, event);
    case "tick":
      return tick(state, event, now);
    default:
      return stay(state);
  }
}

function hear(state: LinkedState, event: EventOf<"message">, now: LinkMoment): LinkStep {
  const { message, size } = event;
  switch (message.t) {
    case "link":
    case "proof":
    case "linked":
      return unexpected(message, "no greeting on a link");
    case "subscribe":
      if (state.served.has(message.id)) {
        return endWith("malformed", `expected a subscription with another id than ${message.id}`);
      }
      return serve(state, message);
    case "unsubscribe":
      return unserve(state, message.id, undefined);
    case "want":
      return takeWant(state, message);
    case "subscribed":
      if (message.mode === "compare") return unexpected(message, "resume or fill");
      return takeSubscribed(state, message);
    case "unsubscribed":
      return takeUnsubscribed(state, message, now);
    case "documents":
    case "behind":
      return { state, actions: [{ kind: "take", message, size }] };
    case "complete":
    case "committed":
      return { state: heardOf(state, message.txn), actions: [{ kind: "take", message, size }] };
    case "fetch":
    case "content":
      return { state, actions: [{ kind: "contents", message }] };
    case "ping":
      return takePing(state, message, now);
    case "pong":
      return stay(state);
    case "bye":
      return farewell(message);
    default:
      return unreachable(message);
  }
}

function heardOf(state: LinkedState, txn: number): LinkedState {
  return txn > state.partnerTxn ? { ...state, partnerTxn: txn } : state;
}

function takePing(state: LinkedState, message: LinkPing, now: LinkMoment): LinkStep {
  const { now: ping, txn } = message;
  const pong = send({ t: "pong", ping, now: Math.round(now.wallMs) });
  const actions = [pong, ...noteSites(message)];
  if (txn === undefined) return { state, actions };
  return { state: heardOf(state, txn), actions: [...actions, { kind: "reached", txn }] };
}

function tick(before: LinkedState, event: EventOf<"tick">, now: LinkMoment): LinkStep {
  const { limits } = before.config;
  // While this side does not read, silence means nothing.
  const reading = event.isReading ? before : { ...before, heardMs: now.elapsedMs };
  const state = watchQueue(reading, event, now.elapsedMs);
  const death = causeOfDeath(state, limits, now.elapsedMs);
  if (death !== undefined) return endWith("too_slow", death);
  const { state: next, actions } = followDue(state, now);
  const { servedTxn, sites } = event;
  const hasSites = sites.length > next.announcedSites;
  const hasChanges = servedTxn > next.announcedTxn || hasSites;
  if (!isPingDue(next, hasChanges, limits, now.elapsedMs)) return { state: next, actions };
  const position = hasSites ? { txn: servedTxn, sites } : { txn: servedTxn };
  const ping = send({ t: "ping", now: Math.round(now.wallMs), ...position });
  const pinged = {
    ...next,
    pingedMs: now.elapsedMs,
    announcedTxn: servedTxn,
    announcedSites: sites.length,
  };
  return { state: pinged, actions: [...actions, ping] };
}
