/**
 * Page contents: the contents of attachments, as a page reaches them through its worker. Bytes of the
 * app go to the worker piece by piece, when it asks for them.
 */

import type { PeerContents, WantedContent } from "@bigpeer/engine/peer";
import type { ContentAccess } from "../../attachments/attachments.ts";
import { isLost, type WorkerLink } from "./worker-link.ts";

export class PageContents implements ContentAccess {
  readonly #link: WorkerLink;
  /** Contents that are being created. */
  readonly #given = new Map<number, AsyncIterator<Uint8Array>>();
  /** Who hears of fetches that run. */
  readonly #listeners = new Map<number, (received: number) => void>();
  #count = 0;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  async create(pieces: AsyncIterable<Uint8Array>): Promise<WantedContent> {
    const content = ++this.#count;
    const iterator = pieces[Symbol.asyncIterator]();
    this.#given.set(content, iterator);
    try {
      return (await this.#link.call("attach", { kind: "create", content })) as WantedContent;
    } finally {
      this.#given.delete(content);
      await iterator.return?.();
    }
  }

  /** Undefined at the end. */
  async nextPiece(content: number): Promise<Uint8Array | undefined> {
    const next = await this.#given.get(content)?.next();
    return next?.done === false ? next.value : undefined;
  }

  fetch(
    wanted: WantedContent,
    onProgress: (received: number) => void,
  ): ReturnType<PeerContents["fetch"]> {
    const fetch = ++this.#count;
    this.#listeners.set(fetch, onProgress);
    const arrived = this.#fetch(fetch, wanted).finally(() => this.#listeners.delete(fetch));
    const cancel = (): void => {
      this.#listeners.delete(fetch);
      this.#link.call("attach", { kind: "cancel", fetch }).catch(() => {});
    };
    return { arrived, cancel };
  }

  progressed(fetch: number, received: number): void {
    this.#listeners.get(fetch)?.(received);
  }

  async *read(wanted: WantedContent): AsyncIterable<Uint8Array> {
    for (let offset = 0; offset < wanted.len; ) {
      const piece = await this.#link.call("attach", { kind: "read", wanted, offset });
      yield piece as Uint8Array;
      offset += (piece as Uint8Array).length;
    }
  }

  /** If the worker ends meanwhile, it goes on with the next one. */
  async #fetch(fetch: number, wanted: WantedContent): Promise<void> {
    while (this.#listeners.has(fetch)) {
      try {
        await this.#link.call("attach", { kind: "fetch", fetch, wanted });
        return;
      } catch (error) {
        if (!isLost(error)) throw error;
        await this.#link.connected();
      }
    }
  }
}
