/**
 * Attachment transfers: the attachments of a peer with everything behind them, as the peer uses them.
 */

import type { ContentPlace, PeerStore, WantedContent } from "@bigpeer/engine/peer";
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
    readonly contentDatabase?: string;
    readonly contentBytesMax?: number;
  };
  readonly peerStore: PeerStore;
  /** The credential of the peer. */
  readonly token: { get(): Promise<string>; forget(): void };
  readonly onError: (error: unknown) => void;
}

export interface AttachmentTransfers {
  /** Undefined in a browser: its pages have their own, and call by `forPage`. */
  readonly attachments?: PeerAttachments;
  readonly forPage?: (page: AttachmentPage) => PageTransfers;
  /** Of `system:data_sync_info`. */
  readonly fields: ValueObject;
  /** Transfers begin, or end until they may begin again. */
  setActive(isActive: boolean): Promise<void>;
  /** The server can be reached again. `credential` names the credential of the connection. */
  connected(credential: string): void;
  maintain(): Promise<void>;
  /**
   * Downloads the attachments of a subscription, if its options say so. Returns a function that ends
   * it. Throws `config.invalid` for other options.
   */
  prefetch(query: string, args: ValueObject, options: unknown): (() => void) | undefined;
  close(): Promise<void>;
}

/** A page of a browser, as the attachments of its worker see it. */
export interface AttachmentPage {
  /** The next piece of a content that the page gives; undefined at its end. */
  piece(content: number): Promise<Uint8Array | undefined>;
  progress(fetch: number, received: number): void;
}

/** What a page asks of the attachments; the numbers are its own. */
export type AttachmentCall =
  | { readonly kind: "create"; readonly content: number }
  | { readonly kind: "fetch"; readonly fetch: number; readonly wanted: WantedContent }
  | { readonly kind: "cancel"; readonly fetch: number }
  /** Resolves with some bytes from an offset on. */
  | { readonly kind: "read"; readonly wanted: WantedContent; readonly offset: number };

/** The attachments for one page. */
export interface PageTransfers {
  call(call: AttachmentCall): Promise<unknown>;
  /** The page is gone. */
  close(): void;
}
