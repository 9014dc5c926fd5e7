/**
 * Link contents: content of attachments between two stores (S55).
 *
 * Documents come with their tokens; what the tokens name lies beside the stores, with whoever made
 * this. Contents are fetched one after the other, piece by piece. What the other side does not have
 * may come there later, and is asked for again by whoever needs it.
 */

import type { ContentMessage, FetchMessage, LinkMessage } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { Store } from "../store/store.ts";

/** A piece of a content. */
export interface ContentPiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Of all of it. */
  readonly size: number;
}

/** Where contents are kept on this side. */
export interface LinkAttachments {
  /** Whether contents are fetched as soon as a document refers to them. */
  readonly isEager: boolean;
  has(id: string): boolean;
  /** Reads from a byte on, at most so many; undefined when it is not here. */
  open(id: string, offset: number, bytesMax: number): Promise<ContentPiece | undefined>;
  /** From which byte on it is needed, where a former fetch was cut; 0 otherwise. */
  start?(id: string): number;
  /**
   * Takes the next piece, in order. `more` until the last one; then `kept` when its digest is the id
   * and it is durable, else `refused`.
   */
  keep(id: string, piece: ContentPiece): Promise<"more" | "kept" | "refused">;
}

/** What came of a fetch. `missing`: the other side does not have it; `over`: the link is. */
export type FetchOutcome = "kept" | "missing" | "refused" | "over";

/** Bytes of one piece (S55). */
const PIECE_BYTES = 256 * 1024;

/** Fetches that may wait; more are for another time. */
const WAITING_MAX = 100_000;

/** Pieces that the other side may ask for before it has one: it asks for one at a time. */
const ASKED_MAX = 16;

/** How long the other side may take for one piece: it may have to look for the content itself. */
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
  /** In the order in which they were asked for, also the one that is under way. */
  readonly #fetches = new Map<string, Fetch>();
  /** Those that somebody waits for: they come before the others. */
  readonly #urgent = new Set<string>();
  #current: Fetch | undefined;
  #offset = 0;
  /** Pieces that were asked for, how many the last look knew of, and when those became so many. */
  #askedCount = 0;
  #seenCount = 0;
  #seenMs = 0;
  /** Whether a piece is being kept. */
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

  /** Contents that are still to come. */
  get missingCount(): number {
    return this.#fetches.size;
  }

  get fetchingNow(): string | undefined {
    return this.#current?.id;
  }

  isFetching(id: string): boolean {
    return this.#fetches.has(id);
  }

  /** Documents refer to these: what is not here is fetched, if that is what is wanted. */
  refer(ids: Iterable<string>): void {
    if (!this.#attachments.isEager) return;
    for (const id of ids) if (!this.#attachments.has(id)) this.#enter(id);
  }

  /** What documents refer to already and is not here, after a start: a part at a time. Never rejects. */
  async referAll(store: Store, platform: Platform): Promise<void> {
    if (!this.#attachments.isEager) return;
    let after: string | undefined;
    try {
      do {
        await platform.pause();
        if (this.#isOver) return;
        const ids = store.read((view) => firstOf(view.referredAttachments(after), REFERRED_MAX));
        this.refer(ids);
        after = ids.length < REFERRED_MAX ? undefined : ids.at(-1);
      } while (after !== undefined);
    } catch (error) {
      if (!this.#isOver) this.#onFault(error);
    }
  }

  /** Somebody waits for it, so it is one of the next. Never rejects. */
  fetch(id: string): Promise<FetchOutcome> {
    this.#urgent.add(id);
    const fetch = this.#enter(id);
    if (!this.#fetches.has(id)) this.#urgent.delete(id);
    return fetch?.promise ?? Promise.resolve("over");
  }

  /** To be called now and then. Whether the other side owes a piece for longer than it may. */
  isOverdue(nowMs: number): boolean {
    const isOwed = this.#current !== undefined && !this.#isKeeping;
    if (!isOwed || this.#askedCount !== this.#seenCount) {
      this.#seenCount = this.#askedCount;
      this.#seenMs = nowMs;
    }
    return nowMs - this.#seenMs > PIECE_MS_MAX;
  }

  /** A message of the other side. A sentence where it is not what a link sends. */
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

  /** All but the one that is under way. */
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
      // It has come by another way while it waited, or nobody wants it any more.
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
      // What fails here, a full disk perhaps, fails for the others as well: they are for another time.
      this.#dropWaiting();
      this.#onFault(error);
    }
    this.#isKeeping = false;
    if (this.#isOver) return;
    if (outcome !== "more") return this.#settle(fetch, outcome);
    this.#askFrom(id, piece.offset + piece.bytes.length);
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

  /** One after the other. Never rejects. */
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
