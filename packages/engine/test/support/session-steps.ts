/**
 * Sessions of the sync server in each of their phases, and short words for what happens to them.
 */

import {
  type Bye,
  type Hello,
  type PeerMessage,
  type ServerMessage,
  type Subscribe,
  SYNC_VERSION,
  type UploadMessage,
} from "@bigpeer/protocol";
import type { UploadAnswer } from "../../src/store/upload.ts";
import { newSession, type ServerStep, serverStep } from "../../src/sync/session/server-session.ts";
import type {
  Grant,
  Moment,
  SessionAction,
  SessionEvent,
} from "../../src/sync/session/session-event.ts";
import type {
  FollowedStream,
  SessionConfig,
  SessionState,
} from "../../src/sync/session/session-state.ts";

export const NOW: Moment = { wallMs: 1_000_000, elapsedMs: 5000 };

const FACTS: SessionConfig = {
  history: "h1",
  app: "app1",
  limits: {
    messageBytes: 1000,
    uploads: 3,
    subscriptions: 3,
    subscriptionBytes: 1000,
    uploadBytes: 1000,
    allUploadBytes: 2000,
    helloMs: 10_000,
    admissionMs: 30_000,
    pingMs: 30_000,
    silenceMs: 60_000,
    stuckMs: 60_000,
  },
};

export const SITE = "00000000000000aa";
export const OTHER_SITE = "00000000000000bb";

export const HELLO: Hello = {
  t: "hello",
  version: SYNC_VERSION,
  token: "secret",
  site: SITE,
  peer: { key: "k", deviceName: "d", os: "o", sdk: "s", metadata: {} },
  now: 999_000,
};

export function grantOf(credential: string, expiresMs?: number): Grant {
  return {
    admission: { authority: undefined, credential, expiresMs },
    rights: Uint8Array.of(credential.length),
  };
}

const GRANT: Grant = grantOf("key");

export function uploadOf(number: number): UploadMessage {
  return { t: "upload", number, digest: Uint8Array.of(number), steps: [] };
}

export const FILTER: Uint8Array = Uint8Array.of(7);
export const STREAM: FollowedStream = {
  filter: FILTER,
  filterKey: "f",
  collection: "cars",
  mode: "fill",
};

/** Later by so many milliseconds, on both clocks. */
export function later(ms: number, from: Moment = NOW): Moment {
  return { wallMs: from.wallMs + ms, elapsedMs: from.elapsedMs + ms };
}

/** What happens, one after the other; the actions are those of the last. */
export function run(state: SessionState, ...events: readonly SessionEvent[]): ServerStep {
  let step: ServerStep = { state, actions: [] };
  for (const event of events) step = serverStep(step.state, event, NOW);
  return step;
}

export function say(message: PeerMessage, size = 0): SessionEvent {
  return { kind: "message", message, size };
}

export function answered(number: number, answer: UploadAnswer, site = SITE): SessionEvent {
  return { kind: "uploaded", site, number, answer };
}

export function takenAs(outcome: "applied" | "refused" | "stale", txnId: number): UploadAnswer {
  const record = { digest: new Uint8Array(), txnId, outcome, reason: "" };
  return { kind: "taken", record, isReplay: false, documents: [{ collection: "cars", id: "a" }] };
}

export function tickAt(
  change: Partial<Extract<SessionEvent, { kind: "tick" }>> = {},
): SessionEvent {
  return { kind: "tick", txn: 0, queuedBytes: 0, takenBytes: 0, ...change };
}

export const ADMITTED: Extract<SessionEvent, { kind: "admitted" }> = {
  kind: "admitted",
  ticket: 0,
  grant: GRANT,
  txn: 41,
  known: 5,
};
export const SUBSCRIBE: Subscribe = {
  t: "subscribe",
  id: 1,
  query: "SELECT * FROM cars",
  args: {},
};

export const GREETING: SessionState = newSession(FACTS, NOW);
export const ADMITTING: SessionState = run(GREETING, say(HELLO)).state;
/** It was pinged for the first time. */
export const EMPTY: SessionState = run(ADMITTING, ADMITTED, tickAt({ txn: 41 })).state;
/** What asks for the statement that an open session is waited for. */
export const RUN: Extract<SessionEvent, { kind: "run" }> = {
  kind: "run",
  id: 4,
  rows: 3,
  bytes: 100,
  frame: Uint8Array.of(1, 2),
};
/** With a subscription, an upload and a statement under way. */
export const OPEN: SessionState = run(
  EMPTY,
  say(SUBSCRIBE),
  { kind: "followed", id: 1, ...STREAM },
  say(uploadOf(6)),
  RUN,
).state;
export const CLOSED: SessionState = run(GREETING, { kind: "closing", afterMs: 2000 }).state;

/** An action in a few words. */
function wordOf(action: SessionAction): string {
  if (action.kind !== "send") return action.kind;
  const { message } = action;
  return message.t === "bye" ? `bye ${message.code}` : message.t;
}

export function wordsOf({ actions }: ServerStep): string {
  return actions.map(wordOf).join(", ");
}

export function sent({ actions }: ServerStep): ServerMessage[] {
  return actions.flatMap((action) => (action.kind === "send" ? [action.message] : []));
}

export function byeOf(step: ServerStep): Bye | undefined {
  return sent(step).find((message): message is Bye => message.t === "bye");
}
