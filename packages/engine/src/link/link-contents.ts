/**
 * Link contents: transfers attachments between two linked stores (S55).
 *
 * Documents have only tokens of attachments; the contents are stored beside the store, by the owner
 * of the link. Contents are fetched one after the other, piece by piece. If the other side lacks a
 * content, it may get it later, and the caller asks again when it needs it.
 */

import type { ContentMessage, FetchMessage, LinkMessage } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { referredAttachments } from "../store/attachment-view.ts";
import type { Store } from "../store/store.ts";

/** A piece of a content. */
export interface ContentPiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Size of the whole content. */
  readonly size: number;
}

/** Attachment storage of this side. */
export interface LinkAttachments {
  /** Whether contents are fetched as soon as a document refers to them. */
  readonly isEager: boolean;
  has(id: string): boolean;
  /** Reads at most `bytesMax` bytes from `offset` on; undefined if the content is not here. */
  open(id: string, offset: number, bytesMax: number): Promise<ContentPiece | undefined>;
  /** The byte to continue from if a previous fetch was interrupted; 0 otherwise. */
  start?(id: string): number;
  /**
   * Takes the next piece, in order. Returns `more` until the last piece. Then `kept` if the digest
   * is the id and the content is durable, else `refused`.
   */
  keep(id: string, piece: ContentPiece): Promise<"more" | "kept" | "refused">;
}

/** Result of a fetch. `missing`: the other side lacks it; `over`: it was given up. */
export type FetchOutcome = "kept" | "missing" | "refused" | "over";

/** Bytes of one piece (S55). */
const PIECE_BYTES = 256 * 1024;

/** Fetches that may wait; beyond it none is added. */
const WAITING_MAX = 100_000;

/** Requests of the other side that may wait: it should send one at a time (S55). */
const ASKED_MAX = 16;

/** How long the other side may take for one piece: it may have to fetch it itself (S55, S89). */
const PIECE_MS_MAX = 300_000;

/** Ids that one read looks at. */
const REFERRED_MAX = 1000;

class Fetch {
  readonly id: string;
  readonly promise: Promise<FetchOutcome>;
  #resolve: ((outcome: FetchOutcome) => void) | undefined;

  constructor(id: string) {
    this.id = id;
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settle(outcome: FetchOutcome): void {
    this.#resolve?.(outcome);
  }
}

export class LinkContents {
  readonly #attachments: LinkAttachments;
  readonly #send: (message: LinkMessage) => void;
  readonly #onFault: (error: unknown) => void;
  /** In the order of the requests, including the current one. */
  readonly #fetches = new Map<string, Fetch>();
  /** Fetches that a caller waits for: they go first. */
  readonly #urgent = new Set<string>();
  #current: Fetch | undefined;
  #offset = 0;
  /** Requested pieces, their number at the last check, and since when it is that number. */
  #askedCount = 0;
  #seenCount = 0;
  #seenMs = 0;
  /** Whether a piece is being stored. */
  #isKeeping = false;
  #asked: FetchMessage[] = [];
  #isAnswering = false;
  #isOver = false;

  constructor(
    attachments: LinkAttachments,
    send: (message: LinkMessage) => void,
    onFault: (error: unknown) => void,
  ) {
    this.#attachments = attachments;
    this.#send = send;
    this.#onFault = onFault;
  }

  /** Contents that have not arrived yet. */
  get missingCount(): number {
    return this.#fetches.size;
  }

  get fetchingNow(): string | undefined {
    return this.#current?.id;
  }

  isFetching(id: string): boolean {
    return this.#fetches.has(id);
  }

  /** Documents refer to these: fetches missing contents, if the storage is eager. */
  refer(ids: Iterable<string>): void {
    if (!this.#attachments.isEager) return;
    for (const id of ids) if (!this.#attachments.has(id)) this.#enter(id);
  }

  /** After a start, fetches missing contents of all documents, in slices. Never rejects. */
  async referAll(store: Store, platform: Platform): Promise<void> {
    if (!this.#attachments.isEager) return;
    let after: string | undefined;
    try {
      do {
        await platform.pause();
        if (this.#isOver) return;
        const ids = store.read((view) => firstOf(referredAttachments(view, after), REFERRED_MAX));
        this.refer(ids);
        after = ids.length < REFERRED_MAX ? undefined : ids.at(-1);
      } while (after !== undefined);
    } catch (error) {
      if (!this.#isOver) this.#onFault(error);
    }
  }

  /** Fetches a content before others, because a caller waits for it. Never rejects. */
  fetch(id: string): Promise<FetchOutcome> {
    this.#urgent.add(id);
    const fetch = this.#enter(id);
    if (!this.#fetches.has(id)) this.#urgent.delete(id);
    return fetch?.promise ?? Promise.resolve("over");
  }

  /** Whether the other side owes a piece for too long. Must be called regularly. */
  isOverdue(nowMs: number): boolean {
    const isOwed = this.#current !== undefined && !this.#isKeeping;
    if (!isOwed || this.#askedCount !== this.#seenCount) {
      this.#seenCount = this.#askedCount;
      this.#seenMs = nowMs;
    }
    return nowMs - this.#seenMs > PIECE_MS_MAX;
  }

  /** Handles a message of the other side. Returns an error message if it is not valid. */
  take(message: FetchMessage | ContentMessage): string | undefined {
    if (message.t === "content") return this.#took(message);
    if (this.#asked.length >= ASKED_MAX) return "expected one fetch at a time";
    this.#asked.push(message);
    void this.#answer();
    return undefined;
  }

  close(): void {
    this.#isOver = true;
    this.#asked = [];
    this.#current = undefined;
    this.#dropWaiting();
  }

  #enter(id: string): Fetch | undefined {
    const known = this.#fetches.get(id);
    if (known !== undefined) return known;
    if (this.#isOver || this.#fetches.size >= WAITING_MAX) return undefined;
    const fetch = new Fetch(id);
    this.#fetches.set(id, fetch);
    if (this.#current === undefined) this.#ask();
    return fetch;
  }

  /** All but the current one. */
  #dropWaiting(): void {
    const waiting = [...this.#fetches.values()].filter((fetch) => fetch !== this.#current);
    for (const fetch of waiting) this.#leave(fetch, "over");
  }

  #next(): Fetch | undefined {
    for (const id of this.#urgent) return this.#fetches.get(id);
    for (const fetch of this.#fetches.values()) return fetch;
    return undefined;
  }

  #ask(): void {
    this.#current = undefined;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { id } = next;
      const isWanted = this.#attachments.isEager || this.#urgent.has(id);
      if (isWanted && !this.#attachments.has(id)) {
        this.#current = next;
        return this.#askFrom(id, this.#attachments.start?.(id) ?? 0);
      }
      // The content came another way meanwhile, or is no longer wanted.
      this.#leave(next, isWanted ? "kept" : "over");
    }
  }

  #askFrom(id: string, offset: number): void {
    this.#offset = offset;
    this.#askedCount++;
    this.#send({ t: "fetch", id, offset });
  }

  #took({ id, offset, bytes, size }: ContentMessage): string | undefined {
    const fetch = this.#current;
    if (fetch?.id !== id || offset !== this.#offset || this.#isKeeping) {
      return "expected content that was asked for";
    }
    if (size === undefined) {
      this.#settle(fetch, "missing");
      return undefined;
    }
    if (bytes.length === 0 && offset < size) return "expected a piece of the content";
    if (offset + bytes.length > size || bytes.length > PIECE_BYTES) {
      return "expected no more than there is of the content";
    }
    this.#isKeeping = true;
    void this.#keep(fetch, { offset, bytes, size });
    return undefined;
  }

  /** Never rejects. */
  async #keep(fetch: Fetch, piece: ContentPiece): Promise<void> {
    const { id } = fetch;
    let outcome: "more" | "kept" | "refused" = "refused";
    try {
      outcome = await this.#attachments.keep(id, piece);
    } catch (error) {
      this.#giveUp(error);
    }
    this.#isKeeping = false;
    if (this.#isOver) return;
    try {
      if (outcome === "more") this.#askFrom(id, piece.offset + piece.bytes.length);
      else this.#settle(fetch, outcome);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** An error here, such as a full disk, would fail the others as well. */
  #giveUp(error: unknown): void {
    this.#dropWaiting();
    this.#onFault(error);
  }

  #settle(fetch: Fetch, outcome: FetchOutcome): void {
    this.#leave(fetch, outcome);
    this.#ask();
  }

  #leave(fetch: Fetch, outcome: FetchOutcome): void {
    this.#fetches.delete(fetch.id);
    this.#urgent.delete(fetch.id);
    fetch.settle(outcome);
  }

  /** Answers requests one after the other. Never rejects. */
  async #answer(): Promise<void> {
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    for (let asked = this.#asked.shift(); asked !== undefined; asked = this.#asked.shift()) {
      const { id, offset } = asked;
      const piece = await this.#open(id, offset);
      if (this.#isOver) break;
      const bytes = piece?.bytes ?? new Uint8Array();
      const message: ContentMessage = { t: "content", id, offset, bytes };
      this.#send(piece === undefined ? message : { ...message, size: piece.size });
    }
    this.#isAnswering = false;
  }

  async #open(id: string, offset: number): Promise<ContentPiece | undefined> {
    try {
      return await this.#attachments.open(id, offset, PIECE_BYTES);
    } catch (error) {
      this.#onFault(error);
      return undefined;
    }
  }
}

function firstOf<T>(items: Iterable<T>, limit: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length >= limit) break;
  }
  return first;
}
