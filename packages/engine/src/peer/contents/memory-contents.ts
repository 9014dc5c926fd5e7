/**
 * Memory contents: the ContentPlace of a peer that keeps everything in memory.
 */

import { PeerError } from "@bigpeer/protocol";
import type { ContentHash } from "./content-hash.ts";
import type {
  ContentPlace,
  CreatedContent,
  PartialContent,
  ReadyContent,
  RestingContent,
} from "./content-place.ts";

export class MemoryContents implements ContentPlace {
  readonly #newHash: () => ContentHash;
  readonly #contents = new Map<string, readonly Uint8Array[]>();
  readonly #partial = new Map<string, Uint8Array[]>();

  constructor(newHash: () => ContentHash) {
    this.#newHash = newHash;
  }

  async create(
    pieces: AsyncIterable<Uint8Array>,
    onReady: ReadyContent = (_, keep) => keep(),
  ): Promise<CreatedContent> {
    const hash = this.#newHash();
    const kept: Uint8Array[] = [];
    let len = 0;
    for await (const piece of pieces) {
      len += piece.length;
      hash.update(piece);
      // The caller may use its memory again.
      kept.push(piece.slice());
    }
    const created = { len, ...hash.digests() };
    await onReady(created, async () => {
      this.#contents.set(created.id, kept);
    });
    return created;
  }

  async has(id: string): Promise<boolean> {
    return this.#contents.has(id);
  }

  async *read(id: string, len: number, offset: number): AsyncIterable<Uint8Array> {
    const pieces = this.#contents.get(id);
    if (pieces === undefined || sizeOf(pieces) !== len) throw notHere(id, len);
    let start = 0;
    for (const piece of pieces) {
      const from = Math.max(0, offset - start);
      start += piece.length;
      if (from < piece.length) yield piece.subarray(from);
    }
  }

  async resume(id: string): Promise<PartialContent> {
    const pieces = this.#partial.get(id) ?? [];
    // Behind those that were not continued for longer.
    this.#partial.delete(id);
    this.#partial.set(id, pieces);
    const finish = (): boolean => this.#finish(id, pieces);
    return {
      get size(): number {
        return sizeOf(pieces);
      },
      append: async (bytes) => {
        pieces.push(bytes.slice());
      },
      finish: async () => finish(),
      close: async () => {},
    };
  }

  async remove(id: string): Promise<void> {
    this.#contents.delete(id);
  }

  async *ids(): AsyncIterable<string> {
    yield* this.#contents.keys();
  }

  /** None of them is ever old: it has no clock, and the bound on all contents counts them. */
  async partials(): Promise<readonly RestingContent[]> {
    return [...this.#partial].map(([id, pieces]) => {
      return { id, size: sizeOf(pieces), atMs: Number.POSITIVE_INFINITY };
    });
  }

  async discard(id: string): Promise<void> {
    this.#partial.delete(id);
  }

  #finish(id: string, pieces: readonly Uint8Array[]): boolean {
    this.#partial.delete(id);
    const hash = this.#newHash();
    for (const piece of pieces) hash.update(piece);
    if (hash.digests().id !== id) return false;
    this.#contents.set(id, pieces);
    return true;
  }
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((size, piece) => size + piece.length, 0);
}

function notHere(id: string, len: number): PeerError {
  const message = `expected ${len} bytes of the attachment ${id} on this device, found none`;
  return new PeerError("store.corrupt", message);
}
