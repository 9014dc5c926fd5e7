/**
 * Journal limits: how large the parts of a journaled storage may grow.
 */

const MIB = 1024 * 1024;

export interface JournalLimits {
  /** A journal begins with a segment of this size; each further one is twice as large, */
  readonly segmentBytesMin: number;
  /** up to this size. */
  readonly segmentBytesMax: number;
  /** A commit with a larger payload goes to the tree directly, */
  readonly payloadBytesMax: number;
  /** and so does one with more records. */
  readonly recordsMax: number;
  /** A layer of the table is written to the tree when it has so many bytes, */
  readonly layerBytes: number;
  /** or so many keys: the space that the tree needs for them is reserved before, */
  readonly layerKeys: number;
  /** or so long after its first commit. */
  readonly layerMs: number;
  /** Memory of the table that only old snapshots need; beyond it the oldest of them end. */
  readonly retainedBytesMax: number;
}

export const JOURNAL_LIMITS: JournalLimits = {
  segmentBytesMin: MIB,
  segmentBytesMax: 16 * MIB,
  payloadBytesMax: 4 * MIB,
  recordsMax: 32_768,
  layerBytes: 16 * MIB,
  layerKeys: 32_768,
  layerMs: 1000,
  retainedBytesMax: 64 * MIB,
};
