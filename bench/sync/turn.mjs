/**
 * Documents of a fan-out and the mark of each write. The mark is a text that every encoding leaves
 * unchanged, so that all contestants are counted and checked in the same way.
 */
import { fieldsOf, idOf } from "../floor/cars.mjs";

const MARK = "turn-";
const MARK_BYTES = Buffer.from(MARK);
const DIGITS = 9;

/** Documents that are written in turn: more than writes in flight, so none is skipped. */
export const TARGETS = 64;

export function markOf(turn) {
  return MARK + String(turn).padStart(DIGITS, "0");
}

export function idOfTurn(turn) {
  return `car-${turn % TARGETS}`;
}

/** Fields of a write, all different from the previous ones. */
export function fieldsOfTurn(turn) {
  return { ...fieldsOf(turn), turn: markOf(turn) };
}

/** Id of a document with its own holder, by which one client selects it. */
export function idOfHolder(i) {
  return idOf(i);
}

export function fieldsOfHolder(i, turn) {
  return { ...fieldsOf(i), holder: `holder ${i}`, turn: markOf(turn) };
}

/** Counts the writes in a message. */
export function countMarks(message) {
  let count = 0;
  let at = message.indexOf(MARK_BYTES);
  while (at >= 0) {
    count++;
    at = message.indexOf(MARK_BYTES, at + MARK_BYTES.length + DIGITS);
  }
  return count;
}
