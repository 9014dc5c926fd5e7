/**
 * ContentDownloads: brings contents from the server to the device, for callers that wait and for
 * subscriptions that want them in advance. A download that was cut, even by the end of the process,
 * goes on where the bytes on the device end, and is kept only if its digest is its id.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Cancel } from "./cancel.ts";
import type { ContentPlace, PartialContent } from "./content-place.ts";
import { type ContentTransport, TransferError } from "./content-transport.ts";
import type { DeviceContents } from "./device-contents.ts";
import type { Transfer, TransferOutcome } from "./transfer-queue.ts";

export interface DownloadParts {
  readonly contents: DeviceContents;
  readonly place: ContentPlace;
  readonly transport: ContentTransport;
  readonly now: () => number;
  /** Makes room for a content. Rejects with `store.full`. */
  readonly makeRoom: (bytes: number) => Promise<void>;
  readonly onBytes: (bytes: number) => void;
}

/** Who waits for a content. */
export interface ContentWaiter {
  readonly onProgress: (received: number) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Download {
  readonly len: number;
  readonly waiters: Set<ContentWaiter>;
  /** Whether a subscription wants it, with or without a waiter. */
  isPrefetched: boolean;
  received: number;
  /** How often its bytes were not its content. */
  mismatches: number;
}

/** A server that sends other bytes under an id goes on doing so. */
const MISMATCHES_MAX = 3;

/** A content that is not there yet is asked for again after this time at the earliest. */
const ABSENT_MS = 2000;

export class ContentDownloads {
  readonly #parts: DownloadParts;
  readonly #wanted = new Map<string, Download>();

  constructor(parts: DownloadParts) {
    this.#parts = parts;
  }

  /** Downloads that are not complete. */
  get count(): number {
    return this.#wanted.size;
  }

  /** Those that someone waits for come first. */
  transfers(): readonly Transfer[] {
    const urgent: Transfer[] = [];
    const others: Transfer[] = [];
    for (const [id, download] of this.#wanted) {
      const run = (cancel: Cancel): Promise<TransferOutcome> => this.#run(id, download, cancel);
      (download.waiters.size > 0 ? urgent : others).push({ id, run });
    }
    return [...urgent, ...others];
  }

  /** Returns a function that removes the waiter. It is true if the download has no other purpose. */
  wait(id: string, len: number, waiter: ContentWaiter): () => boolean {
    const download = this.#wantedOf(id, len);
    download.waiters.add(waiter);
    if (download.received > 0) waiter.onProgress(download.received);
    return () => {
      download.waiters.delete(waiter);
      if (download.waiters.size > 0 || download.isPrefetched) return false;
      if (this.#wanted.get(id) === download) this.#wanted.delete(id);
      return true;
    };
  }

  prefetch(id: string, len: number): void {
    this.#wantedOf(id, len).isPrefetched = true;
  }

  /** All that waits fails. */
  rejectAll(error: unknown): void {
    for (const { waiters } of this.#wanted.values()) {
      for (const waiter of waiters) waiter.reject(error);
    }
    this.#wanted.clear();
  }

  #wantedOf(id: string, len: number): Download {
    const known = this.#wanted.get(id);
    if (known !== undefined) return known;
    const download: Download = {
      len,
      waiters: new Set(),
      isPrefetched: false,
      received: 0,
      mismatches: 0,
    };
    this.#wanted.set(id, download);
    return download;
  }

  async #run(id: string, download: Download, cancel: Cancel): Promise<TransferOutcome> {
    const before = download.received;
    try {
      if (!(await this.#receive(id, download, cancel))) {
        return { isDone: false, hadProgress: download.received > before };
      }
      await this.#parts.contents.add({ id, len: download.len }, this.#parts.now());
      this.#end(id, download, (waiter) => waiter.resolve());
      return { isDone: true };
    } catch (error) {
      return this.#failed(id, download, { error, hadProgress: download.received > before });
    }
  }

  /** False if it is not complete. */
  async #receive(id: string, download: Download, cancel: Cancel): Promise<boolean> {
    const { place, makeRoom } = this.#parts;
    await makeRoom(download.len);
    const partial = await place.resume(id);
    try {
      this.#note(download, partial.size);
      if (partial.size < download.len) await this.#append(id, download, { partial, cancel });
      if (cancel.isCancelled || partial.size < download.len) return false;
      if (partial.size === download.len && (await partial.finish())) return true;
      download.mismatches++;
      this.#note(download, 0);
      throw otherContent(id, download);
    } finally {
      await partial.close();
    }
  }

  async #append(
    id: string,
    download: Download,
    { partial, cancel }: { readonly partial: PartialContent; readonly cancel: Cancel },
  ): Promise<void> {
    const { transport, onBytes } = this.#parts;
    for await (const bytes of transport.receive(id, partial.size, cancel)) {
      if (cancel.isCancelled) return;
      const room = download.len - partial.size;
      await partial.append(bytes.length > room ? bytes.subarray(0, room + 1) : bytes);
      onBytes(bytes.length);
      this.#note(download, Math.min(partial.size, download.len));
      if (partial.size > download.len) return;
    }
  }

  #note(download: Download, received: number): void {
    if (received === download.received) return;
    download.received = received;
    for (const waiter of download.waiters) waiter.onProgress(received);
  }

  #failed(
    id: string,
    download: Download,
    { error, hadProgress }: { readonly error: unknown; readonly hadProgress: boolean },
  ): TransferOutcome {
    const isFinal = download.mismatches >= MISMATCHES_MAX;
    if (error instanceof TransferError && error.fault !== "refused" && !isFinal) {
      const afterMs = Math.max(error.afterMs, error.fault === "absent" ? ABSENT_MS : 0);
      return { isDone: false, hadProgress, afterMs };
    }
    const failure =
      error instanceof TransferError
        ? new PeerError(error.code, error.message, { cause: error })
        : error;
    this.#end(id, download, (waiter) => waiter.reject(failure));
    return { isDone: true };
  }

  #end(id: string, download: Download, settle: (waiter: ContentWaiter) => void): void {
    if (this.#wanted.get(id) === download) this.#wanted.delete(id);
    for (const waiter of download.waiters) settle(waiter);
  }
}

function otherContent(id: string, { len, mismatches }: Download): TransferError {
  const message = `expected ${len} bytes with the digest ${id} from the server, found other bytes`;
  return new TransferError(mismatches < MISMATCHES_MAX ? "later" : "refused", message);
}
