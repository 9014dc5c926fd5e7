/**
 * Problem: how the management API tells a failure. A `title` for programs, which is one of a closed
 * set and has its status here, and a `detail` for people.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Headers } from "../http/answer.ts";
import { Refusal, refusalOf } from "../http/refusal.ts";
import { RegistryFault, type RegistryTitle } from "../registry/registry-fault.ts";

/** Titles of what fails whatever the resource; other refusals of HTTP have them by their status. */
type GeneralTitle =
  | "BigPeerNotFound"
  | "HostNotAllowed"
  | "OriginNotAllowed"
  | "Unauthorized"
  | "NotFound"
  | "MethodNotAllowed"
  | "RequestTimeout"
  | "BodyTooLarge"
  | "UnsupportedMediaType"
  | "TooManyRequests"
  | "InternalError"
  | "Unavailable";

export type Title = RegistryTitle | GeneralTitle;

export const STATUS_OF_TITLE: { readonly [title in Title]: number } = {
  InvalidRequest: 400,
  InvalidName: 400,
  AppIdNotUnique: 400,
  AppNameMismatch: 400,
  InvalidApiKeyExpiryDate: 400,
  Unauthorized: 401,
  HostNotAllowed: 403,
  OriginNotAllowed: 403,
  NotFound: 404,
  BigPeerNotFound: 404,
  AppNotFound: 404,
  ApiKeyNotFound: 404,
  AuthProviderNotFound: 404,
  BigPeerReplicationNotFound: 404,
  MethodNotAllowed: 405,
  RequestTimeout: 408,
  AppNameNotUnique: 409,
  ApiKeyNameNotUnique: 409,
  BigPeerReplicationNameNotUnique: 409,
  LimitReached: 409,
  BodyTooLarge: 413,
  UnsupportedMediaType: 415,
  TooManyRequests: 429,
  InternalError: 500,
  Unavailable: 503,
};

/** What a refusal without a title of its own is called. */
const TITLE_OF_STATUS: ReadonlyMap<number, Title> = new Map([
  [400, "InvalidRequest"],
  [401, "Unauthorized"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [408, "RequestTimeout"],
  [413, "BodyTooLarge"],
  [415, "UnsupportedMediaType"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "Unavailable"],
]);

/** A refusal with a title of its own. */
export class Problem extends Refusal {
  readonly title: Title;

  constructor(title: Title, detail: string, headers: Headers = {}) {
    super(STATUS_OF_TITLE[title], detail, headers);
    this.name = "Problem";
    this.title = title;
  }
}

/** The body of every failure. */
export function problemBody(detail: string, refusal: Refusal): Value {
  return { title: titleOf(refusal), detail };
}

function titleOf(refusal: Refusal): Title {
  if (refusal instanceof Problem) return refusal.title;
  return TITLE_OF_STATUS.get(refusal.status) ?? "InvalidRequest";
}

/**
 * What the registry does not do becomes a problem. Here the title is what programs look at, so a
 * code is not told beside it. What is a matter of the server's log stays what it is.
 */
export function problemOf(error: unknown): unknown {
  if (error instanceof RegistryFault) return new Problem(error.title, error.detail);
  const refusal = refusalOf(error);
  if (refusal === undefined || !(error instanceof PeerError)) return error;
  const detail = refusal.message.replace(` (${error.code})`, "");
  return new Refusal(refusal.status, detail, refusal.headers);
}
