/**
 * Channel listener: the callbacks with which a WebSocket channel reports its events.
 */

/** Receives the events of one connection. */
export interface ChannelListener {
  message(bytes: Uint8Array): void;
  /** An invalid message came: nothing more is read. */
  malformed(reason: string): void;
  /** Messages of all connections exceed the memory budget: nothing more of this one is read. */
  overfull(): void;
  /** The send queue has become empty. */
  drained(): void;
  /** Called once, at the end. */
  closed(): void;
}
