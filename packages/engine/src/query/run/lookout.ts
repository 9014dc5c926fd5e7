/**
 * Lookout: watches the suspects of the conditions of one statement while it runs.
 *
 * It looks at nothing by itself: it sees the rows that a condition refuses, and those are of documents
 * that the caller may read. So it costs no scan, and what is told of it says nothing of hidden documents.
 */

import { getField, type Value } from "@bigpeer/protocol";
import type { Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { FieldSuspect, Suspects } from "../plan/suspect.ts";

/** Documents of a term that are remembered, for the names of their fields. */
const SAMPLE_MAX = 4;

/** What was seen of the suspects of one condition. */
export class SuspectWatch {
  readonly suspects: Suspects;
  /** Whether a row has matched: then nothing was a mistake. */
  isMatched = false;
  /** Fields that no document had so far. */
  #unseen: readonly FieldSuspect[];
  /** The ids of the first documents that were looked at, by the slot of their term. */
  readonly #samples = new Map<number, Value[]>();

  constructor(suspects: Suspects) {
    this.suspects = suspects;
    this.#unseen = suspects.fields;
  }

  /** A row that did not match. */
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

  /** Fields that none of the documents had; where no document was looked at nobody knows. */
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

/** All conditions of a statement, those of queries inside of it as well. */
export class Lookout {
  readonly #watches = new Map<Suspects, SuspectWatch>();

  /** A condition begins; it may do so once for each row around it. */
  watch(suspects: Suspects): SuspectWatch {
    let watch = this.#watches.get(suspects);
    if (watch === undefined) {
      watch = new SuspectWatch(suspects);
      this.#watches.set(suspects, watch);
    }
    return watch;
  }

  /** Takes over what was seen when the documents were chosen before. */
  adopt(earlier: Lookout): void {
    for (const [suspects, watch] of earlier.#watches) this.#watches.set(suspects, watch);
  }

  /** Conditions that no row matched. */
  *unmatched(): Iterable<SuspectWatch> {
    for (const watch of this.#watches.values()) if (!watch.isMatched) yield watch;
  }
}
