/**
 * What happens to a session of the sync server, and what it wants done: the words of its machine.
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
import type { Authority } from "../query/permission/authority.ts";
import type { Upload, UploadAnswer } from "../store/upload.ts";
import type { StreamOutcome } from "./session-streams.ts";

/** Both clocks of one moment: what has passed is told by the one that never goes back. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  readonly elapsedMs: number;
}

/** Who a session is, as the host found out. */
export interface Admission {
  /** What it may do; everything when it is undefined. */
  readonly authority: Authority | undefined;
  /** Names the key or token, so that the host finds the sessions that it has let in by it. */
  readonly credential: string;
  /** When it ends, milliseconds since 1970. */
  readonly expiresMs?: number | undefined;
  /** Whom the provider has named; nobody for an API key. */
  readonly userId?: string | undefined;
  /** What the provider said of him. */
  readonly identity?: ValueObject | undefined;
  /** Where the connection comes from. */
  readonly address?: string | undefined;
}

export interface Grant {
  readonly admission: Admission;
  /** The digest of what may be read (S4). */
  readonly rights: Uint8Array;
}

export type SessionEvent =
  | { readonly kind: "opened" }
  /** `size`: the bytes of its frame. */
  | { readonly kind: "message"; readonly message: PeerMessage; readonly size: number }
  /** A frame that is no message. */
  | { readonly kind: "garbled"; readonly reason: string }
  /** The answers to `admit`; `ticket` is that of the question. */
  | {
      readonly kind: "admitted";
      readonly ticket: number;
      readonly grant: Grant;
      /** The last transaction of the store, and the last upload of the site. */
      readonly txn: number;
      readonly known: number;
    }
  | { readonly kind: "rejected"; readonly ticket: number }
  /** Whoever knows credentials could not be asked. */
  | { readonly kind: "unanswered"; readonly ticket: number }
  /** The answers to `subscribe` and `judge_anew`. */
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
  /** A stream that was followed is over. */
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
      /** The code of the PeerError; empty for what is none. */
      readonly code: string;
    }
  /** The credential has used all that it may for now (S59). */
  | { readonly kind: "upload_limited"; readonly afterMs: number }
  /** Somebody wants a statement to be run on the peer (S44); `frame` is what asks for it. */
  | {
      readonly kind: "run";
      readonly id: number;
      readonly rows: number;
      readonly bytes: number;
      readonly frame: Uint8Array;
    }
  /** Nobody waits for it any more (S46). */
  | { readonly kind: "cancel_run"; readonly id: number }
  /** The permissions of the credential are other ones. */
  | { readonly kind: "rights_changed"; readonly grant: Grant }
  /** The credential, or the app, is no more. */
  | { readonly kind: "revoked" }
  /** About once a second. */
  | {
      readonly kind: "tick";
      /** All live subscriptions are complete up to here. */
      readonly txn: number;
      /** Bytes that wait for the network, and all that it has taken so far. */
      readonly queuedBytes: number;
      readonly takenBytes: number;
    }
  /** The server stops. */
  | { readonly kind: "closing" }
  /** Something of this session failed here, through no fault of the peer. */
  | { readonly kind: "failed" }
  /** The connection is gone. */
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
  /** From now on the session may do this. */
  | { readonly kind: "grant"; readonly grant: Grant }
  | {
      readonly kind: "subscribe";
      readonly id: number;
      readonly query: string;
      readonly args: ValueObject;
      readonly cursor: SyncCursor | undefined;
    }
  /** The same for a running subscription, if its filter is another one now (S20). */
  | {
      readonly kind: "judge_anew";
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
  /** The peer says something else of itself (S40). */
  | { readonly kind: "describe" }
  /** Whether the peer wants to be told of others (S41). */
  | { readonly kind: "watch"; readonly isOn: boolean }
  /** A piece of what a statement gave; `size`: the bytes of its frame. */
  | {
      readonly kind: "answered";
      readonly id: number;
      readonly items: readonly Value[];
      readonly size: number;
      readonly end: RunEnd | undefined;
    }
  /** Somebody came with a credential that is not known. */
  | { readonly kind: "note_failure" }
  /** Ends the connection after what was sent. */
  | { readonly kind: "close" }
  /** The session is over: nothing of it is needed any more. Always the last. */
  | { readonly kind: "release" };
