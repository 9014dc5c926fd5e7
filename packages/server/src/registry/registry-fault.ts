/**
 * Registry fault: an error of a caller that wants to change the registry. Nothing was changed.
 *
 * The title is one of a fixed set that clients may rely on. The detail is for people, with the
 * place and what was expected there.
 */

import { PeerError } from "@bigpeer/protocol";

export type RegistryTitle =
  | "AppNotFound"
  | "AppNameNotUnique"
  | "AppIdNotUnique"
  | "AppNameMismatch"
  | "ApiKeyNotFound"
  | "ApiKeyNameNotUnique"
  | "InvalidApiKeyExpiryDate"
  | "BigPeerReplicationNotFound"
  | "BigPeerReplicationNameNotUnique"
  | "AuthProviderNotFound"
  | "WebhookNotFound"
  | "WebhookNameNotUnique"
  | "SinkNotFound"
  | "SinkNameNotUnique"
  | "DeadLetterNotFound"
  | "InvalidName"
  | "InvalidRequest"
  | "LimitReached";

/** Maximum characters of an external text in a message. */
const SHOWN_LENGTH_MAX = 80;

export class RegistryFault extends Error {
  readonly title: RegistryTitle;
  readonly detail: string;

  constructor(title: RegistryTitle, detail: string) {
    super(`${title}: ${detail}`);
    this.name = "RegistryFault";
    this.title = title;
    this.detail = detail;
  }
}

/** Quotes an external text for a message, shortened. */
export function shown(text: string): string {
  const isLong = text.length > SHOWN_LENGTH_MAX;
  return JSON.stringify(isLong ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
}

/** Runs a check of the engine; maps its error to InvalidRequest. */
export function checked<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    const { message, expected } = error;
    const isSaid = expected === undefined || message.includes(expected);
    const detail = isSaid ? message : `${message}; expected ${expected}`;
    throw new RegistryFault("InvalidRequest", detail);
  }
}

/** Throws LimitReached when `count` exceeds `max`. */
export function checkRoom(count: number, max: number, what: string): void {
  if (count > max) throw new RegistryFault("LimitReached", `expected at most ${max} ${what}`);
}

/** Throws InvalidRequest when a part of a request is too long. `what` includes its place. */
export function checkSize(size: number, max: number, what: string): void {
  if (size > max) throw new RegistryFault("InvalidRequest", `expected at most ${max} ${what}`);
}
