/**
 * ContentDownloads: brings contents from the server to the device, for callers that wait and for
 * subscriptions that want them in advance. A download that was cut, even by the end of the process,
 * goes on where the bytes on the device end, and is kept only if its digest is its id.
 */

import { PeerError } from "@bigpeer/protocol";
import type { TokenContent } from "../../store/attachment-tokens.ts";
import type { Cancel } from "./cancel.ts";
import type { ContentPlace, PartialContent } from "./content-place.ts";
import { type ContentTransport, TransferError } from "./content-transport.ts";
import type { DeviceContents } from "./device-contents.ts";
import type { DeviceSpace, SpaceShare } from "./device-space.ts";
import type { Transfer, TransferOutcome } from "./transfer-queue.ts";

export interface DownloadParts {
  readonly contents: DeviceContents;
  readonly place: ContentPlace;
  readonly transport: ContentTransport;
  readonly now: () => number;
  readonly space: DeviceSpace;
  readonly onBytes: (bytes: number) => void;
  /** A download failed for good. `isReported`: a caller waited and has the error. */
  readonly onFailed: (error: unknown, isReported: boolean) => void;
}

/** Who waits for a content. */
export interface ContentWaiter {
  readonly onProgress: (received: number) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Download extends TokenContent {
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
  /** By id and length: a token with a wrong length must not spoil the download of another one. */
  readonly #wanted = new Map<string, Download>();
  /** Whether a full device was reported since the last download that succeeded. */
  #isFullReported = false;

  constructor(parts: DownloadParts) {
    this.#parts = parts;
  }

  /** Downloads that are not complete. */
  get count(): number {
    return this.#wanted.size;
  }

  get ids(): ReadonlySet<string> {
    return new Set([...this.#wanted.values()].map(({ id }) => id));
  }

  /** Those that someone waits for come first. */
  transfers(): readonly Transfer[] {
    const urgent: Transfer[] = [];
    const others: Transfer[] = [];
    for (const download of this.#wanted.values()) {
      const run = (cancel: Cancel): Promise<TransferOutcome> => this.#run(download, cancel);
      (download.waiters.size > 0 ? urgent : others).push({ id: download.id, run });
    }
    return [...urgent, ...others];
  }

  /** Returns a function that removes the waiter. It is true if the download has no other purpose. */
  wait(content: TokenContent, waiter: ContentWaiter): () => boolean {
    const download = this.#wantedOf(content);
    download.waiters.add(waiter);
    if (download.received > 0) waiter.onProgress(download.received);
    return () => {
      download.waiters.delete(waiter);
      if (download.waiters.size > 0 || download.isPrefetched) return false;
      this.#forget(download);
      return true;
    };
  }

  prefetch(content: TokenContent): void {
    this.#wantedOf(content).isPrefetched = true;
  }

  /** Of contents that are prefetched, only these are wanted still. Returns those that are not. */
  prefetchOnly(ids: ReadonlySet<string>): readonly string[] {
    const ended: string[] = [];
    for (const download of this.#wanted.values()) {
      if (!download.isPrefetched || ids.has(download.id)) continue;
      download.isPrefetched = false;
      if (download.waiters.size > 0) continue;
      this.#forget(download);
      ended.push(download.id);
    }
    return ended;
  }

  /** The content came to the device in another way. */
  arrived(content: TokenContent): void {
    const download = this.#wanted.get(keyOf(content));
    if (download !== undefined) this.#end(download, (waiter) => waiter.resolve());
  }

  /** All that waits fails. */
  rejectAll(error: unknown): void {
    for (const { waiters } of this.#wanted.values()) {
      for (const waiter of waiters) waiter.reject(error);
    }
    this.#wanted.clear();
  }

  #wantedOf({ id, len }: TokenContent): Download {
    const key = keyOf({ id, len });
    const known = this.#wanted.get(key);
    if (known !== undefined) return known;
    const download: Download = {
      id,
      len,
      waiters: new Set(),
      isPrefetched: false,
      received: 0,
      mismatches: 0,
    };
    this.#wanted.set(key, download);
    return download;
  }

  async #run(download: Download, cancel: Cancel): Promise<TransferOutcome> {
    const { space } = this.#parts;
    const { id, len, received } = download;
    const share = space.share(id);
    try {
      await space.take(share, { bytes: len, isUrgent: download.waiters.size > 0 });
      if (!(await this.#receive(download, share, cancel))) {
        return { isDone: false, hadProgress: download.received > received };
      }
      this.#isFullReported = false;
      this.#end(download, (waiter) => waiter.resolve());
      return { isDone: true };
    } catch (error) {
      return this.#failed(download, { error, hadProgress: download.received > received });
    } finally {
      space.release(share);
    }
  }

  /** False if it is not complete. */
  async #receive(download: Download, share: SpaceShare, cancel: Cancel): Promise<boolean> {
    const { place, space } = this.#parts;
    const { id, len } = download;
    const partial = await place.resume(id);
    try {
      this.#note(download, partial.size);
      try {
        if (partial.size < len) await this.#append(download, { partial, cancel });
      } finally {
        // However it ended.
        share.kept = partial.size;
      }
      if (cancel.isCancelled || partial.size < len) return false;
      share.kept = 0;
      let isRight = false;
      await space.settle(share, async () => {
        isRight = await this.#complete(download, partial);
      });
      if (isRight) return true;
      download.mismatches++;
      this.#note(download, 0);
      throw otherContent(download);
    } finally {
      await partial.close();
    }
  }

  /** False if it is another content; then nothing of it remains. */
  async #complete({ id, len }: Download, partial: PartialContent): Promise<boolean> {
    const { contents, place, now } = this.#parts;
    if (!(await partial.finish())) return false;
    if (partial.size === len) await contents.add({ id, len }, now());
    else if (contents.record(id) === undefined) await place.remove(id);
    return partial.size === len;
  }

  async #append(
    download: Download,
    { partial, cancel }: { readonly partial: PartialContent; readonly cancel: Cancel },
  ): Promise<void> {
    const { transport, onBytes } = this.#parts;
    for await (const bytes of transport.receive(download, partial.size, cancel)) {
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
    download: Download,
    { error, hadProgress }: { readonly error: unknown; readonly hadProgress: boolean },
  ): TransferOutcome {
    if (this.#isUnused(download, error)) {
      this.#forget(download);
      return { isDone: true };
    }
    const isFinal = download.mismatches >= MISMATCHES_MAX;
    if (error instanceof TransferError && error.fault !== "refused" && !isFinal) {
      const afterMs = Math.max(error.afterMs, error.fault === "absent" ? ABSENT_MS : 0);
      return { isDone: false, hadProgress, afterMs };
    }
    const failure =
      error instanceof TransferError
        ? new PeerError(error.code, error.message, { cause: error })
        : error;
    this.#reportFailed(download, failure);
    this.#end(download, (waiter) => waiter.reject(failure));
    return { isDone: true };
  }

  /** What was prefetched for a document that is gone meanwhile. */
  #isUnused({ id, waiters }: Download, error: unknown): boolean {
    const isAbsent = error instanceof TransferError && error.fault === "absent";
    return isAbsent && waiters.size === 0 && !this.#parts.contents.isReferenced(id);
  }

  /** That there is no space for what is prefetched is reported once, not for each content. */
  #reportFailed({ waiters }: Download, error: unknown): void {
    const isFull = error instanceof PeerError && error.code === "store.full";
    const isReported = waiters.size > 0 || (isFull && this.#isFullReported);
    if (isFull && waiters.size === 0) this.#isFullReported = true;
    this.#parts.onFailed(error, isReported);
  }

  #end(download: Download, settle: (waiter: ContentWaiter) => void): void {
    this.#forget(download);
    for (const waiter of download.waiters) settle(waiter);
  }

  #forget(download: Download): void {
    const key = keyOf(download);
    if (this.#wanted.get(key) === download) this.#wanted.delete(key);
  }
}

function keyOf({ id, len }: TokenContent): string {
  return `${id} ${len}`;
}

function otherContent({ id, len, mismatches }: Download): TransferError {
  const message = `expected ${len} bytes with the digest ${id} from the server, found other bytes`;
  return new TransferError(mismatches < MISMATCHES_MAX ? "later" : "refused", message);
}
