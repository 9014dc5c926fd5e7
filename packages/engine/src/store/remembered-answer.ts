/**
 * Remembered answers: stores the answer of a request under its idempotency key, so that a replay of
 * the request gets the same answer and changes nothing. Another request with the same key is
 * refused (`idempotency.conflict`).
 *
 * An answer is written by catalog operations in the transaction that it describes. So both are
 * durable or neither is, and every node that applies the log remembers the same (K50 to K52). It is
 * in the catalog twice: by name for lookup, by time for expiry. It is kept as opaque bytes, so it
 * may be nested as deeply as any value although it lies inside a record.
 */

import {
  assert,
  type CatalogOperation,
  compareBytes,
  DEPTH_MAX,
  decodeCbor,
  encodeCbor,
  levelsOf,
  msOfTime,
  PeerError,
  type Value,
} from "@bigpeer/protocol";
import { REMEMBERED_ANSWER_BYTES_MAX } from "../limits.ts";
import type { Transaction } from "./transaction.ts";
import type { View } from "./view.ts";

/** Identifies a request and its replays. */
export interface IdempotencyKey {
  /** 64 hexadecimal digits: a hash of the sender and of the key that it chose. */
  readonly name: string;
  /** 32 bytes: the digest of the whole request. */
  readonly digest: Uint8Array;
  /** Whether the request is done also if its answer is too large to be remembered. */
  readonly isOptional?: boolean;
}

type AnswerRecord = {
  /** When it was made, in milliseconds. */
  readonly at: number;
  readonly digest: Uint8Array;
  /** In CBOR. */
  readonly answer: Uint8Array;
};

const BY_NAME = "answers";
const BY_TIME = "answers_by_time";

/** Digits of a time in a name, so that names sort by time. */
const TIME_DIGITS = 16;

/** Answers that one transaction forgets: each may be large, and is read once more for that. */
export const FORGET_BATCH = 1000;

/** The answer under this key. Throws `idempotency.conflict` for another request. */
export function recallAnswer(view: View, { name, digest }: IdempotencyKey): Value | undefined {
  const record = view.catalog(BY_NAME, name) as AnswerRecord | undefined;
  if (record === undefined) return undefined;
  if (compareBytes(record.digest, digest) !== 0) {
    const message = "expected the request that was first sent with this key, found another";
    throw new PeerError("idempotency.conflict", message);
  }
  return decodeCbor(record.answer);
}

/** Stores the answer in the transaction that it describes. The key must not be stored yet. */
export function rememberAnswer(transaction: Transaction, key: IdempotencyKey, answer: Value): void {
  const { name, digest } = key;
  assert(/^[0-9a-f]{64}$/.test(name) && digest.length === 32, "a name and a digest of SHA-256");
  const { view, nowMs } = transaction;
  assert(view.catalog(BY_NAME, name) === undefined, "an answer that is not remembered yet");
  // The later of both clocks: a wall clock that is behind must not make the answer expire at once.
  const at = Math.max(0, Math.floor(nowMs), msOfTime(view.head.time));
  const record: AnswerRecord = { at, digest, answer: encodeAnswer(answer) };
  transaction.apply([put(BY_NAME, name, record), put(BY_TIME, timeName(at) + name, true)]);
}

/** The operations that forget the oldest answers made before a time; none when there are none. */
export function forgetAnswers(view: View, beforeMs: number): CatalogOperation[] {
  const end = timeName(beforeMs);
  const operations: CatalogOperation[] = [];
  for (const entry of view.catalogNames(BY_TIME, { limit: FORGET_BATCH })) {
    if (entry >= end) break;
    operations.push(put(BY_NAME, entry.slice(TIME_DIGITS), null), put(BY_TIME, entry, null));
  }
  return operations;
}

/** An inconsistent record of the catalog, for verify. */
export interface AnswerProblem {
  readonly section: string;
  readonly name: string;
  readonly message: string;
}

/** Answers that one of the two sections lacks. */
export function* answerProblems(view: View): Iterable<AnswerProblem> {
  for (const name of view.catalogNames(BY_NAME)) {
    const { at } = view.catalog(BY_NAME, name) as AnswerRecord;
    if (view.catalog(BY_TIME, timeName(at) + name) !== true) {
      yield { section: BY_NAME, name, message: "expected the answer by its time" };
    }
  }
  for (const name of view.catalogNames(BY_TIME)) {
    const record = view.catalog(BY_NAME, name.slice(TIME_DIGITS)) as AnswerRecord | undefined;
    if (record === undefined || timeName(record.at) !== name.slice(0, TIME_DIGITS)) {
      yield { section: BY_TIME, name, message: "expected the answer by its name" };
    }
  }
}

function encodeAnswer(answer: Value): Uint8Array {
  if (levelsOf(answer) > DEPTH_MAX) {
    throw tooLarge(`at most ${DEPTH_MAX} levels of nesting`, `${levelsOf(answer)}`);
  }
  const bytes = encodeCbor(answer);
  if (bytes.length <= REMEMBERED_ANSWER_BYTES_MAX) return bytes;
  throw tooLarge(`at most ${REMEMBERED_ANSWER_BYTES_MAX} bytes`, `${bytes.length}`);
}

function tooLarge(expected: string, found: string): PeerError {
  const message = `expected an answer of ${expected} to remember, found ${found}`;
  return new PeerError("idempotency.too_large", message);
}

function timeName(ms: number): string {
  return String(Math.max(0, Math.floor(ms))).padStart(TIME_DIGITS, "0");
}

function put(section: string, name: string, value: Value): CatalogOperation {
  return { kind: "catalog", section, name, value };
}
