/**
 * PeerContents: the attachments of a small peer. It creates contents on the device, brings them to
 * the server before the documents that refer to them (S90), fetches others, and removes what nothing
 * refers to.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { TokenContent } from "../../store/attachment-tokens.ts";
import type { PeerStore } from "../peer-store.ts";
import type { KnownSubscription } from "../subscriptions.ts";
import { ContentDownloads } from "./content-downloads.ts";
import type { ContentPlace } from "./content-place.ts";
import type { ContentTransport } from "./content-transport.ts";
import { ContentUploads } from "./content-uploads.ts";
import { DeviceContents } from "./device-contents.ts";
import { DeviceSpace } from "./device-space.ts";
import { Prefetches } from "./prefetches.ts";
import { TransferQueue } from "./transfer-queue.ts";

export interface PeerContentsOptions {
  readonly store: PeerStore;
  readonly place: ContentPlace;
  readonly transport: ContentTransport;
  readonly platform: Pick<Platform, "now" | "elapsed" | "random">;
  /** Calls `wake` once after `ms`. Returns a function that cancels it. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  /** Bytes of all contents on the device, at most. */
  readonly bytesMax: number;
  readonly onError: (error: unknown) => void;
}

/** What transfers have done since the peer was opened, and what waits. */
export interface ContentStats {
  readonly uploadsWaiting: number;
  readonly downloadsWaiting: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly failedCount: number;
  /** Bytes of all contents on the device. */
  readonly storedBytes: number;
  /** Why the server takes no contents, for which writes wait; undefined if it does. */
  readonly uploadFault: string | undefined;
}

/** How long a content stays on the device that no document refers to. */
export const CONTENT_GRACE_MS = 86_400_000;

/** How long a download that was given up can go on later. */
const PARTIAL_MS = 7 * 86_400_000;

/** The use of a content is recorded this often at most. */
const TOUCH_MS = 3_600_000;

const UPLOADS_AT_ONCE_MAX = 2;
const DOWNLOADS_AT_ONCE_MAX = 2;

/** Uploads that wait are counted up to this number. */
const COUNTED_MAX = 1000;

/** What a fetch asks for. */
export type WantedContent = TokenContent;

export class PeerContents {
  /** The contents on the device. */
  readonly device: DeviceContents;
  readonly #options: PeerContentsOptions;
  readonly #space: DeviceSpace;
  readonly #prefetches: Prefetches;
  readonly #forgetPending: () => void;
  readonly #downloads: ContentDownloads;
  readonly #uploads: ContentUploads;
  readonly #uploading: TransferQueue;
  readonly #downloading: TransferQueue;
  #sentBytes = 0;
  #receivedBytes = 0;
  #failedCount = 0;
  #isClosed = false;

  constructor(options: PeerContentsOptions) {
    this.#options = options;
    const { store, place, transport, platform, wakeIn, bytesMax } = options;
    const contents = new DeviceContents(store.store, {
      now: () => platform.now(),
      // Not within the read of the store that found it.
      onDoubted: () => void wakeIn(0, () => this.#uploading.look()),
    });
    this.device = contents;
    store.gate = {
      room: (view, max) => contents.room(view, max),
      holds: (view, steps) => contents.holds(view, steps),
      applied: (batch) => this.#prefetches.applied(batch),
    };
    this.#forgetPending = store.onPending(() => this.#uploading.lookSoon());
    this.#prefetches = new Prefetches(store.store, (wanted) => this.#prefetch(wanted));
    const onError = (error: unknown): void => this.#fail(error);
    this.#uploads = new ContentUploads({
      contents,
      place,
      transport,
      onError,
      onStored: () => store.offer(),
      onBytes: (bytes) => {
        this.#sentBytes += bytes;
      },
    });
    const wantedIds = (): ReadonlySet<string> => this.#downloads.ids;
    this.#space = new DeviceSpace({ contents, place, bytesMax, wantedIds });
    this.#downloads = new ContentDownloads({
      contents,
      place,
      transport,
      now: () => platform.now(),
      space: this.#space,
      onBytes: (bytes) => {
        this.#receivedBytes += bytes;
      },
      onFailed: (error, isReported) => {
        if (isReported) this.#failedCount++;
        else this.#fail(error);
      },
    });
    const queue = { platform, wakeIn, onError };
    this.#uploading = new TransferQueue({
      ...queue,
      wanted: () => this.#uploads.transfers(),
      atOnceMax: UPLOADS_AT_ONCE_MAX,
    });
    this.#downloading = new TransferQueue({
      ...queue,
      wanted: () => this.#downloads.transfers(),
      atOnceMax: DOWNLOADS_AT_ONCE_MAX,
    });
  }

  /** Transfers may begin. */
  start(): void {
    if (this.#isClosed) return;
    this.#uploading.start();
    this.#downloading.start();
  }

  /** Ends all transfers; they go on after the next start. */
  async stop(): Promise<void> {
    await Promise.all([this.#uploading.stop(), this.#downloading.stop()]);
  }

  /** The server can be reached again. `credential` names the credential of the connection. */
  connected(credential: string): void {
    this.device.credential = credential;
    this.#uploading.hurry();
    this.#downloading.hurry();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#forgetPending();
    await this.stop();
    this.#downloads.rejectAll(new PeerError("store.closed", "the peer is closed"));
  }

  /** Stores a content on the device. */
  async create(pieces: AsyncIterable<Uint8Array>): Promise<WantedContent> {
    this.#checkOpen();
    const { place, platform } = this.#options;
    const space = this.#space;
    const share = space.share();
    try {
      const { id, len } = await place.create(space.bounded(share, pieces), (created, keep) =>
        space.settle(share, async () => {
          await keep();
          await this.device.add(created, platform.now());
        }),
      );
      this.#downloads.arrived({ id, len });
      return { id, len };
    } finally {
      space.release(share);
    }
  }

  /**
   * Resolves when the content is on the device, however long that takes. `cancel` gives it up: then
   * the promise stays pending.
   */
  fetch(
    { id, len }: WantedContent,
    onProgress: (received: number) => void,
  ): { readonly arrived: Promise<void>; readonly cancel: () => void } {
    this.#checkOpen();
    if (this.#hasFor(id, len)) {
      this.#touch(id);
      onProgress(len);
      return { arrived: Promise.resolve(), cancel: () => {} };
    }
    let leave: (() => boolean) | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      leave = this.#downloads.wait({ id, len }, { onProgress, resolve, reject });
    });
    this.#downloading.look();
    const cancel = (): void => {
      if (leave?.() === true) this.#downloading.cancel(id);
    };
    return { arrived, cancel };
  }

  /**
   * Fetches the contents that documents of a subscription refer to in advance. Returns a function that
   * ends it.
   */
  prefetch(subscription: KnownSubscription): () => void {
    const end = this.#prefetches.add(subscription);
    return () => {
      end();
      this.#endPrefetched();
    };
  }

  /**
   * The content from a byte on, after a fetch. What made room for others since then is fetched again.
   */
  async *read({ id, len }: WantedContent, offset = 0): AsyncIterable<Uint8Array> {
    for (let at = offset; ; ) {
      try {
        for await (const piece of this.#options.place.read(id, len, at)) {
          at += piece.length;
          yield piece;
        }
        return;
      } catch (error) {
        if (this.device.record(id) !== undefined) throw error;
      }
      await this.fetch({ id, len }, () => {}).arrived;
    }
  }

  get stats(): ContentStats {
    const { device: contents } = this;
    const uploadsWaiting = contents.awaited(COUNTED_MAX).length;
    return {
      uploadsWaiting,
      downloadsWaiting: this.#downloads.count,
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      failedCount: this.#failedCount,
      storedBytes: contents.bytes,
      uploadFault: uploadsWaiting > 0 ? this.#uploads.fault : undefined,
    };
  }

  /** Removes contents that nothing refers to, and files without a record. */
  async maintain(): Promise<void> {
    const { device: contents } = this;
    const { place, platform } = this.#options;
    const beforeMs = platform.now() - CONTENT_GRACE_MS;
    for (const id of contents.unused(beforeMs)) await this.#space.removeUnused(id);
    for await (const id of place.ids()) {
      if (contents.record(id) === undefined) await this.#space.removeStray(id);
    }
    await this.#space.discardOld(platform.now() - PARTIAL_MS);
  }

  /**
   * Whether the content can be used. What the server sent for a document that is no longer here is
   * asked for again: this user may not be the one who fetched it (P17).
   */
  #hasFor(id: string, len: number): boolean {
    const { device: contents } = this;
    const record = contents.record(id);
    if (record === undefined || record.len !== len) return false;
    return record.proof !== undefined || contents.isReferenced(id);
  }

  /** An app uses a content that is on the device: others make room before it. */
  #touch(id: string): void {
    const nowMs = this.#options.platform.now();
    const { at = nowMs } = this.device.record(id) ?? {};
    if (Math.abs(nowMs - at) < TOUCH_MS) return;
    // On a full or closed store it only makes room sooner.
    this.device.touch(id, nowMs).catch(() => {});
  }

  #prefetch(wanted: Iterable<WantedContent>): void {
    for (const content of wanted) {
      if (this.device.record(content.id) === undefined) this.#downloads.prefetch(content);
    }
    this.#downloading.look();
  }

  /** What only a subscription wanted that has ended is not downloaded. */
  #endPrefetched(): void {
    const ended = this.#downloads.prefetchOnly(this.#prefetches.ids());
    for (const id of ended) this.#downloading.cancel(id);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PeerError("store.closed", "the peer is closed");
  }

  #fail(error: unknown): void {
    this.#failedCount++;
    this.#options.onError(error);
  }
}
