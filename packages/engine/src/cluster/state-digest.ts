/**
 * State digest: of everything that a flush writes. The evaluating node puts it into some entries,
 * and the others compare it with their own: an applier that differs is noticed (K20).
 */

import { canonicalBytes, type Value } from "@bigpeer/protocol";
import type { Platform, Writes } from "../platform.ts";
import type { Steps } from "../steps.ts";

/** Equal for equal writes, in whatever order they were made. */
export function* stateDigest(
  writes: Writes,
  { sha256 }: Pick<Platform, "sha256">,
): Steps<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const key of [...writes.keys()].toSorted()) {
    const value = writes.get(key);
    // A removed key has no value, which differs from every value.
    const content: Value = value === undefined ? [key] : [key, value];
    parts.push(sha256(canonicalBytes(content)));
    yield;
  }
  return sha256(canonicalBytes(parts));
}
