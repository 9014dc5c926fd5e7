/**
 * What a machine of a run keeps its data on, if it is not the simulated disk of the engine. The disk
 * of the machine then has a copy of the content, for what looks at it from outside.
 */

import type { KeyValue } from "../../src/platform.ts";
import type { WriteFailure } from "../../src/store/memory-disk.ts";

export interface SimMedium {
  /** Opens the storage of the process that lives now. It begins with what the disk has. */
  open(): Promise<KeyValue>;
  /** The process has ended. The disk has what is left; returns the relaxed commits that are lost. */
  crash(): number;
  /** The next write fails; undefined cancels that. */
  failNextWrite(code: WriteFailure | undefined): void;
}
