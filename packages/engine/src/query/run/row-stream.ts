/**
 * Row streams: the two ways in which operators hand on rows, pushed to a sink or pulled. A row is in
 * the frame that all operators of a statement share.
 */

import type { Frame } from "../frame/frame.ts";

export interface Sink {
  /** Takes a row; false when no more are wanted. */
  row(frame: Frame): boolean;
  /** Ends the rows, at their end or when no more are wanted. Called once; offers pauses. */
  end(): Iterable<void>;
}

/**
 * Rows that are pulled: true when the next one is in the frame, false where nothing was found yet
 * and the caller may pause.
 */
export type Pull = Iterable<boolean>;
