/**
 * ContentUploads: brings contents that were created on the device to the server, in the order of the
 * documents that wait for them (S90). An upload that was cut goes on where the server's bytes end.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Cancel } from "./cancel.ts";
import type { ContentPlace, CreatedContent } from "./content-place.ts";
import { type ContentTransport, TransferError } from "./content-transport.ts";
import type { DeviceContents } from "./device-contents.ts";
import type { Transfer, TransferOutcome } from "./transfer-queue.ts";

export interface UploadParts {
  readonly contents: DeviceContents;
  readonly place: ContentPlace;
  readonly transport: ContentTransport;
  /** Uploads of documents may go on. */
  readonly onStored: () => void;
  /** A content cannot be uploaded: documents that refer to it do not wait for it any longer. */
  readonly onError: (error: PeerError) => void;
  readonly onBytes: (bytes: number) => void;
}

/** How many of those that wait are looked at. */
const AHEAD_MAX = 16;

export class ContentUploads {
  readonly #parts: UploadParts;

  constructor(parts: UploadParts) {
    this.#parts = parts;
  }

  /** What has to be uploaded next, in order. */
  transfers(): readonly Transfer[] {
    return this.#parts.contents.awaited(AHEAD_MAX).map((content) => ({
      id: content.id,
      run: (cancel) => this.#upload(content, cancel),
    }));
  }

  async #upload(content: CreatedContent, cancel: Cancel): Promise<TransferOutcome> {
    const { transport, contents, onStored } = this.#parts;
    let sent = 0;
    try {
      let offset = await transport.begin(content, cancel);
      while (offset < content.len && !cancel.isCancelled) {
        const next = await transport.send(content, offset, this.#pieces(content, offset), cancel);
        sent += next - offset;
        offset = next;
      }
      if (cancel.isCancelled) return { isDone: false, hadProgress: sent > 0 };
      await contents.setStored(content.id);
      onStored();
      return { isDone: true };
    } catch (error) {
      return this.#failed(content, error, sent > 0);
    }
  }

  async *#pieces({ id, len }: CreatedContent, offset: number): AsyncIterable<Uint8Array> {
    for await (const piece of this.#parts.place.read(id, len, offset)) {
      this.#parts.onBytes(piece.length);
      yield piece;
    }
  }

  async #failed(
    { id }: CreatedContent,
    error: unknown,
    hadProgress: boolean,
  ): Promise<TransferOutcome> {
    if (isTransient(error)) {
      const { afterMs = 0 } = error as Partial<TransferError>;
      return { isDone: false, hadProgress, afterMs };
    }
    const { contents, onStored, onError } = this.#parts;
    const reason = error instanceof Error ? error.message : String(error);
    const code =
      error instanceof PeerError || error instanceof TransferError ? error.code : "store.corrupt";
    await contents.setRefused(id, reason);
    onError(
      new PeerError(code, `failed to upload the attachment ${id}: ${reason}`, { cause: error }),
    );
    onStored();
    return { isDone: true };
  }
}

/** Whether another attempt can succeed; a store that cannot be written to can be later. */
function isTransient(error: unknown): boolean {
  if (error instanceof TransferError) return error.fault !== "refused";
  return error instanceof PeerError && error.code !== "store.corrupt";
}
