/**
 * Wanted ids: the documents whose whole state a peer has requested from a stream and not received
 * yet, in the order of the requests (S13, S18).
 */

import { documentId, type Value } from "@bigpeer/protocol";
import { approximateSize } from "../../store/records.ts";

/** Each id also takes a place in the list, however short it is. */
const PLACE_BYTES = 8;

export class WantedIds {
  readonly #ids: Value[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#ids.length === 0;
  }

  /** Approximate bytes of all ids. */
  get bytes(): number {
    return this.#bytes;
  }

  has(idKey: string): boolean {
    return this.#ids.some((id) => documentId(id).key === idKey);
  }

  first(count: number): readonly Value[] {
    return this.#ids.slice(0, count);
  }

  add(ids: readonly Value[]): void {
    for (const id of ids) this.#ids.push(id);
    this.#bytes += sizeOf(ids);
  }

  /** Removes the first `count` ids: they are answered. */
  drop(count: number): void {
    this.#bytes -= sizeOf(this.#ids.splice(0, count));
  }
}

function sizeOf(ids: readonly Value[]): number {
  let size = 0;
  for (const id of ids) size += approximateSize(id) + PLACE_BYTES;
  return size;
}
