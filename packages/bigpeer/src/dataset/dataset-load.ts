/**
 * Loads a dataset into a server, and removes it.
 */

import type { BigPeerClient } from "@bigpeer/client";
import type { ValueObject } from "@bigpeer/protocol";
import { quoted } from "../transfer/typed-document.ts";
import { createSamples, type Dataset } from "./datasets.ts";
import { SAMPLE_PREFIX, type SampleDocument } from "./sample.ts";

export interface LoadOptions {
  readonly seed: number;
  readonly size: number;
  readonly signal: AbortSignal;
}

/** The result for one collection. */
export interface LoadedCollection extends ValueObject {
  readonly collection: string;
  readonly documents: number;
  /** Those that were not there before. */
  readonly added: number;
}

const BATCH_SIZE = 500;

/** Documents with the same ids stay as they are. */
export async function loadDataset(
  client: BigPeerClient,
  dataset: Dataset,
  { seed, size, signal }: LoadOptions,
): Promise<LoadedCollection[]> {
  const documents = new Map<string, SampleDocument[]>();
  for (const { collection, document } of createSamples(dataset, seed, size)) {
    const known = documents.get(collection);
    if (known === undefined) documents.set(collection, [document]);
    else known.push(document);
  }
  const loaded: LoadedCollection[] = [];
  for (const [collection, all] of documents) {
    const insert = `INSERT INTO ${quoted(collection)} DOCUMENTS (:documents) ON ID CONFLICT DO NOTHING`;
    let added = 0;
    for (let from = 0; from < all.length; from += BATCH_SIZE) {
      const batch = all.slice(from, from + BATCH_SIZE);
      const result = await client.execute(insert, { documents: batch }, { signal });
      added += result.mutatedDocumentIds.length;
    }
    loaded.push({ collection, documents: all.length, added });
  }
  return loaded;
}

/** Deletes the documents of the dataset, whatever their seed and number, and no others. */
export async function removeDataset(
  client: BigPeerClient,
  { collections }: Dataset,
  signal: AbortSignal,
): Promise<void> {
  for (const collection of collections) {
    const statement = `DELETE FROM ${quoted(collection)} WHERE _id LIKE :ids`;
    await client.execute(statement, { ids: `${SAMPLE_PREFIX}%` }, { signal });
  }
}
