/**
 * Lookout: watches a running statement for probable mistakes in its conditions, such as a field
 * that no document has.
 *
 * It reads nothing itself: it sees the rows that a condition rejects, and these are of documents
 * that the caller may read. So it costs no scan and reveals nothing about hidden documents.
 */

import { getField, type Value } from "@bigpeer/protocol";
import type { Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { FieldSuspect, Suspects } from "../plan/suspect.ts";

/** Documents of a term whose ids are kept, for suggestions from their field names. */
const SAMPLE_MAX = 4;

/** Observations about the suspects of one condition. */
export class SuspectWatch {
  readonly suspects: Suspects;
  /** Whether a row matched: then nothing was a mistake. */
  isMatched = false;
  /** Fields that no document had so far. */
  #unseen: readonly FieldSuspect[];
  /** Ids of the first documents examined, by the slot of their term. */
  readonly #samples = new Map<number, Value[]>();

  constructor(suspects: Suspects) {
    this.suspects = suspects;
    this.#unseen = suspects.fields;
  }

  /** Examines a row that did not match. */
  look(slots: readonly Slot[]): void {
    if (this.isMatched || this.#unseen.length === 0) return;
    for (const { slot } of this.#unseen) this.#remember(slot, slots[slot]);
    if (this.#unseen.some((field) => isPresent(field, slots))) {
      this.#unseen = this.#unseen.filter((field) => !isPresent(field, slots));
    }
  }

  #remember(slot: number, document: Slot): void {
    const { id } = (document ?? {}) as Partial<RowDocument>;
    if (id === undefined) return;
    const sample = this.#samples.get(slot);
    if (sample === undefined) this.#samples.set(slot, [id]);
    else if (sample.length < SAMPLE_MAX && sample.at(-1) !== id) sample.push(id);
  }

  /** Fields that no examined document had; none if no document was examined. */
  get absent(): readonly FieldSuspect[] {
    return this.#unseen.filter(({ slot }) => this.#samples.has(slot));
  }

  sampleOf(slot: number): readonly Value[] {
    return this.#samples.get(slot) ?? [];
  }
}

function isPresent({ slot, name }: FieldSuspect, slots: readonly Slot[]): boolean {
  const document = slots[slot] as RowDocument | undefined;
  return document !== undefined && getField(document.fields, name) !== undefined;
}

/** The watches of all conditions of a statement, including those of its subqueries. */
export class Lookout {
  readonly #watches = new Map<Suspects, SuspectWatch>();

  /** Starts a condition, which a subquery does once for each outer row. */
  watch(suspects: Suspects): SuspectWatch {
    let watch = this.#watches.get(suspects);
    if (watch === undefined) {
      watch = new SuspectWatch(suspects);
      this.#watches.set(suspects, watch);
    }
    return watch;
  }

  /** Takes over the observations of an early choice. */
  adopt(earlier: Lookout): void {
    for (const [suspects, watch] of earlier.#watches) this.#watches.set(suspects, watch);
  }

  /** Conditions that no row matched. */
  *unmatched(): Iterable<SuspectWatch> {
    for (const watch of this.#watches.values()) if (!watch.isMatched) yield watch;
  }
}
