/**
 * Contents of generated worlds: who brought them, and tokens that documents refer to them with.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Random } from "./random.ts";

export interface Content {
  readonly id: string;
  readonly len: number;
  readonly by: string;
}

/** The caller; others are bob and nobody. */
export const CALLER = "ada";

export const CONTENTS: readonly Content[] = [
  { id: "p1", len: 1, by: CALLER },
  { id: "p2", len: 2, by: "bob" },
  { id: "p3", len: 3, by: "bob" },
];

/** One that was uploaded by nobody is among them. */
export const CONTENT_IDS: readonly string[] = ["p1", "p2", "p3", "p4"];

/** Sometimes with a wrong length. */
export function anyToken(random: Random): ValueObject {
  const id = random.pick(CONTENT_IDS);
  const known = CONTENTS.find((content) => content.id === id);
  return { id, len: (known?.len ?? 4) + (random.oneIn(6) ? 1 : 0), metadata: {} };
}
