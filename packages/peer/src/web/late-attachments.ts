/**
 * Late attachments: the attachments of a peer in a browser, whose code is loaded when the app first
 * uses them. If the device has contents, it is loaded when the peer opens, and uploads wait for it:
 * only this code knows which of them have to wait for a content (S90).
 */

import { hasContents, type PeerStore } from "@bigpeer/engine/peer";
import { PeerError, type ValueObject } from "@bigpeer/protocol";
import type {
  AttachmentPage,
  AttachmentParts,
  AttachmentTransfers,
  PageTransfers,
} from "../host/attachment-transfers.ts";
import type { PeerHost } from "../host/peer-host.ts";
import type { LazyCode, OpenWebAttachments } from "./lazy-code.ts";

/** Lets no upload through. */
const CLOSED_GATE: PeerStore["gate"] = { room: () => 0, holds: () => true, applied: () => {} };

export class LateAttachments implements AttachmentTransfers {
  readonly #parts: AttachmentParts;
  readonly #host: PeerHost;
  readonly #code: LazyCode<OpenWebAttachments>;
  #opened: AttachmentTransfers | undefined;
  #opening: Promise<AttachmentTransfers> | undefined;
  /** Each begins to prefetch for a subscription, once the code is there. */
  readonly #waiting = new Set<() => Promise<void>>();
  #isActive = false;
  #isClosed = false;

  constructor(parts: AttachmentParts, host: PeerHost, code: LazyCode<OpenWebAttachments>) {
    this.#parts = parts;
    this.#host = host;
    this.#code = code;
    if (!hasContents(parts.peerStore.store)) return;
    parts.peerStore.gate = CLOSED_GATE;
    this.#openNow();
  }

  get fields(): ValueObject {
    return this.#opened?.fields ?? {};
  }

  async setActive(isActive: boolean): Promise<void> {
    this.#isActive = isActive;
    await this.#opened?.setActive(isActive);
  }

  connected(credential: string): void {
    this.#opened?.connected(credential);
    // The code can be loaded again.
    if (this.#parts.peerStore.gate === CLOSED_GATE) this.#openNow();
    for (const begin of this.#waiting) begin().catch(this.#parts.onError);
  }

  async maintain(): Promise<void> {
    await this.#opened?.maintain();
  }

  prefetch(query: string, args: ValueObject, options: unknown): (() => void) | undefined {
    if ((options as { readonly prefetch?: boolean }).prefetch !== true) return undefined;
    let end: (() => void) | undefined;
    const begin = async (): Promise<void> => {
      const opened = await this.#open();
      if (this.#waiting.delete(begin)) end = opened.prefetch(query, args, options);
    };
    this.#waiting.add(begin);
    begin().catch(this.#parts.onError);
    return () => {
      this.#waiting.delete(begin);
      end?.();
    };
  }

  forPage(page: AttachmentPage): PageTransfers {
    let transfers: PageTransfers | undefined;
    let isGone = false;
    return {
      call: async (call) => {
        const opened = await this.#open();
        if (isGone) return undefined;
        transfers ??= opened.forPage?.(page);
        return transfers?.call(call);
      },
      close: () => {
        isGone = true;
        transfers?.close();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    await this.#opened?.close();
  }

  #openNow(): void {
    this.#open().catch(this.#parts.onError);
  }

  #open(): Promise<AttachmentTransfers> {
    this.#opening ??= this.#load().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #load(): Promise<AttachmentTransfers> {
    await this.#code.loadFor("");
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
    const opened = await this.#code.get()(this.#parts, this.#host);
    this.#opened = opened;
    if (this.#isActive) await opened.setActive(true);
    return opened;
  }
}
