/**
 * Link sweep: finds documents that this store holds of a query and that a fill did not list, and
 * requests their current state (S85).
 *
 * A fill lists documents that match now. A document may have stopped matching unnoticed: the fill
 * before was interrupted, or the log does not reach back. The source sends it once more (S51). Only
 * documents that still match here are requested. Ids are read in slices between other work.
 */

import { documentId, type IdRange, type Value } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { prepareCondition } from "../query/live/live-statement.ts";
import { type MatchEntry, MatchIndex } from "../query/live/match-index.ts";
import type { Store } from "../store/store.ts";
import { type LinkQuery, statementOf } from "./link-query.ts";

export interface SweepHost {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  /** Requests documents. */
  want(ids: readonly Value[]): void;
  /** The sweep advanced: there may be room, or everything is known. */
  moved(): void;
  /** Resolves when everything that arrived is merged: only then can it be found. Never rejects. */
  settled(): Promise<void>;
  fail(error: unknown): void;
}

interface Piece {
  readonly range: IdRange;
  /** Keys of the ids in the piece. */
  readonly listed: ReadonlySet<string>;
  readonly tally: Tally;
  /** Resolves when it can be walked. */
  readonly settled: Promise<void>;
}

/** What is still unknown of a piece. */
interface Tally {
  isWalked: boolean;
  /** Found ids without an answer. */
  open: number;
  readonly whenDone: () => void;
}

interface Found {
  readonly id: Value;
  readonly tally: Tally;
}

/** Ids that one read looks at. */
const LOOKS_MAX = 1000;

/** Ids in one request, and ids that may be without an answer. */
const WANTED_MAX = 1000;
const UNANSWERED_MAX = 10_000;

/** Pieces that may wait. */
const PIECES_MAX = 32;

export class LinkSweep {
  readonly #host: SweepHost;
  readonly #query: LinkQuery;
  #entry: MatchEntry<undefined> | undefined;
  #index: MatchIndex<undefined> | undefined;
  #pieces: Piece[] = [];
  /** Found and not requested yet. */
  #found: Found[] = [];
  readonly #unanswered = new Map<string, Tally>();
  /** Tallies of unfinished pieces, in order. */
  #tallies: Tally[] = [];
  #isGoing = false;
  #isOver = false;

  constructor(query: LinkQuery, host: SweepHost) {
    this.#query = query;
    this.#host = host;
  }

  /** Whether each unlisted document that matches here is answered, up to the last piece. */
  get isDone(): boolean {
    if (this.#isGoing || this.#pieces.length > 0) return false;
    return this.#found.length === 0 && this.#unanswered.size === 0;
  }

  get isFull(): boolean {
    return this.#pieces.length > PIECES_MAX;
  }

  /** `whenDone` is called when this piece and all pieces before it are done. */
  add(range: IdRange, ids: Iterable<Value>, whenDone: () => void): void {
    const listed = new Set<string>();
    for (const id of ids) listed.add(documentId(id).key);
    const tally = { isWalked: false, open: 0, whenDone };
    if (range.after === undefined) this.#forget();
    this.#tallies.push(tally);
    this.#pieces.push({ range, listed, tally, settled: this.#host.settled() });
    if (!this.#isGoing) void this.#go();
  }

  /**
   * The fill starts over: earlier pieces do not count, and the source may have dropped their
   * requests. Documents that still match here are found again.
   */
  #forget(): void {
    this.#tallies = [];
    this.#found = [];
    this.#unanswered.clear();
  }

  /** The source has answered these ids. */
  answered(ids: Iterable<Value>): void {
    if (this.#unanswered.size === 0) return;
    for (const id of ids) this.#answer(documentId(id).key);
    this.#ask();
    this.#finish();
    this.#host.moved();
  }

  close(): void {
    this.#isOver = true;
  }

  /** Never rejects. */
  async #go(): Promise<void> {
    this.#isGoing = true;
    try {
      for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[0]) {
        await this.#walk(piece);
        // A piece that was not walked to its end stays: it is not known completely.
        if (this.#isOver) break;
        this.#pieces.shift();
        piece.tally.isWalked = true;
        this.#finish();
        this.#host.moved();
      }
    } catch (error) {
      if (!this.#isOver) this.#host.fail(error);
    }
    this.#isGoing = false;
    if (!this.#isOver) this.#host.moved();
  }

  async #walk({ range, listed, tally, settled }: Piece): Promise<void> {
    let after = range.after;
    do {
      await this.#host.platform.pause();
      await settled;
      if (this.#isOver) return;
      const rest = { ...range, ...(after !== undefined && { after }) };
      after = this.#look(rest, listed, tally);
      this.#ask();
    } while (after !== undefined);
  }

  /** Looks at some ids. Returns where to continue; undefined at the end. */
  #look({ after, through }: IdRange, listed: ReadonlySet<string>, tally: Tally): Value | undefined {
    const { collection } = this.#query;
    const low = after === undefined ? {} : { low: { value: after, isIncluded: false } };
    const high = through === undefined ? {} : { high: { value: through, isIncluded: true } };
    return this.#host.store.read((snapshot) => {
      let looks = 0;
      for (const id of snapshot.scanIds(collection, { ...low, ...high })) {
        const document = listed.has(documentId(id).key) ? undefined : snapshot.get(collection, id);
        if (document !== undefined && this.#condition.matches(document)) {
          this.#found.push({ id, tally });
          tally.open++;
        }
        if (++looks >= LOOKS_MAX) return id;
      }
      return undefined;
    });
  }

  get #condition(): {
    matches(document: Parameters<MatchIndex<undefined>["matches"]>[1]): boolean;
  } {
    const { platform, appId } = this.#host;
    const index = (this.#index ??= new MatchIndex(platform, appId));
    const { plan } = this.#entry ?? prepareCondition(statementOf(this.#query));
    const entry = (this.#entry ??= index.add(plan, { args: {}, authority: undefined }, undefined));
    return { matches: (document) => index.matches(entry, document) };
  }

  #ask(): void {
    while (this.#found.length > 0 && this.#unanswered.size < UNANSWERED_MAX && !this.#isOver) {
      const found = this.#found.splice(0, WANTED_MAX);
      for (const { id, tally } of found) {
        const { key } = documentId(id);
        // One answer is enough, even if a fill that started over found it again.
        this.#answer(key);
        this.#unanswered.set(key, tally);
      }
      this.#host.want(found.map(({ id }) => id));
    }
  }

  #answer(key: string): void {
    const tally = this.#unanswered.get(key);
    if (tally === undefined) return;
    this.#unanswered.delete(key);
    tally.open--;
  }

  #finish(): void {
    for (let [first] = this.#tallies; first !== undefined; [first] = this.#tallies) {
      if (!first.isWalked || first.open > 0) return;
      this.#tallies.shift();
      first.whenDone();
    }
  }
}
