/**
 * Remembered answers: what a request was told, kept under a name, so that the same request sent again
 * is told the same and does nothing twice.
 *
 * An answer is written in the transaction that it tells of, by catalog operations, so both are durable
 * or neither is, and every node that applies the log remembers the same (K50 to K52). It lies twice in
 * the catalog: by name to be found, by time to be forgotten. It is kept as bytes: nobody looks into
 * it, and it may be nested as deeply as any value, although it lies inside a record.
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

/** What tells a repeated request from another one. */
export interface RepeatKey {
  /** 64 hexadecimal digits: whose request it is and the name that he gave it. */
  readonly name: string;
  /** 32 bytes: the digest of all that he asked for. */
  readonly digest: Uint8Array;
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

/** The answer that is remembered under the name. Refuses a request that is not the one it was for. */
export function recallAnswer(view: View, { name, digest }: RepeatKey): Value | undefined {
  const record = view.catalog(BY_NAME, name) as AnswerRecord | undefined;
  if (record === undefined) return undefined;
  if (compareBytes(record.digest, digest) !== 0) {
    const message = "expected the request that was first sent with this key, found another";
    throw new PeerError("idempotency.conflict", message);
  }
  return decodeCbor(record.answer);
}

/** Remembers the answer with all else that the transaction writes. Recall it first: it is made once. */
export function rememberAnswer(transaction: Transaction, key: RepeatKey, answer: Value): void {
  const { name, digest } = key;
  assert(/^[0-9a-f]{64}$/.test(name) && digest.length === 32, "a name and a digest of SHA-256");
  const { view, nowMs } = transaction;
  assert(view.catalog(BY_NAME, name) === undefined, "an answer that is not remembered yet");
  // The later of both clocks: a wall clock that is behind must not make the answer old at once.
  const at = Math.max(0, Math.floor(nowMs), msOfTime(view.head.time));
  const record: AnswerRecord = { at, digest, answer: encodeAnswer(answer) };
  transaction.apply([put(BY_NAME, name, record), put(BY_TIME, timeName(at) + name, true)]);
}

/** What forgets the oldest answers made before a time: none when there are none. */
export function forgetAnswers(view: View, beforeMs: number): CatalogOperation[] {
  const end = timeName(beforeMs);
  const operations: CatalogOperation[] = [];
  for (const entry of view.catalogNames(BY_TIME, { limit: FORGET_BATCH })) {
    if (entry >= end) break;
    operations.push(put(BY_NAME, entry.slice(TIME_DIGITS), null), put(BY_TIME, entry, null));
  }
  return operations;
}

/** A record of the catalog that does not fit, for verify. */
export interface AnswerProblem {
  readonly section: string;
  readonly name: string;
  readonly message: string;
}

/** Answers that one of both sections lacks. */
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
