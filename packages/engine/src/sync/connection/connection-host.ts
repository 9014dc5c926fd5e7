/**
 * Connection host: the interfaces of a sync connection towards the owner of its channel and towards
 * its sync server.
 */

import type { Hello, OutcomeKind } from "@bigpeer/protocol";
import type { Channel, Platform } from "../../platform.ts";
import type { Authority } from "../../query/permission/authority.ts";
import type { Writer } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import type { CheckUpload, Upload, UploadAnswer } from "../../store/upload.ts";
import type { PresenceBoard, PresentSession } from "../device/presence-board.ts";
import type { AskedSession } from "../device/remote-runs.ts";
import type { ExplainedSession } from "../device/sync-explanation.ts";
import type { Admission, Moment } from "../session/session-event.ts";
import type { SessionConfig } from "../session/session-state.ts";
import type { Streams } from "../streams.ts";
import type { RefusedUploads } from "../upload/refused-uploads.ts";
import type { UploadAllowance } from "../upload/upload-allowance.ts";
import type { UploadBudget } from "../upload/upload-budget.ts";
import type { DecodeQueue } from "./decode-queue.ts";

/** Calls of the owner of the channel. */
export interface ServerConnection {
  /** A frame arrived. Never throws. */
  receive(bytes: Uint8Array): void;
  /** The network has taken everything that was sent. */
  drained(): void;
  /** The connection is closed. */
  closed(): void;
  /** The permissions of its credential changed; undefined if it was revoked (S67). */
  changeRights(admission: Admission | undefined): void;
}

/** A connection as its server sees it. */
export interface HostedConnection extends ServerConnection, PresentSession, AskedSession {
  readonly subscriptionCount: number;
  /** Undefined before `welcome` and after the end. */
  explained(): ExplainedSession | undefined;
  tick(now: Moment): void;
  /** The server stops. */
  end(): void;
}

/** An upload of a session, to be applied to the store. */
export interface SessionUpload {
  readonly upload: Upload;
  readonly check: CheckUpload;
  readonly credential: string;
  /** The sender, as the log names it. */
  readonly by: Writer;
  readonly channel: Channel;
  /** Bytes of its message. */
  readonly size: number;
  /** Whether the session goes on: what it sent is not applied after its end. */
  readonly isOpen: () => boolean;
}

/** Services of the server for its connections. */
export interface ConnectionHost {
  readonly store: Store;
  readonly platform: Platform;
  readonly streams: Streams;
  readonly config: SessionConfig;
  readonly uploadBudget: UploadBudget;
  readonly allowance: UploadAllowance;
  readonly decodeQueue: DecodeQueue;
  readonly presence: PresenceBoard;
  now(): Moment;
  admit(
    token: string,
    hello: Hello,
    channel: Channel,
  ): Promise<Admission | undefined> | Admission | undefined;
  rightsOf(authority: Authority | undefined): Uint8Array;
  /** As takeUpload. */
  upload(asked: SessionUpload): Promise<UploadAnswer>;
  /** Number of a new session. */
  nextSession(): number;
  welcomed(connection: HostedConnection): void;
  /** Must be called while the connection can still report. May be called again. */
  left(connection: HostedConnection): void;
  /** Records an upload that was not applied. A promise, if there is one, never rejects. */
  remember(...upload: Parameters<RefusedUploads["add"]>): Promise<void> | undefined;
  noteFailure(): void;
  noteOutcome(kind: OutcomeKind): void;
  noteFault(error: unknown): void;
  forget(connection: HostedConnection): void;
}
