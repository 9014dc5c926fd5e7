/**
 * Answer: what a write is told, made once for each name that its caller gave it.
 *
 * The same request under the same name is told again what it was told first, and writes nothing. The
 * answer is remembered in the transaction that it tells of.
 */

import { canonicalBytes, compareBytes, type Value } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import { type RepeatKey, recallAnswer, rememberAnswer } from "../../store/remembered-answer.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Authority } from "../permission/authority.ts";
import type { Warning } from "../run/execution.ts";

export interface Answer<T> {
  /** Values, in arrays and plain objects. */
  readonly result: T;
  /** The first few; `totalWarnings` counts all. */
  readonly warnings: readonly Warning[];
  readonly totalWarnings: number;
  /** The transaction, in an answer that is remembered. */
  readonly txnId?: number;
  /** The digest of what the caller was allowed then, unless it was everything. */
  readonly permissions?: Uint8Array;
}

/** A request, its name, and what its caller may do. */
export interface Repeatable {
  readonly key: RepeatKey;
  /** See `permissionDigest`. */
  readonly permissions: Uint8Array | undefined;
}

/** Bytes of a digest: nobody gains from one that is the same by chance. */
const DIGEST_BYTES = 16;

/** Tells permissions from others; undefined for a caller who may do everything. */
export function permissionDigest(
  authority: Authority | undefined,
  platform: Pick<Platform, "sha256">,
): Uint8Array | undefined {
  if (authority === undefined) return undefined;
  return platform.sha256(canonicalBytes(authority.value)).slice(0, DIGEST_BYTES);
}

/**
 * What an earlier request of the same name and content was told. Rows are left out when the caller
 * may see other documents now than he might then.
 */
export function recalled<T>(
  transaction: Transaction,
  { key, permissions }: Repeatable,
): Answer<T> | undefined {
  const answer = recallAnswer(transaction.view, key) as unknown as Answer<T> | undefined;
  if (answer === undefined || isSame(answer.permissions, permissions)) return answer;
  return { ...answer, result: withoutRows(answer.result) };
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return compareBytes(a, b) === 0;
}

/** Only statements have rows. */
function withoutRows<T>(result: T): T {
  if (typeof result !== "object" || result === null || !("items" in result)) return result;
  return { ...result, items: [] };
}

/** Remembers an answer; this is a change, so that the transaction has an id in any case. */
export function remember<T>(
  transaction: Transaction,
  { key, permissions }: Repeatable,
  answer: Answer<T>,
): Answer<T> {
  const known = permissions === undefined ? {} : { permissions };
  const whole: Answer<T> = { ...answer, ...known, txnId: transaction.txnId };
  rememberAnswer(transaction, key, whole as unknown as Value);
  return whole;
}
