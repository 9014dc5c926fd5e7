/**
 * TreeView: one state of the tree, for the code above it. It names no type of lmdb, whose own
 * declarations a strict compiler refuses: the declarations of this package must not lead there.
 */

import type { Key } from "@bigpeer/engine";
import type { ChecksummedRecords } from "./checksummed-piece.ts";
import type { View } from "./held-snapshot.ts";

export interface TreeView extends View {
  /** One more reference to the same state. */
  share(): this;
  /** A copy of a record in the tree of shapes; undefined when absent. */
  recordBeside(key: Key): Uint8Array | undefined;
  /** The records without a checksum from a key on, with one added, as many as fit one piece. */
  withoutChecksum(from: Key): ChecksummedRecords;
}
