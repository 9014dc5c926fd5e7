/**
 * Held rows: what the projection of a row reads, taken out of the frame that serves all rows, so that
 * a row is projected only when it is known that it is given back.
 */

import type { Frame, Slot } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { Output } from "../plan/output.ts";
import type { ScopeTerm } from "../plan/scope.ts";
import type { SlotNode } from "../syntax/tree.ts";
import { eachNode } from "../syntax/tree-walk.ts";
import type { Datum } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";

/** In the order of the places that they were taken from. */
export type HeldSlots = readonly Slot[];

export interface RowHolder {
  readonly hold: (frame: Frame) => HeldSlots;
  /** Bytes of memory. */
  readonly sizeOf: (held: HeldSlots) => number;
  readonly restore: (frame: Frame, held: HeldSlots) => void;
}

/** Rough bytes of a row that is held, without what is in it. */
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
 * The places that the projection reads, and whether they hold documents. Variables of loops are left
 * out: they are garbage when the loop is over.
 */
function placesRead(output: Output, terms: readonly ScopeTerm[]): Map<number, boolean> {
  const places = new Map<number, boolean>();
  const add = (place: number, holds: SlotNode["holds"]): void => {
    if (holds !== "variable") places.set(place, holds === "document");
  };
  const addTerm = ({ slot, isElement }: ScopeTerm): void =>
    add(slot, isElement === true ? "element" : "document");
  // Of groups no document is left; else the first one is named by warnings.
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
