/**
 * Sample: one document of a dataset, and its collection.
 */

import type { ValueObject } from "@bigpeer/protocol";

export interface SampleDocument extends ValueObject {
  readonly _id: string;
}

export interface Sample {
  readonly collection: string;
  readonly document: SampleDocument;
}

/** Text with which the ids of all sample documents begin. */
export const SAMPLE_PREFIX = "demo-";
