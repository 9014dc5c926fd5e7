/**
 * Channel listener: what a WebSocket channel tells whoever speaks on it.
 */

/** Who is told what happens on a connection. */
export interface ChannelListener {
  message(bytes: Uint8Array): void;
  /** What came is no message: nothing more is read. */
  malformed(reason: string): void;
  /** Too much came at once, of all connections together: nothing more of this one is read. */
  overfull(): void;
  /** All that was sent is out, and it was not before. */
  drained(): void;
  /** Once, at the end. */
  closed(): void;
}
