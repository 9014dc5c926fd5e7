/**
 * Engine of a peer, without I/O. This entry has what its parts share; each part is an entry of its
 * own: `/store`, `/query`, `/sync`, `/peer`, `/link`, `/cluster`, `/pattern` and
 * `/language`.
 */

export { IndexedSet, type Placed } from "./indexed-set.ts";
export {
  type Channel,
  type CountSteps,
  KEY_SIZE_MAX,
  type Key,
  type KeyEntry,
  type KeyRange,
  type KeyValue,
  type Pattern,
  type PatternMatch,
  type Platform,
  type Reader,
  type Snapshot,
  type Writes,
} from "./platform.ts";
export { waitFor } from "./steps.ts";
