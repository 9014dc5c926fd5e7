/**
 * A server that takes and gives contents, in memory, for tests of a peer's transfers: connections end
 * when the test says so, and it counts what was sent.
 */

import { createHash } from "node:crypto";
import { CONTENT_PROOF } from "@bigpeer/protocol";
import type { Cancel } from "../../src/peer/contents/cancel.ts";
import type { ContentHash } from "../../src/peer/contents/content-hash.ts";
import type { CreatedContent } from "../../src/peer/contents/content-place.ts";
import { type ContentTransport, TransferError } from "../../src/peer/contents/content-transport.ts";
import type { TokenContent } from "../../src/store/attachment-tokens.ts";

export function testHash(): ContentHash {
  const hash = createHash("sha256");
  return {
    update: (bytes) => {
      hash.update(bytes);
    },
    digests: () => ({
      id: hash.copy().digest("base64url"),
      proof: hash.copy().update(CONTENT_PROOF).digest("base64url"),
    }),
  };
}

export function idOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

export class ContentServer implements ContentTransport {
  readonly stored = new Map<string, Uint8Array>();
  readonly partial = new Map<string, Uint8Array>();
  /** Bytes that came and went. */
  sentBytes = 0;
  receivedBytes = 0;
  /** How often an upload began. */
  beginCount = 0;
  /** How often it was asked for a content that it does not have. */
  absentCount = 0;
  /** After how many bytes each connection ends. */
  cutAfter: number = Number.POSITIVE_INFINITY;
  /** Thrown by every call. */
  fault: TransferError | undefined;
  /** What the server sends instead of a content. */
  readonly forged = new Map<string, Uint8Array>();
  /** Bytes of a piece. */
  pieceSize = 4;

  async begin({ id, len }: CreatedContent): Promise<number> {
    this.beginCount++;
    this.#check();
    // The empty content is complete as soon as it begins.
    if (len === 0) this.stored.set(id, new Uint8Array());
    return this.stored.has(id) ? len : (this.partial.get(id)?.length ?? 0);
  }

  async send(
    { id, len }: CreatedContent,
    offset: number,
    pieces: AsyncIterable<Uint8Array>,
    cancel: Cancel,
  ): Promise<number> {
    this.#check();
    let left = this.cutAfter;
    let known = this.partial.get(id) ?? new Uint8Array();
    if (known.length !== offset) return known.length;
    for await (const piece of pieces) {
      if (cancel.isCancelled) return known.length;
      const part = piece.subarray(0, left);
      this.sentBytes += part.length;
      known = new Uint8Array([...known, ...part]);
      this.partial.set(id, known);
      left -= part.length;
      if (left <= 0 && known.length < len) throw new TransferError("lost", "cut");
    }
    if (known.length < len) return known.length;
    this.partial.delete(id);
    if (idOf(known) !== id) throw new TransferError("refused", "another digest");
    this.stored.set(id, known);
    return len;
  }

  async *receive(
    { id, len }: TokenContent,
    offset: number,
    cancel: Cancel,
  ): AsyncIterable<Uint8Array> {
    this.#check();
    const forged = this.forged.get(id);
    const content = forged ?? this.stored.get(id);
    if (content === undefined) {
      this.absentCount++;
      throw new TransferError("absent", "404");
    }
    if (forged === undefined && content.length !== len) {
      throw new TransferError("refused", `expected ${len} bytes, found ${content.length}`);
    }
    let left = this.cutAfter;
    for (let at = offset; at < content.length && !cancel.isCancelled; ) {
      if (left <= 0) throw new TransferError("lost", "cut");
      const piece = content.subarray(at, at + Math.min(this.pieceSize, left));
      this.receivedBytes += piece.length;
      left -= piece.length;
      at += piece.length;
      yield piece;
    }
  }

  #check(): void {
    if (this.fault !== undefined) throw this.fault;
  }
}
