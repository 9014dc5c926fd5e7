/**
 * What a connection of the sync server is to whoever owns its channel, and what it needs of its
 * server.
 */

import type { Hello, OutcomeKind } from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import type { Authority } from "../query/permission/authority.ts";
import type { Store } from "../store/store.ts";
import type { PresenceBoard, PresentSession } from "./presence-board.ts";
import type { ReadingLine } from "./reading-line.ts";
import type { RefusedUploads } from "./refused-uploads.ts";
import type { AskedSession } from "./remote-runs.ts";
import type { Admission, Moment } from "./session-event.ts";
import type { SessionFacts } from "./session-state.ts";
import type { Streams } from "./streams.ts";
import type { ExplainedSession } from "./sync-explanation.ts";
import type { UploadAllowance } from "./upload-allowance.ts";
import type { UploadRoom } from "./upload-room.ts";

/** What whoever owns the channel tells and asks. */
export interface ServerConnection {
  /** A frame came. Never throws. */
  receive(bytes: Uint8Array): void;
  /** What was sent has been taken by the network. */
  drained(): void;
  /** The connection is gone. */
  closed(): void;
  /** The permissions of its credential are other ones; undefined when it is no more (S7). */
  changeRights(admission: Admission | undefined): void;
}

/** What a connection is to its server. */
export interface HostedConnection extends ServerConnection, PresentSession, AskedSession {
  readonly subscriptionCount: number;
  /** Undefined before it was welcomed, and after its end. */
  explained(): ExplainedSession | undefined;
  tick(now: Moment): void;
  /** The server stops. */
  end(): void;
}

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly store: Store;
  readonly platform: Platform;
  readonly streams: Streams;
  readonly facts: SessionFacts;
  readonly uploadRoom: UploadRoom;
  readonly allowance: UploadAllowance;
  readonly readingLine: ReadingLine;
  readonly presence: PresenceBoard;
  now(): Moment;
  admit(
    token: string,
    hello: Hello,
    channel: Channel,
  ): Promise<Admission | undefined> | Admission | undefined;
  rightsOf(authority: Authority | undefined): Uint8Array;
  /** The number of a session that has begun. */
  nextSession(): number;
  welcomed(connection: HostedConnection): void;
  /** To be called while everything of it can still be asked. May be called again. */
  left(connection: HostedConnection): void;
  /** What became of an upload, where it was not applied. A promise where that takes long; never rejects. */
  remember(...upload: Parameters<RefusedUploads["add"]>): Promise<void> | undefined;
  noteFailure(): void;
  noteOutcome(kind: OutcomeKind): void;
  noteFault(error: unknown): void;
  forget(connection: HostedConnection): void;
}
