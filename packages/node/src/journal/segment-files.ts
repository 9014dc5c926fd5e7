/**
 * SegmentFiles: the files of a journal, as the journal uses them. FolderSegments is the real one; a
 * test has one in memory that loses what was not synced.
 */

/** One open segment file. */
export interface SegmentFile {
  /** Number of bytes that the file has on the disk. */
  readonly size: number;
  /** Resolves after the bytes are synced. After it rejected, the bytes may be there or not. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  close(): Promise<void>;
}

export interface SegmentFiles {
  /** Names for people, for messages. */
  describe(number: number): string;
  /** Numbers of the existing segments, in order. */
  list(): number[];
  /** The bytes of a segment; undefined when it does not exist. */
  read(number: number): Buffer | undefined;
  /**
   * Makes the segment `number` with `header` as its first bytes: durable, with all its space on the
   * disk, when it resolves; a crash leaves all of it or no such segment. It uses the space that was
   * prepared. Rejects with PeerError `store.full` or `store.write_failed`; then the segment may exist
   * or not.
   */
  create(number: number, size: number, header: Uint8Array): Promise<SegmentFile>;
  /**
   * Prepares space for the next `create`: the file of a segment that was given up, if there is one.
   * Rejects as `create`; then no segment has changed.
   */
  prepare(size: number): Promise<void>;
  /** Gives up a segment, which must be closed: its file may be used again. */
  recycle(number: number): Promise<void>;
  /** Waits for all that was asked for. */
  settled(): Promise<void>;
  /** Removes all files, those that are kept to be used again included. */
  removeAll(): Promise<void>;
}
