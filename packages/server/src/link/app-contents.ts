/**
 * App contents: finds attachments whose content is missing and fetches it over the links of an app.
 *
 * Eager links get the missing ids from time to time, beside those that new documents refer to,
 * because a partner may have the content by now. On demand, one link after the other is asked. A
 * Big Peer that is asked over a link asks its other links, so that content travels over several
 * (S89). It answers at once that it has nothing while it already searches, and for a while after it
 * found nothing. So in rings and meshes no Big Peer waits for itself, and no request travels along
 * every path.
 */

import type { FetchOutcome } from "@bigpeer/engine/link";
import type { Store } from "@bigpeer/engine/store";
import { attachmentOf, referredAttachments } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import type { AttachmentFolder } from "../attachments/attachment-folder.ts";
import { CONTENT_SEARCHES_MAX, CONTENT_WAIT_MS_MAX } from "../limits/limits.ts";

export interface ContentsApp {
  readonly store: Store;
  readonly attachments: Pick<AttachmentFolder, "has">;
}

/** A link as a source of contents. */
export interface ContentLink {
  readonly isLinked: boolean;
  /** Whether anything is pulled over it: otherwise the other side sends no content (S89). */
  readonly isPulling: boolean;
  readonly isEager: boolean;
  /** The content that arrives over it at this moment. */
  readonly fetchingNow: string | undefined;
  /** Whether the content arrives, or is queued to be requested. */
  isFetching(id: string): boolean;
  fetch(id: string): Promise<FetchOutcome>;
  /** Names missing contents to an eager link. */
  refer(ids: readonly string[]): void;
}

export interface ContentSource {
  readonly links: Iterable<ContentLink>;
  /** Whether a partner to pull from cannot be asked now. */
  readonly isSomebodyAway: boolean;
}

export interface ContentsHost {
  /** On a monotonic clock. */
  elapsed(): number;
  /** Called with unexpected errors. */
  fault(error: unknown): void;
}

/** `later`: a partner that may have it could not be asked, or has not answered. */
export type ContentOutcome = "kept" | "missing" | "later";

/** References that one read visits. */
const PAGE = 1_000;

/** How long one link may take before the next one is asked as well. */
const LINK_MS = 10_000;

/** How long a request over a link waits for the other links. */
const RELAY_MS = 15_000;

/** How long a failed search is remembered, and of how many contents. */
const MISSED_MS = 10_000;
const MISSED_MAX = 10_000;

/**
 * Time between two scans for missing contents: at first, at most, and in proportion to the duration
 * of one. While the count stays the same, it doubles.
 */
const SCAN_MS_MIN = 5_000;
const SCAN_MS_MAX = 600_000;
const SCAN_SHARE = 50;

/** A scan that takes less is repeated for each caller. */
const SCAN_CHEAP_MS = 100;

export class AppContents {
  readonly app: ContentsApp;
  readonly #source: ContentSource;
  readonly #host: ContentsHost;
  readonly #searches = new Map<string, Promise<ContentOutcome>>();
  /** Until when a content is not searched again on behalf of other links. */
  readonly #missed = new Map<string, number>();
  #scan: Promise<number | undefined> | undefined;
  #nextScanMs = 0;
  #pauseMs = 0;
  #count: number | undefined;
  #freshUntilMs = 0;
  #waiting = 0;

  constructor(app: ContentsApp, source: ContentSource, host: ContentsHost) {
    this.app = app;
    this.#source = source;
    this.#host = host;
  }

  /** The count of the last scan; undefined before there was one. */
  get lastCount(): number | undefined {
    return this.#count;
  }

  /** Contents that documents refer to and that are missing; undefined if the app is closing. */
  count(): Promise<number | undefined> {
    const isFresh = this.#count !== undefined && this.#host.elapsed() < this.#freshUntilMs;
    return isFresh ? Promise.resolve(this.#count) : this.#look();
  }

  /** A link has become eager: the next scan is due now. */
  hurry(): void {
    this.#nextScanMs = 0;
    this.#pauseMs = 0;
  }

  tick(): void {
    if (this.#host.elapsed() < this.#nextScanMs || this.#scan !== undefined) return;
    for (const { isLinked, isEager } of this.#source.links) {
      if (!isLinked || !isEager) continue;
      this.#look().catch((error: unknown) => this.#host.fault(error));
      return;
    }
  }

  /** Whether another link than this one fetches it at this moment. */
  isComing(id: string, except: ContentLink): boolean {
    for (const link of this.#source.links) {
      if (link !== except && link.isLinked && link.fetchingNow === id) return true;
    }
    return false;
  }

  /** Searches a missing content, for at most `waitMs`. Never rejects. */
  async find(id: string, waitMs: number = CONTENT_WAIT_MS_MAX): Promise<ContentOutcome> {
    if (this.#waiting >= CONTENT_SEARCHES_MAX) return "later";
    this.#waiting++;
    try {
      return await this.#within(waitMs, this.#searchOf(id, undefined));
    } finally {
      this.#waiting--;
    }
  }

  /** The same on behalf of a link. Resolves when the content is here, or was not found soon. */
  async relay(id: string, from: ContentLink): Promise<void> {
    if (this.#searches.has(id) || this.#searches.size >= CONTENT_SEARCHES_MAX) return;
    if ((this.#missed.get(id) ?? 0) > this.#host.elapsed()) return;
    for (const link of this.#source.links) if (link.isFetching(id)) return;
    const outcome = await this.#within(RELAY_MS, this.#searchOf(id, from));
    if (outcome === "missing") this.#miss(id);
  }

  #searchOf(id: string, except: ContentLink | undefined): Promise<ContentOutcome> {
    const known = this.#searches.get(id);
    if (known !== undefined) return known;
    const search = this.#search(id, except).finally(() => this.#searches.delete(id));
    this.#searches.set(id, search);
    return search;
  }

  /** Never rejects. */
  async #search(id: string, except: ContentLink | undefined): Promise<ContentOutcome> {
    let isAway = this.#source.isSomebodyAway;
    // A link that already fetches it comes first: the others would leave it to that one.
    const isFirst = (link: ContentLink): boolean => link.fetchingNow === id;
    const links = [...this.#source.links].filter((link) => link !== except && link.isPulling);
    for (const link of [...links.filter(isFirst), ...links.filter((each) => !isFirst(each))]) {
      const outcome = await this.#within(LINK_MS, link.fetch(id));
      if (this.#isHere(id)) return "kept";
      if (outcome !== "missing" && outcome !== "refused") isAway = true;
    }
    return isAway ? "later" : "missing";
  }

  #isHere(id: string): boolean {
    try {
      return this.app.attachments.has(id);
    } catch (error) {
      if (isClosed(error)) return false;
      throw error;
    }
  }

  #miss(id: string): void {
    this.#missed.delete(id);
    this.#missed.set(id, this.#host.elapsed() + MISSED_MS);
    for (const first of this.#missed.keys()) {
      if (this.#missed.size <= MISSED_MAX) break;
      this.#missed.delete(first);
    }
  }

  async #within<T>(ms: number, work: Promise<T>): Promise<T | "later"> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"later">((resolve) => {
      timer = setTimeout(() => resolve("later"), ms);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #look(): Promise<number | undefined> {
    this.#scan ??= this.#lookThrough().finally(() => {
      this.#scan = undefined;
    });
    return this.#scan;
  }

  /** Rejects only with unexpected errors of the store. */
  async #lookThrough(): Promise<number | undefined> {
    const startMs = this.#host.elapsed();
    let count = 0;
    let after: string | undefined;
    try {
      do {
        const page = missingPage(this.app.store, after);
        count += page.missing.length;
        after = page.next;
        for (const link of this.#source.links) if (link.isEager) link.refer(page.missing);
        await new Promise((resolve) => setImmediate(resolve));
      } while (after !== undefined);
    } catch (error) {
      if (isClosed(error)) return undefined;
      throw error;
    }
    const nowMs = this.#host.elapsed();
    const tookMs = nowMs - startMs;
    const restMs = tookMs * SCAN_SHARE;
    const isSame = this.#count === count && this.#pauseMs > 0;
    this.#pauseMs = isSame ? Math.min(this.#pauseMs * 2, SCAN_MS_MAX) : SCAN_MS_MIN;
    this.#count = count;
    this.#freshUntilMs = tookMs < SCAN_CHEAP_MS ? nowMs : nowMs + Math.min(restMs, SCAN_MS_MAX);
    this.#nextScanMs = nowMs + Math.min(Math.max(restMs, this.#pauseMs), SCAN_MS_MAX);
    return count;
  }
}

interface MissingPage {
  readonly missing: readonly string[];
  /** The id after which the next page begins; undefined for the last one. */
  readonly next: string | undefined;
}

function missingPage(store: Store, after: string | undefined): MissingPage {
  return store.read((view) => {
    const missing: string[] = [];
    let count = 0;
    for (const id of referredAttachments(view, after)) {
      if (attachmentOf(view, id) === undefined) missing.push(id);
      if (++count === PAGE) return { missing, next: id };
    }
    return { missing, next: undefined };
  });
}

function isClosed(error: unknown): boolean {
  return error instanceof PeerError && error.code === "store.closed";
}
