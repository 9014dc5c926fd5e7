/**
 * Attachment transfers: the attachments of a peer with everything behind them, as the peer uses them.
 */

import type { ContentPlace, PeerStore } from "@bigpeer/engine/peer";
import type { ValueObject } from "@bigpeer/protocol";
import type { PeerAttachments } from "../attachments/attachments.ts";

export interface AttachmentParts {
  readonly options: {
    readonly appId: string;
    readonly baseUrl: string;
    readonly attachmentBytesMax?: number | undefined;
  };
  /** Where the contents are, and how many bytes they may have there. */
  readonly place: {
    readonly contents?: ContentPlace;
    readonly contentBytesMax?: number;
  };
  readonly peerStore: PeerStore;
  /** The credential of the peer. */
  readonly token: { get(): Promise<string>; forget(): void };
  readonly onError: (error: unknown) => void;
}

export interface AttachmentTransfers {
  readonly attachments: PeerAttachments;
  /** Of `system:data_sync_info`. */
  readonly fields: ValueObject;
  /** Transfers begin, or end until they may begin again. */
  setActive(isActive: boolean): Promise<void>;
  /** The server can be reached again. */
  connected(): void;
  maintain(): Promise<void>;
  /**
   * Downloads the attachments of a subscription, if its options say so. Returns a function that ends
   * it. Throws `config.invalid` for other options.
   */
  prefetch(query: string, args: ValueObject, options: unknown): (() => void) | undefined;
  close(): Promise<void>;
}
