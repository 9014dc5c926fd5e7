/**
 * ContentPlace: where a device keeps the contents of attachments, as the transfers use it. On Node
 * these are files, in a browser pieces in IndexedDB; a peer in memory keeps them there.
 *
 * A content is visible under its id when it is complete, durable and checked. One that is being
 * downloaded is a partial content, which outlives the process.
 */

export interface CreatedContent {
  /** SHA-256 of the content in base64url. */
  readonly id: string;
  readonly len: number;
  /** Shows the server that the device has the content: see content-hash.ts. */
  readonly proof: string;
}

/** A download that may have begun in an earlier life of the process. */
export interface PartialContent {
  /** Bytes so far. */
  readonly size: number;
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Makes the content durable and visible, if its digest is its id: then true. Otherwise nothing of
   * it remains.
   */
  finish(): Promise<boolean>;
  /** Releases it. What was appended stays for the next download, unless it is finished. */
  close(): Promise<void>;
}

/** A partial content that no one works on. */
export interface RestingContent {
  readonly id: string;
  readonly size: number;
  /** When its last bytes came, in milliseconds. */
  readonly atMs: number;
}

/**
 * Receives a content that is complete and not yet visible. `keep` makes it visible, so that the caller
 * can record it without another change of the place in between.
 */
export type ReadyContent = (content: CreatedContent, keep: () => Promise<void>) => Promise<void>;

/** All of it may reject with PeerError `store.full`, `store.busy` or `store.write_failed`. */
export interface ContentPlace {
  /** Stores a content. If `pieces` fails, nothing of it remains. Without `onReady` it is kept at once. */
  create(pieces: AsyncIterable<Uint8Array>, onReady?: ReadyContent): Promise<CreatedContent>;
  has(id: string): Promise<boolean>;
  /** The content from a byte on. Fails with `store.corrupt` if it is not there or has another size. */
  read(id: string, len: number, offset: number): AsyncIterable<Uint8Array>;
  /** Opens the partial content of an id; one at a time. */
  resume(id: string): Promise<PartialContent>;
  remove(id: string): Promise<void>;
  /** All complete contents. */
  ids(): AsyncIterable<string>;
  /** All partial contents of downloads, those that got nothing for the longest time first. */
  partials(): Promise<readonly RestingContent[]>;
  /** Removes the partial content of an id. No one may have it open. */
  discard(id: string): Promise<void>;
}
