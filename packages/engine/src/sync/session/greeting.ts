/**
 * Greeting: the first message of a connection, decoded and checked. It must be `hello` in a
 * supported version (S2).
 *
 * The gate of the server and the session state machine share these checks. Whether the credential
 * is valid is not decided here.
 */

import {
  type ByeCode,
  decodePeerMessage,
  type Hello,
  PeerError,
  type PeerMessage,
  SYNC_VERSION,
  versionMismatch,
} from "@bigpeer/protocol";
import type { Admission } from "./session-event.ts";

export type Greeting =
  | { readonly kind: "hello"; readonly hello: Hello }
  /** The peer leaves again, and expects no answer. */
  | { readonly kind: "bye" }
  /** To be answered with `bye`. */
  | { readonly kind: "refused"; readonly code: ByeCode; readonly message: string };

/** A peer whose `hello` was checked and whose credential is valid. */
export interface AdmittedPeer {
  readonly hello: Hello;
  /** Bytes of the frame of `hello`. */
  readonly size: number;
  readonly admission: Admission;
}

/** Decodes and checks the first frame of a connection. */
export function readGreeting(bytes: Uint8Array): Greeting {
  try {
    return checkGreeting(decodePeerMessage(bytes));
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { kind: "refused", code: "malformed", message: error.message };
  }
}

/** The same for a message that is decoded already. */
export function checkGreeting(message: PeerMessage): Greeting {
  if (message.t === "bye") return { kind: "bye" };
  if (message.t !== "hello") {
    const found = `expected hello first, found ${message.t}`;
    return { kind: "refused", code: "malformed", message: found };
  }
  if (message.version === SYNC_VERSION) return { kind: "hello", hello: message };
  const mismatch = versionMismatch("the server", "the peer", message.version);
  return { kind: "refused", code: "version", message: mismatch };
}

/** Whether `hello` names this app, or leaves it to the credential. */
export function isForApp({ app }: Hello, appId: string): boolean {
  return app === undefined || app === appId;
}
