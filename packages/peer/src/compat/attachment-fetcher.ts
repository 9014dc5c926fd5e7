/**
 * Attachment fetcher: gets the content of an attachment, with events about its progress.
 */

import type { AnyValue } from "./any-value.ts";
import { Attachment, peerToken } from "./attachment.ts";
import type { AttachmentToken } from "./attachment-token.ts";
import { DittoError, dittoError } from "./ditto-error.ts";
import type { Instance } from "./instance.ts";

export type AttachmentFetchEventType = "Completed" | "Progress" | "Deleted";

export type AttachmentFetchEventCompleted<D extends Instance = Instance> = {
  type: "Completed";
  attachment: Attachment<D>;
};

export type AttachmentFetchEventProgress = {
  type: "Progress";
  totalBytes: number | bigint;
  downloadedBytes: number | bigint;
};

/** Not sent: a peer waits for a content that is not on its server yet. */
export type AttachmentFetchEventDeleted = { type: "Deleted" };

export type AttachmentFetchEvent<D extends Instance = Instance> =
  | AttachmentFetchEventCompleted<D>
  | AttachmentFetchEventProgress
  | AttachmentFetchEventDeleted;

export type AttachmentFetchHandler<D extends Instance = Instance> = (
  event: AttachmentFetchEvent<D>,
) => void;

/** It can be awaited itself, or by its `attachment`. */
export class AttachmentFetcher<D extends Instance = Instance>
  implements PromiseLike<Attachment<D> | null>
{
  readonly ditto: D;
  readonly id: string;
  readonly token: AttachmentToken;
  /** The attachment. It rejects when the fetch fails or is stopped. */
  readonly attachment: Promise<Attachment<D>>;
  readonly #abort = new AbortController();
  readonly #onEnd: (fetcher: AttachmentFetcher<D>) => void;

  constructor(
    ditto: D,
    token: AttachmentToken,
    handler: AttachmentFetchHandler<D> | undefined,
    onEnd: (fetcher: AttachmentFetcher<D>) => void,
  ) {
    this.ditto = ditto;
    this.id = token.id;
    this.token = token;
    this.#onEnd = onEnd;
    this.attachment = this.#fetch(handler);
    // An app may use the events alone.
    this.attachment.catch(() => {});
  }

  get isStopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Ends the fetch. What arrived stays on the device for the next one. */
  stop(): void {
    if (this.isStopped) return;
    const message = "the fetch of the attachment was stopped";
    this.#abort.abort(new DittoError("store/failed-to-fetch-attachment", message));
    this.#onEnd(this);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise in the reference SDK, too.
  then<TResult1 = AnyValue, TResult2 = never>(
    onfulfilled?: ((value: AnyValue) => TResult1 | PromiseLike<TResult1>) | null,
    onrejected?: ((reason: AnyValue) => TResult2 | PromiseLike<TResult2>) | null,
  ): PromiseLike<TResult1 | TResult2> {
    return this.attachment.then(onfulfilled, onrejected);
  }

  async #fetch(handler: AttachmentFetchHandler<D> | undefined): Promise<Attachment<D>> {
    const { signal } = this.#abort;
    try {
      const peer = await this.ditto.opening.opened;
      await peer.attachments.fetch(peerToken(this.token), {
        signal,
        onProgress: ({ received, total }) =>
          handler?.({ type: "Progress", downloadedBytes: received, totalBytes: total }),
      });
      const attachment = new Attachment(this.ditto, this.token);
      handler?.({ type: "Completed", attachment });
      return attachment;
    } catch (error) {
      throw dittoError(error, { "store.full": "store/failed-to-fetch-attachment" });
    } finally {
      this.#onEnd(this);
    }
  }
}
