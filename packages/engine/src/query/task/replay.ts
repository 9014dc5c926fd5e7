/**
 * Answers to write requests with an idempotency key: a replay (the same key, the same request) gets
 * the first answer again and writes nothing. remembered-answer.ts stores them.
 *
 * An answer is stored with a digest of the caller's permissions. If they have changed since, the
 * replay gets it without rows, which might show documents that the caller may no longer read.
 */

import { canonicalBytes, compareBytes, PeerError, type Value } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import {
  type IdempotencyKey,
  recallAnswer,
  rememberAnswer,
} from "../../store/remembered-answer.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Authority } from "../permission/authority.ts";
import type { Answer } from "./answer.ts";

/** An answer as it is stored. A request without an idempotency key leaves the rest out. */
export interface RememberedAnswer<T> extends Answer<T> {
  /** Id of the transaction. */
  readonly txnId?: number;
  /** Digest of the caller's permissions at that time; undefined for full access. */
  readonly permissions?: Uint8Array;
}

/** A request with an idempotency key, and a digest of its caller's permissions. */
export interface Replayable {
  readonly key: IdempotencyKey;
  /** See `permissionDigest`. */
  readonly permissions: Uint8Array | undefined;
}

/** Bytes kept of a digest: a chance collision gains an attacker nothing. */
const DIGEST_BYTES = 16;

/** Digest that identifies a set of permissions; undefined for a caller with full access. */
export function permissionDigest(
  authority: Authority | undefined,
  platform: Pick<Platform, "sha256">,
): Uint8Array | undefined {
  if (authority === undefined) return undefined;
  return platform.sha256(canonicalBytes(authority.value)).slice(0, DIGEST_BYTES);
}

/**
 * The stored answer of an earlier request with the same key and content, or undefined. Its rows are
 * left out when the caller's permissions have changed since: they may show other documents.
 */
export function recalled<T>(
  transaction: Transaction,
  { key, permissions }: Replayable,
): RememberedAnswer<T> | undefined {
  const answer = recallAnswer(transaction.view, key) as unknown as RememberedAnswer<T> | undefined;
  if (answer === undefined || isSame(answer.permissions, permissions)) return answer;
  return { ...answer, result: withoutRows(answer.result) };
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return compareBytes(a, b) === 0;
}

/** Only answers of statements have rows. */
function withoutRows<T>(result: T): T {
  if (typeof result !== "object" || result === null || !("items" in result)) return result;
  return { ...result, items: [] };
}

/** Stores an answer. This is itself a change, so the transaction gets an id. */
export function remember<T>(
  transaction: Transaction,
  { key, permissions }: Replayable,
  answer: Answer<T>,
): RememberedAnswer<T> {
  // To do once more what changed nothing changes nothing.
  if (key.isOptional === true && !transaction.isChanging) return answer;
  const known = permissions === undefined ? {} : { permissions };
  const whole: RememberedAnswer<T> = { ...answer, ...known, txnId: transaction.txnId };
  try {
    rememberAnswer(transaction, key, whole as unknown as Value);
  } catch (error) {
    const isTooLarge = error instanceof PeerError && error.code === "idempotency.too_large";
    if (key.isOptional !== true || !isTooLarge) throw error;
  }
  return whole;
}
