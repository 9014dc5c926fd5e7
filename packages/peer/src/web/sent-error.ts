/**
 * Sent errors: an error as a message between a page and its worker, and back.
 *
 * The browser can clone an Error, but not the fields of a PeerError.
 */

import { type ErrorCode, PeerError, type TextPlace } from "@bigpeer/protocol";

export interface SentError {
  readonly name: string;
  /** Without place and hint, if it is a PeerError. */
  readonly message: string;
  /** Set for a PeerError. */
  readonly code?: ErrorCode;
  readonly at?: string | undefined;
  readonly place?: TextPlace | undefined;
  readonly expected?: string | undefined;
  readonly hint?: string | undefined;
}

export function sentError(error: unknown): SentError {
  if (error instanceof PeerError) {
    const { name, reason: message, code, at, place, expected, hint } = error;
    return { name, message, code, at, place, expected, hint };
  }
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: "Error", message: String(error) };
}

export function errorFrom({ name, message, code, ...rest }: SentError): Error {
  if (code !== undefined) return new PeerError(code, message, rest);
  const error = new Error(message);
  error.name = name;
  return error;
}

/** For a page and a worker of different builds that do not understand each other. */
export function otherBuild(): PeerError {
  const message = "another tab runs a newer version of this app";
  return new PeerError("store.in_use", message, { hint: "reload this page" });
}
