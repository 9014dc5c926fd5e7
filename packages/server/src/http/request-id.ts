/**
 * Request ids: UUIDs in runs of 4,096 that differ in their last three digits. Random bytes for each
 * request would cost more than the rest of its start.
 */

import { randomUUID } from "node:crypto";

const ENDS: readonly string[] = Array.from({ length: 4096 }, (_, i) =>
  i.toString(16).padStart(3, "0"),
);

let start = "";
let count = ENDS.length;

export function nextRequestId(): string {
  if (count === ENDS.length) {
    start = randomUUID().slice(0, -3);
    count = 0;
  }
  return start + ENDS[count++];
}
