/**
 * Registry fault: a mistake of whoever wants to change the registry. Nothing was changed then.
 *
 * The title is one of a closed set that clients may rely on; the detail is for people, with the
 * place and with what was expected there.
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
  | "InvalidName"
  | "InvalidRequest"
  | "LimitReached";

/** What a fault repeats of a text from outside. */
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

/** A text from outside as a fault repeats it. */
export function shown(text: string): string {
  const isLong = text.length > SHOWN_LENGTH_MAX;
  return JSON.stringify(isLong ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
}

/** Does a check of the engine; what it refuses is a mistake in the request. */
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

/** Refuses one more where there are as many as there may be. */
export function checkRoom(count: number, max: number, what: string): void {
  if (count > max) throw new RegistryFault("LimitReached", `expected at most ${max} ${what}`);
}

/** Refuses a part of a request that is too long. `what` has its place. */
export function checkSize(size: number, max: number, what: string): void {
  if (size > max) throw new RegistryFault("InvalidRequest", `expected at most ${max} ${what}`);
}
