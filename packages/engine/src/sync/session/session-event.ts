/**
 * Session events and actions: input and output of the session state machine (server-session.ts).
 */

import type {
  Hello,
  PeerMessage,
  RunEnd,
  ServerMessage,
  Site,
  StreamMode,
  SyncCursor,
  Value,
  ValueObject,
} from "@bigpeer/protocol";
import type { Authority } from "../../query/permission/authority.ts";
import type { Writer } from "../../store/records.ts";
import type { Upload, UploadAnswer } from "../../store/upload.ts";
import type { StreamOutcome } from "../stream/session-streams.ts";

/** Wall clock and monotonic clock at one moment. Durations are measured with the second. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  readonly elapsedMs: number;
}

/** Identity and permissions of a session, as the host found them. */
export interface Admission {
  /** What it may do; undefined for everything. */
  readonly authority: Authority | undefined;
  /** Identifies the key or token, so that the host finds the sessions that use it. */
  readonly credential: string;
  /** The same for readers of the log. */
  readonly writer?: Writer | undefined;
  /** When it expires, in milliseconds since 1970. */
  readonly expiresMs?: number | undefined;
  /** User that the provider named; undefined for an API key. */
  readonly userId?: string | undefined;
  /** What the provider said of the user. */
  readonly identity?: ValueObject | undefined;
  /** Address of the peer. */
  readonly address?: string | undefined;
}

export interface Grant {
  readonly admission: Admission;
  /** Digest of what the session may read (S4). */
  readonly rights: Uint8Array;
}

export type SessionEvent =
  | { readonly kind: "opened" }
  /** `size`: bytes of the frame. */
  | { readonly kind: "message"; readonly message: PeerMessage; readonly size: number }
  /** A frame that is not a valid message. */
  | { readonly kind: "garbled"; readonly reason: string }
  /** Answers to `admit`; `ticket` is that of the request. */
  | {
      readonly kind: "admitted";
      readonly ticket: number;
      readonly grant: Grant;
      /** The last transaction of the store, and the last upload of the site. */
      readonly txn: number;
      readonly known: number;
    }
  | { readonly kind: "rejected"; readonly ticket: number }
  /** The credential could not be checked. */
  | { readonly kind: "unanswered"; readonly ticket: number }
  /** Answers to `subscribe` and `recheck`. */
  | {
      readonly kind: "followed";
      readonly id: number;
      readonly filter: Uint8Array;
      readonly filterKey: string;
      readonly collection: string;
      readonly mode: StreamMode;
    }
  | {
      readonly kind: "not_followed";
      readonly id: number;
      readonly code: string;
      readonly message: string;
    }
  /** A followed stream is over. */
  | {
      readonly kind: "stream_failed";
      readonly filterKey: string;
      readonly code: string;
      readonly message: string;
    }
  /** The answer to `identify`. */
  | { readonly kind: "identified"; readonly site: Site; readonly known: number }
  /** The answers to `upload`. */
  | {
      readonly kind: "uploaded";
      readonly site: Site;
      readonly number: number;
      readonly answer: UploadAnswer;
    }
  | {
      readonly kind: "upload_failed";
      readonly site: Site;
      readonly number: number;
      /** Code of the PeerError; empty for any other error. */
      readonly code: string;
    }
  /** The credential has used up its upload allowance for now (S59). */
  | { readonly kind: "upload_limited"; readonly afterMs: number }
  /** A statement should run on the peer (S44); `frame` is the encoded request. */
  | {
      readonly kind: "run";
      readonly id: number;
      readonly rows: number;
      readonly bytes: number;
      readonly frame: Uint8Array;
    }
  /** The caller no longer waits for a run (S46). */
  | { readonly kind: "cancel_run"; readonly id: number }
  /** The permissions of the credential changed (S67). */
  | { readonly kind: "rights_changed"; readonly grant: Grant }
  /** The credential was revoked, or the app deleted (S67). */
  | { readonly kind: "revoked" }
  /** About once a second. */
  | {
      readonly kind: "tick";
      /** All live subscriptions are complete up to here. */
      readonly txn: number;
      /** Bytes that wait for the network, and bytes that it has taken so far. */
      readonly queuedBytes: number;
      readonly takenBytes: number;
    }
  /** The server stops; the peer may return after `afterMs`. */
  | { readonly kind: "closing"; readonly afterMs: number }
  /** The server failed on this session, through no fault of the peer. */
  | { readonly kind: "failed" }
  /** The connection is closed. */
  | { readonly kind: "disconnected" };

export type SessionAction =
  | { readonly kind: "send"; readonly message: ServerMessage }
  /** The same for a message that is encoded once for many sessions. */
  | { readonly kind: "forward"; readonly frame: Uint8Array }
  | {
      readonly kind: "admit";
      readonly ticket: number;
      readonly token: string;
      readonly hello: Hello;
    }
  /** The session has these permissions from now on. */
  | { readonly kind: "grant"; readonly grant: Grant }
  | {
      readonly kind: "subscribe";
      readonly id: number;
      readonly query: string;
      readonly args: ValueObject;
      readonly cursor: SyncCursor | undefined;
    }
  /** The same for a running subscription, if its filter has changed (S20). */
  | {
      readonly kind: "recheck";
      readonly id: number;
      readonly query: string;
      readonly args: ValueObject;
      readonly filter: Uint8Array;
      readonly filterKey: string;
    }
  | { readonly kind: "unfollow"; readonly filterKey: string }
  | {
      readonly kind: "want";
      readonly filterKey: string;
      readonly ids: readonly Value[];
      readonly isLast: boolean;
    }
  | { readonly kind: "identify"; readonly site: Site }
  | { readonly kind: "upload"; readonly upload: Upload }
  | { readonly kind: "outcome"; readonly outcome: StreamOutcome }
  /** The peer changed its metadata (S40). */
  | { readonly kind: "describe" }
  /** The peer starts or stops watching presence (S41). */
  | { readonly kind: "watch"; readonly isOn: boolean }
  /** A piece of the answer to a run; `size`: bytes of the frame. */
  | {
      readonly kind: "answered";
      readonly id: number;
      readonly items: readonly Value[];
      readonly size: number;
      readonly end: RunEnd | undefined;
    }
  /** The credential is not valid. */
  | { readonly kind: "note_failure" }
  /** Closes the connection after everything that was sent. */
  | { readonly kind: "close" }
  /** The session is over and frees all it holds. Always the last action. */
  | { readonly kind: "release" };
