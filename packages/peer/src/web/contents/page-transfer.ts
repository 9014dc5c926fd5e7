/**
 * Page transfer: what one page does with attachments, in the worker. The page gives contents piece by
 * piece, and reads them so.
 */

import type { PeerContents } from "@bigpeer/engine/peer";
import type {
  AttachmentCall,
  AttachmentPage,
  PageTransfers,
} from "../../host/attachment-transfers.ts";

/** A page hears of the progress of a fetch this often at most. */
const PROGRESS_MS = 50;

export class PageTransfer implements PageTransfers {
  readonly #contents: PeerContents;
  readonly #page: AttachmentPage;
  /** Each ends a fetch that runs. */
  readonly #cancels = new Map<number, () => void>();

  constructor(contents: PeerContents, page: AttachmentPage) {
    this.#contents = contents;
    this.#page = page;
  }

  async call(call: AttachmentCall): Promise<unknown> {
    if (call.kind === "create") return this.#contents.create(this.#piecesOf(call.content));
    if (call.kind === "fetch") return this.#fetch(call);
    if (call.kind === "read") return this.#read(call);
    return this.#cancels.get(call.fetch)?.();
  }

  close(): void {
    for (const cancel of this.#cancels.values()) cancel();
  }

  async *#piecesOf(content: number): AsyncIterable<Uint8Array> {
    for (;;) {
      const piece = await this.#page.piece(content);
      if (piece === undefined) return;
      yield piece;
    }
  }

  async #fetch({ fetch, wanted }: Extract<AttachmentCall, { kind: "fetch" }>): Promise<void> {
    let shownMs = 0;
    const { arrived, cancel } = this.#contents.fetch(wanted, (received) => {
      const nowMs = performance.now();
      if (received < wanted.len && nowMs - shownMs < PROGRESS_MS) return;
      shownMs = nowMs;
      this.#page.progress(fetch, received);
    });
    const cancelled = new Promise<void>((resolve) => {
      this.#cancels.set(fetch, () => {
        cancel();
        resolve();
      });
    });
    try {
      await Promise.race([arrived, cancelled]);
    } finally {
      this.#cancels.delete(fetch);
    }
  }

  async #read({
    wanted,
    offset,
  }: Extract<AttachmentCall, { kind: "read" }>): Promise<Uint8Array | undefined> {
    for await (const piece of this.#contents.read(wanted, offset)) return piece;
    return undefined;
  }
}
