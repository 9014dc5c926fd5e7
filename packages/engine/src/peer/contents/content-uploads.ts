/**
 * ContentUploads: brings contents that were created on the device to the server, in the order of the
 * documents that wait for them (S90). An upload that was cut goes on where the server's bytes end.
 */

import { type ErrorCode, PeerError } from "@bigpeer/protocol";
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
  /**
   * A content cannot be uploaded: documents that refer to it do not wait for it any longer. Or the
   * server takes none for now: that is reported once, and uploads are tried again.
   */
  readonly onError: (error: PeerError) => void;
  /** Bytes that the server has stored. */
  readonly onBytes: (bytes: number) => void;
}

/** How many of those that wait are looked at. */
const AHEAD_MAX = 16;

export class ContentUploads {
  readonly #parts: UploadParts;
  /** How many bytes of a content the server has, as it said last. */
  readonly #reached = new Map<string, number>();
  /** Why the server takes no contents, by code; until it takes one. */
  readonly #faults = new Map<ErrorCode, string>();

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

  /** Why the server takes no contents now; undefined if it does. */
  get fault(): string | undefined {
    return [...this.#faults.values()].at(-1);
  }

  async #upload(content: CreatedContent, cancel: Cancel): Promise<TransferOutcome> {
    const { transport, contents, place, onStored } = this.#parts;
    const { id, len } = content;
    let hadProgress = false;
    try {
      let offset = await transport.begin(content, cancel);
      // What arrived of the last attempt, even if its answer did not.
      hadProgress = this.#reach(id, offset);
      while (offset < len && !cancel.isCancelled) {
        offset = await transport.send(content, offset, place.read(id, len, offset), cancel);
        if (this.#reach(id, offset)) hadProgress = true;
      }
      if (cancel.isCancelled) return { isDone: false, hadProgress };
      await contents.setStored(id);
      this.#reached.delete(id);
      this.#faults.clear();
      onStored();
      return { isDone: true };
    } catch (error) {
      return this.#failed(content, error, hadProgress);
    }
  }

  /** The server has the content up to `offset`. Returns whether that is further than before. */
  #reach(id: string, offset: number): boolean {
    const before = this.#reached.get(id);
    this.#reached.set(id, offset);
    if (before === undefined || offset <= before) return false;
    this.#parts.onBytes(offset - before);
    return true;
  }

  async #failed(
    { id }: CreatedContent,
    error: unknown,
    hadProgress: boolean,
  ): Promise<TransferOutcome> {
    if (isTransient(error)) {
      if (error instanceof TransferError) this.#reportFault(error);
      const { afterMs = 0 } = error as Partial<TransferError>;
      return { isDone: false, hadProgress, afterMs };
    }
    const { contents, onStored, onError } = this.#parts;
    const reason = error instanceof Error ? error.message : String(error);
    const code =
      error instanceof PeerError || error instanceof TransferError ? error.code : "store.corrupt";
    this.#reached.delete(id);
    await contents.setRefused(id, reason);
    onError(
      new PeerError(code, `failed to upload the attachment ${id}: ${reason}`, { cause: error }),
    );
    onStored();
    return { isDone: true };
  }

  /** Reports what lasts until an operator acts, once for each cause. */
  #reportFault(error: TransferError): void {
    const code = lastingFault(error);
    if (code === undefined || this.#faults.has(code)) return;
    const { message } = error;
    this.#faults.set(code, message);
    const text = `the server takes no attachments now: ${message}; uploads are tried again`;
    this.#parts.onError(new PeerError(code, text, { cause: error }));
  }
}

/** The code for what lasts until an operator acts; undefined for what passes by itself. */
function lastingFault({ fault, code }: TransferError): ErrorCode | undefined {
  if (fault === "absent") return "config.invalid";
  return fault === "later" && code === "store.full" ? code : undefined;
}

/** Whether another attempt can succeed; a store that cannot be written to can be later. */
function isTransient(error: unknown): boolean {
  if (error instanceof TransferError) return error.fault !== "refused";
  return error instanceof PeerError && error.code !== "store.corrupt";
}
