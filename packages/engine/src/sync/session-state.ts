/**
 * The state of a session of the sync server. There are thousands of them, and most rest.
 */

import type { Hello, Site, StreamMode, ValueObject } from "@bigpeer/protocol";
import type { Grant } from "./session-event.ts";

/** What all sessions of a server have in common. */
export interface SessionFacts {
  readonly history: string;
  readonly app: string;
  readonly limits: SessionLimits;
}

export interface SessionLimits {
  readonly messageBytes: number;
  /** Uploads without an outcome. */
  readonly uploads: number;
  readonly subscriptions: number;
  /** About what the texts and arguments of all subscriptions of a session may take. */
  readonly subscriptionBytes: number;
  /** Bytes of uploads that are being applied, of one session and of all: more are not read meanwhile. */
  readonly uploadBytes: number;
  readonly allUploadBytes: number;
  /** How long a peer may take to say who it is. */
  readonly helloMs: number;
  /** How long it may take to find out whether that is true. */
  readonly admissionMs: number;
  /** After so much silence `ping` is sent, and after so much the connection is ended. */
  readonly pingMs: number;
  readonly silenceMs: number;
  /** How long nothing of what waits may be taken by the network. */
  readonly stuckMs: number;
}

export interface GreetingSession {
  readonly phase: "greeting";
  readonly facts: SessionFacts;
  readonly sinceMs: number;
}

export interface AdmittingSession {
  readonly phase: "admitting";
  readonly facts: SessionFacts;
  readonly sinceMs: number;
  readonly hello: Hello;
  /** What the permissions were changed to while the question was on its way. */
  readonly newer: Grant | undefined;
}

export interface OpenSession {
  readonly phase: "open";
  readonly facts: SessionFacts;
  /** Without the token: whoever is asked again is asked with another one. */
  readonly hello: Hello;
  readonly expiresMs: number | undefined;
  /** The last question about a token: an answer to an earlier one means nothing. */
  readonly ticket: number;
  readonly heardMs: number;
  /** Undefined before the first (S43). */
  readonly pingedMs: number | undefined;
  /** Those that were not answered yet, the oldest first. */
  readonly pings: readonly SentPing[];
  /** What the last pong told; undefined before. */
  readonly told: PongFacts | undefined;
  /** What the last ping told. */
  readonly toldTxn: number;
  readonly subscriptions: ReadonlyMap<number, Subscription>;
  readonly uploads: UploadLine;
  /** Statements whose answers are waited for. */
  readonly runs: ReadonlyMap<number, AwaitedRun>;
  /** Set while something waits for the network. */
  readonly waiting: Waiting | undefined;
}

export interface SentPing {
  /** The wall clock that it told, by which its pong names it. */
  readonly wallMs: number;
  readonly elapsedMs: number;
}

/** How far a peer is (S43), as old as its last pong. */
export interface PongFacts {
  readonly txn: number | undefined;
  readonly pending: number | undefined;
  readonly roundTripMs: number;
  /** When the ping was sent that it answers. */
  readonly pingedMs: number;
}

/** A statement that the peer was asked to run, and what has come of it so far. */
export interface AwaitedRun {
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly rows: number;
  readonly bytes: number;
}

/** What the network has taken in all, and since when not more. */
export interface Waiting {
  readonly takenBytes: number;
  readonly sinceMs: number;
}

export interface Subscription {
  readonly query: string;
  readonly args: ValueObject;
  /** About how many bytes both take. */
  readonly size: number;
  /** Undefined until it is followed. */
  readonly stream: FollowedStream | undefined;
}

export interface FollowedStream {
  readonly filter: Uint8Array;
  readonly filterKey: string;
  readonly collection: string;
  readonly mode: StreamMode;
}

/** The uploads of a session, in the order of their numbers. */
export interface UploadLine {
  readonly site: Site;
  /** The number that continues those before; smaller ones are repeats. */
  readonly next: number;
  /** Without an outcome. */
  readonly inFlight: number;
  /**
   * What comes is passed over. `gap`: until a number continues; the peer has been told which.
   * `forked`: until another site is named.
   */
  readonly aside: "none" | "gap" | "forked";
}

export interface ClosedSession {
  readonly phase: "closed";
}

export type SessionState = GreetingSession | AdmittingSession | OpenSession | ClosedSession;

export const CLOSED: ClosedSession = { phase: "closed" };
