/**
 * Documents of a fan-out and the mark of each write. The mark is a text that every encoding leaves
 * unchanged, so that all contestants are counted and checked in the same way.
 */
import { fieldsOf, idOf } from "../floor/cars.mjs";

const MARK = "turn-";
const MARK_BYTES = Buffer.from(MARK);
const DIGITS = 9;

/** Documents that are written in turn: more than writes are in flight, so that none is passed over. */
export const TARGETS = 64;

export function markOf(turn) {
  return MARK + String(turn).padStart(DIGITS, "0");
}

export function idOfTurn(turn) {
  return `car-${turn % TARGETS}`;
}

/** What a write sets: all fields have other values than before. */
export function fieldsOfTurn(turn) {
  return { ...fieldsOf(turn), turn: markOf(turn) };
}

/** Of documents that have a holder each, by whom they are followed. */
export function idOfHolder(i) {
  return idOf(i);
}

export function fieldsOfHolder(i, turn) {
  return { ...fieldsOf(i), holder: `holder ${i}`, turn: markOf(turn) };
}

/** How many writes a message brings. */
export function countMarks(message) {
  let count = 0;
  let at = message.indexOf(MARK_BYTES);
  while (at >= 0) {
    count++;
    at = message.indexOf(MARK_BYTES, at + MARK_BYTES.length + DIGITS);
  }
  return count;
}
