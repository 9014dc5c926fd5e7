/**
 * DeviceSpace: the bytes that contents of attachments take on a device, within a bound. It counts
 * complete contents, those that are arriving, and downloads that ended before their end. Contents that
 * can be fetched again make room for others.
 *
 * Space is taken before bytes are stored. One request at a time is decided, so two contents that
 * arrive together cannot take the same space. Contents become complete, and are removed, in the same
 * turns: so a content always has its record, even if it is created while an older copy is removed.
 */

import { PeerError } from "@bigpeer/protocol";
import type { ContentPlace } from "./content-place.ts";
import type { DeviceContents } from "./device-contents.ts";

export interface DeviceSpaceOptions {
  readonly contents: DeviceContents;
  readonly place: ContentPlace;
  /** Bytes of all contents on the device, at most. */
  readonly bytesMax: number;
  /** Ids of the downloads that go on by themselves: what they have stays. */
  readonly wantedIds: () => ReadonlySet<string>;
}

/** The space of a content that is arriving. */
export interface SpaceShare {
  /** Of a download. */
  readonly id?: string;
  /** Bytes that were taken for it. */
  bytes: number;
  /** Bytes of a download that stay when it ends early. */
  kept: number;
}

export interface SpaceRequest {
  readonly bytes: number;
  /** Whether contents that documents refer to make room for it as well. */
  readonly isUrgent: boolean;
}

/** A request that is being decided. */
interface DecidedRequest extends SpaceRequest {
  /** Contents to which a write has referred since they were chosen. */
  readonly needed: Set<string>;
}

/** Something that can be fetched again. */
interface Removable {
  readonly bytes: number;
  readonly remove: () => Promise<void>;
}

export class DeviceSpace {
  readonly #options: DeviceSpaceOptions;
  readonly #shares = new Set<SpaceShare>();
  /** Bytes of downloads that ended early, by id, the oldest first; undefined before the first look. */
  #resting: Map<string, number> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DeviceSpaceOptions) {
    this.#options = options;
  }

  /** Passes on the pieces of a content that is created, after it has taken space for each. */
  async *bounded(share: SpaceShare, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      await this.take(share, { bytes, isUrgent: true });
      yield piece;
    }
  }

  /** A content begins to arrive; `id` is that of a download. */
  share(id?: string): SpaceShare {
    const share: SpaceShare = { bytes: 0, kept: 0, ...(id !== undefined && { id }) };
    this.#shares.add(share);
    return share;
  }

  /** Makes room for a content. Rejects with `store.full`; then nothing was removed. */
  take(share: SpaceShare, { bytes, isUrgent }: SpaceRequest): Promise<void> {
    return this.#inTurn(async () => {
      const { contents, bytesMax } = this.#options;
      if (bytes > bytesMax) throw noRoom(bytes, bytesMax);
      const resting = await this.#restingDownloads();
      const { id } = share;
      const own = id === undefined ? undefined : resting.get(id);
      if (id !== undefined && own !== undefined) {
        // From now on it is part of the share.
        resting.delete(id);
        share.kept = own;
        share.bytes = own;
      }
      const excess = (): number => {
        let others = contents.bytes - share.bytes;
        for (const each of this.#shares) others += each.bytes;
        for (const size of resting.values()) others += size;
        return others + bytes - bytesMax;
      };
      const needed = new Set<string>();
      for (let over = excess(); over > 0; over = excess()) {
        await this.#free(over, { bytes, isUrgent, needed }, resting);
      }
      share.bytes = bytes;
    });
  }

  /** Runs `complete`, which makes the content visible and counts it; its share ends. */
  settle(share: SpaceShare, complete: () => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await complete();
      share.kept = 0;
      this.release(share);
    });
  }

  /** Removes a content, if still nothing refers to it. */
  removeUnused(id: string): Promise<void> {
    const { contents, place } = this.#options;
    return this.#inTurn(async () => {
      if (await contents.removeUnused(id)) await place.remove(id);
    });
  }

  /** Removes a content that has no record. */
  removeStray(id: string): Promise<void> {
    const { contents, place } = this.#options;
    return this.#inTurn(async () => {
      if (contents.record(id) === undefined) await place.remove(id);
    });
  }

  /** The content does not arrive any longer. What a download has stays for the next attempt. */
  release(share: SpaceShare): void {
    if (!this.#shares.delete(share)) return;
    const { id, kept } = share;
    if (id !== undefined && kept > 0) this.#resting?.set(id, kept);
  }

  /** Removes downloads that no one continues and that got nothing since `beforeMs`. */
  discardOld(beforeMs: number): Promise<void> {
    return this.#inTurn(async () => {
      const wanted = this.#options.wantedIds();
      for (const { id, atMs } of await this.#options.place.partials()) {
        if (atMs >= beforeMs || wanted.has(id) || this.#isArriving(id)) continue;
        await this.#options.place.discard(id);
        this.#resting?.delete(id);
      }
    });
  }

  async #free(
    excess: number,
    request: DecidedRequest,
    resting: Map<string, number>,
  ): Promise<void> {
    const removed: Removable[] = [];
    let left = excess;
    for (const each of this.#removable(request, resting)) {
      if (left <= 0) break;
      removed.push(each);
      left -= each.bytes;
    }
    if (left > 0) throw noRoom(request.bytes, this.#options.bytesMax);
    for (const { remove } of removed) await remove();
  }

  /** Downloads that were given up first, then contents, those without a document first. */
  *#removable(
    { isUrgent, needed }: DecidedRequest,
    resting: Map<string, number>,
  ): Iterable<Removable> {
    const { contents, place, wantedIds } = this.#options;
    const wanted = wantedIds();
    for (const [id, bytes] of resting) {
      if (wanted.has(id)) continue;
      const remove = async (): Promise<void> => {
        await place.discard(id);
        resting.delete(id);
      };
      yield { bytes, remove };
    }
    for (const { id, len, isReferenced } of contents.removable()) {
      if (needed.has(id) || (isReferenced && !isUrgent)) continue;
      const remove = async (): Promise<void> => {
        if (await contents.remove(id)) await place.remove(id);
        else needed.add(id);
      };
      yield { bytes: len, remove };
    }
  }

  async #restingDownloads(): Promise<Map<string, number>> {
    if (this.#resting !== undefined) return this.#resting;
    const found = await this.#options.place.partials();
    this.#resting = new Map(found.map(({ id, size }) => [id, size]));
    return this.#resting;
  }

  #isArriving(id: string): boolean {
    return [...this.#shares].some((share) => share.id === id);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work, work);
    this.#turn = next;
    return next;
  }
}

function noRoom(bytes: number, bytesMax: number): PeerError {
  const message = `expected at most ${bytesMax} bytes of attachments on this device; ${bytes} more do not fit`;
  const hint = "raise attachmentBytesMax, or delete or EVICT documents that refer to attachments";
  return new PeerError("store.full", message, { hint });
}
