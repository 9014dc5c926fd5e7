/**
 * Sender: the part of a delivery that differs between webhooks and sinks: what is sent, and how.
 */

import type { FeedLine } from "@bigpeer/engine/changes";

/** A change with its position. */
export interface PlacedChange extends FeedLine {
  readonly change: NonNullable<FeedLine["change"]>;
}

/** What one delivery sends. A repetition sends the same. */
export interface Message {
  /** The same for the same changes. */
  readonly id: string;
  readonly payload: string;
}

export type SendOutcome =
  | { readonly kind: "delivered" }
  /** The receiver wants nothing more. */
  | { readonly kind: "gone"; readonly message: string }
  | FailedSend;

export interface FailedSend {
  readonly kind: "failed";
  readonly message: string;
  /** Of an HTTP answer. */
  readonly status?: number;
  /** The receiver is well, and does not accept this content. */
  readonly isRefused?: boolean;
  /** How long it asks to wait. */
  readonly askedMs?: number;
}

export interface Sender {
  /** The payload for these changes: at least one, in their order. */
  compose(changes: readonly PlacedChange[]): string;
  /** Never rejects. Ends early when the signal aborts. */
  send(message: Message, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}
