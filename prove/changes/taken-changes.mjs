/**
 * Taken changes: the file in which a reader or a receiver notes each change that it has taken, as
 * lines `<cursor> <number> <delivery>`; a reader has no deliveries. The file survives a SIGKILL of its
 * process; a line that was cut is forgotten.
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";

export class TakenChanges {
  #file;

  constructor(file) {
    this.#file = file;
  }

  /** `delivery`: the id that a repetition of the changes has as well. */
  add(changes, delivery = "-") {
    if (changes.length === 0) return;
    const lines = changes.map(({ cursor, number }) => `${cursor} ${number} ${delivery}\n`);
    appendFileSync(this.#file, lines.join(""));
  }

  /** The cursor of the last change; undefined if there is none. Removes a line that was cut. */
  restore() {
    if (!existsSync(this.#file)) return undefined;
    const bytes = readFileSync(this.#file);
    const end = bytes.lastIndexOf(0x0a) + 1;
    if (end < bytes.length) truncateSync(this.#file, end);
    if (end === 0) return undefined;
    const begin = bytes.lastIndexOf(0x0a, end - 2) + 1;
    return bytes.toString("latin1", begin, end).split(" ")[0];
  }
}

/**
 * Checks the content of such a file as it grows. A change may be repeated, with its cursor and in its
 * delivery; without the repeats, the changes must be those that were written, in the order of their
 * transactions.
 */
export class TakenCheck {
  #txnOf;
  /** Of each change that was taken: its transaction, its index there, and its delivery. */
  #txnIds;
  #indexes;
  #deliveries;
  #last = { txnId: 0, index: -1, delivery: "" };
  #count = 0;
  repeats = 0;
  failure;

  /** `txnOf` has the transaction of each change; 0 while it is not known. */
  constructor(txnOf) {
    this.#txnOf = txnOf;
    this.#txnIds = new Float64Array(txnOf.length);
    this.#indexes = new Float64Array(txnOf.length);
    this.#deliveries = Array.from({ length: txnOf.length }, () => "");
  }

  /** Changes without repeats. */
  get count() {
    return this.#count;
  }

  /** Takes whole lines. */
  read(text) {
    for (const line of text.split("\n")) if (line !== "") this.failure ??= this.#take(line);
  }

  /** Compares the transactions, which were not known when the changes were taken. */
  checkTransactions(count) {
    for (let number = 0; number < count; number++) {
      const [found, expected] = [this.#txnIds[number], this.#txnOf[number]];
      if (found === expected) continue;
      this.failure ??= `change ${number} came as one of transaction ${found}, expected ${expected}`;
    }
  }

  #take(line) {
    const found = /^[0-9a-f]{32}\.(\d+)\.(\d+) (\d+) (\S+)$/.exec(line);
    if (found === null) return `expected a change, found ${line}`;
    const [txnId, index, number] = found.slice(1, 4).map(Number);
    if (!(number < this.#txnIds.length)) return `expected no change ${number}`;
    // Most lines have the delivery of the line before: one text for all of them.
    const last = this.#last;
    const delivery = found[4] === last.delivery ? last.delivery : found[4];
    if (this.#txnIds[number] !== 0) return this.#repeat(number, { txnId, index, delivery });
    if (txnId < last.txnId || (txnId === last.txnId && index <= last.index)) {
      return `change ${number} came out of order`;
    }
    this.#txnIds[number] = txnId;
    this.#indexes[number] = index;
    this.#deliveries[number] = delivery;
    this.#last = { txnId, index, delivery };
    this.#count++;
    return undefined;
  }

  #repeat(number, { txnId, index, delivery }) {
    this.repeats++;
    if (this.#txnIds[number] !== txnId || this.#indexes[number] !== index) {
      return `change ${number} came twice, with different cursors`;
    }
    if (this.#deliveries[number] === delivery) return undefined;
    return `change ${number} came twice, in the deliveries ${this.#deliveries[number]} and ${delivery}`;
  }
}
