/**
 * Upload chains: the numbered, hash-chained uploads of each site, and how far each was sent.
 *
 * A transaction gets its number and its chained digest in the commit that writes it. So all copies
 * of a store offer what they wrote before they parted under the same site, number and digest. The
 * server takes each upload once, whichever copy sends it first (S31).
 */

import type { Site } from "@bigpeer/protocol";
import type { Platform, Reader } from "../platform.ts";
import { chainOfSequenceKey, pendingKey, SEQUENCES, sequenceKey } from "../store/keys.ts";
import type { Chain, ChainFact, ChainLink, PendingRecord } from "../store/peer-records.ts";
import { chainedDigest, uploadContent } from "../store/upload.ts";
import type { UploadStep } from "../store/upload-step.ts";

/** All chains that may have unsent uploads, in the order of sending. */
export function openChains(fact: ChainFact): readonly Chain[] {
  return [...(fact.former ?? []), fact];
}

/** The last number of a chain that was sent; undefined if all of it was. */
export function sentUpTo(fact: ChainFact, chain: number): number | undefined {
  return openChains(fact).find((open) => open.chain === chain)?.sent.number;
}

/** Number, digest and time of the upload that follows another one in its chain. */
export function linkAfter(
  platform: Platform,
  before: ChainLink,
  steps: readonly UploadStep[],
  content: Uint8Array = uploadContent(steps),
): Required<ChainLink> {
  const digest = chainedDigest(platform, before.digest, content);
  return { number: before.number + 1, digest, time: steps.at(-1)?.time ?? before.time };
}

/** A chain with pending transactions. */
export interface PendingChain {
  readonly site: Site;
  readonly chain: number;
  /** The number of the first pending transaction. */
  readonly first: number;
}

/** The chains that have pending transactions, in the order of sending. */
export function* pendingChains(reader: Reader): Iterable<PendingChain> {
  let from: string | undefined = SEQUENCES.from;
  while (from !== undefined) {
    const found = firstIn(reader, { from, to: SEQUENCES.to });
    if (found !== undefined) yield found;
    from = found && sequenceKey(found.chain + 1, 0);
  }
}

function firstIn(reader: Reader, range: typeof SEQUENCES): PendingChain | undefined {
  for (const { key, value } of reader.entries(range)) {
    const record = reader.get(pendingKey(value as number)) as unknown as PendingRecord | undefined;
    if (record === undefined) continue;
    return { site: record.site, chain: chainOfSequenceKey(key), first: record.seal.number };
  }
  return undefined;
}

export function pendingChainOf(reader: Reader, site: Site): PendingChain | undefined {
  for (const found of pendingChains(reader)) if (found.site === site) return found;
  return undefined;
}
