/**
 * Problem: the error format of the management API. `title` is one of a fixed set for programs, each
 * with a status, and `detail` is for people (M8).
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Headers } from "../http/answer.ts";
import { Refusal, refusalOf } from "../http/refusal.ts";
import { RegistryFault, type RegistryTitle } from "../registry/registry-fault.ts";

/** Titles of errors that do not depend on the resource. */
type GeneralTitle =
  | "BigPeerNotFound"
  | "BackupNotFound"
  | "BackupRunning"
  | "SessionNotFound"
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
  BackupNotFound: 404,
  SessionNotFound: 404,
  AppNotFound: 404,
  ApiKeyNotFound: 404,
  AuthProviderNotFound: 404,
  BigPeerReplicationNotFound: 404,
  WebhookNotFound: 404,
  SinkNotFound: 404,
  DeadLetterNotFound: 404,
  MethodNotAllowed: 405,
  RequestTimeout: 408,
  AppNameNotUnique: 409,
  ApiKeyNameNotUnique: 409,
  BigPeerReplicationNameNotUnique: 409,
  WebhookNameNotUnique: 409,
  SinkNameNotUnique: 409,
  LimitReached: 409,
  BackupRunning: 409,
  BodyTooLarge: 413,
  UnsupportedMediaType: 415,
  TooManyRequests: 429,
  InternalError: 500,
  Unavailable: 503,
};

/** Titles of refusals that have none of their own. */
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

/** Refusal with a title. */
export class Problem extends Refusal {
  readonly title: Title;

  constructor(title: Title, detail: string, headers: Headers = {}) {
    super(STATUS_OF_TITLE[title], detail, headers);
    this.name = "Problem";
    this.title = title;
  }
}

/** Body of every error. */
export function problemBody(detail: string, refusal: Refusal): Value {
  return { title: titleOf(refusal), detail };
}

function titleOf(refusal: Refusal): Title {
  if (refusal instanceof Problem) return refusal.title;
  return TITLE_OF_STATUS.get(refusal.status) ?? "InvalidRequest";
}

/**
 * Maps an error of the registry to a problem. The title replaces the error code, so the code is
 * removed from the detail. Errors for the log of the server stay as they are.
 */
export function problemOf(error: unknown): unknown {
  if (error instanceof RegistryFault) return new Problem(error.title, error.detail);
  const refusal = refusalOf(error);
  if (refusal === undefined || !(error instanceof PeerError)) return error;
  const detail = refusal.message.replace(` (${error.code})`, "");
  return new Refusal(refusal.status, detail, refusal.headers);
}
