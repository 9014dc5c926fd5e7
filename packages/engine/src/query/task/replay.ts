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
import type { TaskRun } from "./task-run.ts";

/** An answer as it is stored. A request without an idempotency key leaves the rest out. */
export interface RememberedAnswer<T> extends Answer<T> {
  /** Id of the transaction. */
  readonly txnId?: number;
  /** Digest of the caller's permissions at that time; undefined for full access. */
  readonly permissions?: Uint8Array;
}

/** A write request with an idempotency key. */
export class ReplayableRequest {
  readonly #key: IdempotencyKey;
  readonly #permissions: Uint8Array | undefined;

  constructor(key: IdempotencyKey, permissions: Uint8Array | undefined) {
    this.#key = key;
    this.#permissions = permissions;
  }

  /**
   * The stored answer of an earlier request with the same key and content, or undefined. Its rows
   * are left out when the caller's permissions have changed since: they may show other documents.
   */
  recalled<T>(transaction: Transaction): RememberedAnswer<T> | undefined {
    const known = recallAnswer(transaction.view, this.#key);
    const answer = known as unknown as RememberedAnswer<T> | undefined;
    if (answer === undefined || isSame(answer.permissions, this.#permissions)) return answer;
    return { ...answer, result: withoutRows(answer.result) };
  }

  /** Stores an answer. This is itself a change, so the transaction gets an id. */
  remember<T>(transaction: Transaction, answer: Answer<T>): RememberedAnswer<T> {
    const key = this.#key;
    // To do once more what changed nothing changes nothing.
    if (key.isOptional === true && !transaction.isChanging) return answer;
    const known = this.#permissions && { permissions: this.#permissions };
    const whole: RememberedAnswer<T> = { ...answer, ...known, txnId: transaction.txnId };
    try {
      rememberAnswer(transaction, key, whole as unknown as Value);
    } catch (error) {
      const isTooLarge = error instanceof PeerError && error.code === "idempotency.too_large";
      if (key.isOptional !== true || !isTooLarge) throw error;
    }
    return whole;
  }
}

/** Undefined for a request without an idempotency key. */
export function replayableOf({ task }: TaskRun): ReplayableRequest | undefined {
  const { repeat: key, authority } = task.request;
  return key && new ReplayableRequest(key, permissionDigest(authority, task.context.platform));
}

/** Bytes kept of a digest: a chance collision gains an attacker nothing. */
const DIGEST_BYTES = 16;

/** Digest that identifies a set of permissions; undefined for a caller with full access. */
function permissionDigest(
  authority: Authority | undefined,
  platform: Pick<Platform, "sha256">,
): Uint8Array | undefined {
  if (authority === undefined) return undefined;
  return platform.sha256(canonicalBytes(authority.value)).slice(0, DIGEST_BYTES);
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
