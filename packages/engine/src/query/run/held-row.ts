/**
 * RowHolder: copies the slots that a projection reads out of the shared frame, so that a row is
 * projected only once it is known to be in the result.
 */

import type { Frame, Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { Output } from "../plan/output.ts";
import type { ScopeTerm } from "../plan/scope.ts";
import type { SlotNode } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import type { Datum } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";

/** In the order of the slots that they were copied from. */
export type HeldSlots = readonly Slot[];

export interface RowHolder {
  readonly hold: (frame: Frame) => HeldSlots;
  /** Bytes of memory. */
  readonly sizeOf: (held: HeldSlots) => number;
  readonly restore: (frame: Frame, held: HeldSlots) => void;
}

/** Approximate bytes of a held row without its contents. */
const HELD_BYTES = 64;

export function compileHolder(output: Output, terms: readonly ScopeTerm[]): RowHolder {
  const read = placesRead(output, terms);
  const places = [...read.keys()];
  const areDocuments = [...read.values()];
  return {
    hold: ({ slots }) => places.map((place) => slots[place]),
    sizeOf(held) {
      let size = HELD_BYTES;
      for (const [i, slot] of held.entries()) {
        const document = areDocuments[i] === true ? (slot as RowDocument | undefined) : undefined;
        size += memorySize(document === undefined ? (slot as Datum) : document.fields);
      }
      return size;
    },
    restore({ slots }, held) {
      for (let i = 0; i < places.length; i++) slots[places[i] as number] = held[i];
    },
  };
}

/**
 * The slots that the projection reads, and whether they hold documents. Loop variables are not
 * among them: they are garbage after the loop.
 */
function placesRead(output: Output, terms: readonly ScopeTerm[]): Map<number, boolean> {
  const places = new Map<number, boolean>();
  const add = (place: number, holds: SlotNode["holds"]): void => {
    if (holds !== "variable") places.set(place, holds === "document");
  };
  const addTerm = ({ slot, isElement }: ScopeTerm): void =>
    add(slot, isElement === true ? "element" : "document");
  // A group holds no document; otherwise warnings name the first one.
  const [first] = terms;
  if (output.grouping === undefined && first !== undefined) addTerm(first);
  for (const column of output.columns) {
    if (column.kind === "all") {
      for (const term of terms) addTerm(term);
      continue;
    }
    eachNode(column.expression, (node) => {
      if (node.kind === "slot") add(node.slot, node.holds);
      if (node.kind !== "subquery") return;
      for (const { outer, holds } of node.bound?.imports ?? []) add(outer, holds);
    });
  }
  return places;
}
