/**
 * Link sweep: finds what is held of a query and was not in a fill of it.
 *
 * A fill tells what matches now. What matched once, came here, and stopped matching while nobody
 * told (the fill before was cut, or the log does not reach back) is asked for: so it comes once more,
 * as what it is now (S51). Only what still matches here is asked for. The ids of a piece are walked
 * in short reads, in turns with everything else.
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
  /** Asks for documents. */
  want(ids: readonly Value[]): void;
  /** Something that waited has ended: there may be room, or all is known. */
  moved(): void;
  /** Resolves when all that came until now is merged: only what is held can be found. Never rejects. */
  settled(): Promise<void>;
  fail(error: unknown): void;
}

interface Piece {
  readonly range: IdRange;
  /** The keys of the ids that the piece has. */
  readonly listed: ReadonlySet<string>;
  readonly tally: Tally;
  /** Resolves when it can be walked. */
  readonly settled: Promise<void>;
}

/** What is still to be known of a piece. */
interface Tally {
  isWalked: boolean;
  /** Ids that were found and are without an answer. */
  open: number;
  readonly whenDone: () => void;
}

interface Found {
  readonly id: Value;
  readonly tally: Tally;
}

/** Ids that one read looks at. */
const LOOKS_MAX = 1000;

/** Ids that are asked for at once, and that may be without an answer. */
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
  /** Found, and not asked for yet. */
  #found: Found[] = [];
  readonly #unanswered = new Map<string, Tally>();
  /** Of the pieces that are not done, in their order. */
  #tallies: Tally[] = [];
  #isGoing = false;
  #isOver = false;

  constructor(query: LinkQuery, host: SweepHost) {
    this.#query = query;
    this.#host = host;
  }

  /** Whether what still matches here and was not told is told by now, up to the last piece. */
  get isDone(): boolean {
    if (this.#isGoing || this.#pieces.length > 0) return false;
    return this.#found.length === 0 && this.#unanswered.size === 0;
  }

  get isFull(): boolean {
    return this.#pieces.length > PIECES_MAX;
  }

  /** `whenDone` is called when all is known of this piece and of those before it. */
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
   * The fill begins anew: nobody waits for what was before, and the source may have forgotten what it
   * was asked for. What still matches here is found again.
   */
  #forget(): void {
    this.#tallies = [];
    this.#found = [];
    this.#unanswered.clear();
  }

  /** The source has told what these are. */
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
        // What was not walked to its end stays: of that nothing is known.
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

  /** Looks at some ids. The answer is where to go on; undefined at the end. */
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
        // One answer is enough, also where a fill that began anew has found it again.
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
