/**
 * Feed reader: one reader of changes, with its position. See reader.ts.
 *
 * It gives, in this order: the rows of the state at its beginning, if they are wanted; what changed
 * permissions add and take away; then the changes.
 */

import type { Platform } from "../platform.ts";
import type { Authority } from "../query/permission/authority.ts";
import type { Steps } from "../steps.ts";
import type { StoreSnapshot } from "../store/store.ts";
import type { StoredDocument } from "../store/view.ts";
import { comparePositions, cursorText, isAfter, type Position, type RowPlace } from "./cursor.ts";
import type { DocumentImages } from "./document-images.ts";
import { type FeedFilter, feedFilter } from "./filter.ts";
import { type PlacedLine, rowLine } from "./line.ts";
import type {
  ChangeBatch,
  ChangeLag,
  ChangeReader,
  ChangesRequest,
  FeedLine,
  NextOptions,
} from "./reader.ts";
import type { GroupMember, ReaderGroup } from "./reader-group.ts";
import { rowsAt } from "./state-rows.ts";

/** Characters of JSON after which a batch ends. */
export const READ_LENGTH: number = 64 * 1024;

/** Lines that were read from the log for a group, and the position after them. */
export interface LoggedLines {
  readonly lines: readonly PlacedLine[];
  /** Characters of their JSON. */
  readonly length: number;
  readonly through: Position;
}

/** The feed as its readers use it. */
export interface FeedHost {
  readonly historyId: string;
  readonly images: DocumentImages;
  readonly platform: Platform;
  /** The groups have all lines up to here. */
  readonly position: Position;
  read<T>(work: (snapshot: StoreSnapshot) => Steps<T>, groups: readonly ReaderGroup[]): Promise<T>;
  groupOf(filter: FeedFilter): ReaderGroup;
  dropIfEmpty(group: ReaderGroup): void;
  leave(reader: GroupMember): void;
  logged(group: ReaderGroup, from: Position): Promise<LoggedLines>;
  matches(group: ReaderGroup, collection: string, document: StoredDocument): boolean;
  requireHeld(snapshot: StoreSnapshot, at: Position): void;
  lagAfter(position: Position): ChangeLag;
}

/** What the reader holds, while it goes over to other permissions. */
interface Transition {
  /** The filter by which it has the row at a place. */
  readonly heldBy: (place: RowPlace) => ReaderGroup;
  /** Rows up to this one are as the new filter has them. */
  row: RowPlace | undefined;
  /** Groups that the transition needs. */
  readonly groups: readonly ReaderGroup[];
}

export class FeedReader implements ChangeReader, GroupMember {
  readonly #feed: FeedHost;
  readonly #request: ChangesRequest;
  #group: ReaderGroup;
  #position: Position;
  #transition: Transition | undefined;
  /** Lines that were read and did not fit into the last batch. */
  #rest: readonly PlacedLine[] = [];
  #afterRest: Position;
  #wakeUp: (() => void) | undefined;
  /** As before the last call of `next`. */
  #saved: Saved | undefined;
  /** Groups of former permissions that it leaves with the next call. */
  #former: readonly ReaderGroup[] = [];
  /** Whether it was woken since the call of `next`: it may be reading then. */
  #isWoken = false;
  #isClosed = false;

  constructor(
    feed: FeedHost,
    group: ReaderGroup,
    start: { readonly request: ChangesRequest; readonly position: Position },
  ) {
    this.#feed = feed;
    this.#group = group;
    this.#request = start.request;
    this.#position = start.position;
    this.#afterRest = start.position;
    group.members.add(this);
  }

  get cursor(): string {
    return cursorText(this.#feed.historyId, this.#position);
  }

  get isInitial(): boolean {
    return this.#position.row !== undefined;
  }

  lag(): ChangeLag {
    return this.#feed.lagAfter(this.#position);
  }

  undo(): void {
    const saved = this.#saved;
    if (saved === undefined) return;
    this.#saved = undefined;
    this.#position = saved.position;
    this.#rest = saved.rest;
    this.#afterRest = saved.afterRest;
    this.#transition = saved.transition;
    if (saved.transition !== undefined) saved.transition.row = saved.transitionRow;
    this.#former = [];
  }

  wake(): void {
    this.#isWoken = true;
    const wakeUp = this.#wakeUp;
    this.#wakeUp = undefined;
    wakeUp?.();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leaveFormer();
    for (const group of [this.#group, ...(this.#transition?.groups ?? [])]) this.#leave(group);
    this.#feed.leave(this);
    this.wake();
  }

  hasPermissionsOf(authority: Authority | undefined): boolean {
    return feedFilter(this.#request, authority).key === this.#group.filter.key;
  }

  setAuthority(authority: Authority | undefined): void {
    if (this.#isClosed || this.#group.failure !== undefined) return;
    const next = this.#feed.groupOf(feedFilter(this.#request, authority));
    const before = this.#group;
    if (next === before) return;
    next.members.add(this);
    this.#group = next;
    this.#rest = [];
    this.#transition = transitionFrom(before, this.#transition);
    this.wake();
  }

  async next({ length = READ_LENGTH, mayWait = true }: NextOptions = {}): Promise<ChangeBatch> {
    let isWaiting = mayWait;
    this.#isWoken = false;
    this.#leaveFormer();
    this.#saved = {
      position: this.#position,
      transition: this.#transition,
      transitionRow: this.#transition?.row,
      rest: this.#rest,
      afterRest: this.#afterRest,
    };
    for (;;) {
      if (this.#isClosed) return this.#batch([], true);
      const { failure } = this.#group;
      if (failure !== undefined) throw failure;
      if (this.#transition !== undefined) {
        const lines = await this.#continueTransition(this.#transition);
        const isOver = this.#transition === undefined || this.#isWoken;
        if (lines.length > 0 || isOver) return this.#batch(lines, false);
        continue;
      }
      if (this.#position.row !== undefined) {
        const lines = await this.#rows(this.#position.row);
        if (lines.length > 0) return this.#batch(lines, false);
        if (this.#position.row === undefined || this.#isWoken) return this.#batch([], false);
        continue;
      }
      const lines = this.#rest.length > 0 ? this.#rest : await this.#following();
      if (lines.length > 0) return this.#take(lines, length);
      if (comparePositions(this.#position, this.#feed.position) < 0) {
        if (this.#isWoken && !this.#isClosed) return this.#batch([], false);
        continue;
      }
      if (!isWaiting) return this.#batch([], true);
      isWaiting = false;
      await this.#wait();
    }
  }

  /** The lines behind the position: from the group, or from the log. */
  async #following(): Promise<readonly PlacedLine[]> {
    const { position } = this.#feed;
    const kept = this.#group.after(this.#position);
    if (kept !== undefined) {
      this.#afterRest = comparePositions(position, this.#position) > 0 ? position : this.#position;
      if (kept.length === 0) this.#position = this.#afterRest;
      return kept;
    }
    const group = this.#group;
    const { lines, through } = await this.#feed.logged(group, this.#position);
    // The permissions changed meanwhile.
    if (group !== this.#group || this.#transition !== undefined) return [];
    this.#afterRest = through;
    if (lines.length === 0) this.#position = through;
    return lines;
  }

  /** As many lines as fit; the rest comes with the next batch. */
  #take(lines: readonly PlacedLine[], length: number): ChangeBatch {
    let count = 0;
    let taken = 0;
    while (count < lines.length && (count === 0 || taken < length)) {
      taken += (lines[count++] as PlacedLine).json.length;
    }
    const batch = count === lines.length ? lines : lines.slice(0, count);
    // Lines of the group are kept there; only those of the log are held here.
    const isAll = count === lines.length;
    this.#rest =
      isAll || this.#group.after((lines[count - 1] as PlacedLine).at) ? [] : lines.slice(count);
    this.#position = isAll ? this.#afterRest : (lines[count - 1] as PlacedLine).at;
    return this.#batch(batch, isAll && comparePositions(this.#position, this.#feed.position) >= 0);
  }

  #batch(lines: readonly FeedLine[], isCurrent: boolean): ChangeBatch {
    return { lines, cursor: this.cursor, isCurrent };
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isWoken) resolve();
      else this.#wakeUp = resolve;
    });
  }

  /** The next rows of the state at the position. */
  async #rows(row: RowPlace): Promise<readonly PlacedLine[]> {
    const group = this.#group;
    const at = this.#position;
    const feed = this.#feed;
    const nowMs = feed.platform.now();
    const readRows = function* read(snapshot: StoreSnapshot): Steps<RowLines> {
      const piece = yield* piecesOf(feed, snapshot, { at, row, groups: [group] });
      const found: PlacedLine[] = [];
      for (const { place, document } of piece.rows) {
        if (feed.matches(group, place.collection, document)) {
          const { collection } = place;
          const content = { type: "insert", collection, document, isInitial: true, nowMs } as const;
          found.push(rowLine(feed.historyId, { ...at, row: place }, content));
        }
        yield;
      }
      return { lines: found, through: piece.through };
    };
    const { lines, through } = await feed.read(readRows, [group]);
    if (group !== this.#group) return [];
    const { txnId } = at;
    this.#position = through === undefined ? { txnId } : { txnId, row: through };
    this.#afterRest = this.#position;
    return lines;
  }

  /** The next rows that the new permissions add or take away. */
  async #continueTransition(transition: Transition): Promise<readonly PlacedLine[]> {
    const group = this.#group;
    const feed = this.#feed;
    const { row: end, ...at } = this.#position;
    const nowMs = feed.platform.now();
    const groups = [group, ...transition.groups];
    const readRows = function* read(snapshot: StoreSnapshot): Steps<RowLines> {
      const piece = yield* piecesOf(feed, snapshot, { at, row: transition.row ?? NO_ROW, groups });
      const found: PlacedLine[] = [];
      for (const { place, document } of piece.rows) {
        if (end !== undefined && isAfter(place, end)) continue;
        const { collection } = place;
        const was = feed.matches(transition.heldBy(place), collection, document);
        const is = feed.matches(group, collection, document);
        if (was !== is) {
          const type = is ? "insert" : "leave";
          const content = { type, collection, document, isInitial: false, nowMs } as const;
          found.push(
            rowLine(feed.historyId, end === undefined ? at : { ...at, row: end }, content),
          );
        }
        yield;
      }
      const isOver = piece.through === undefined || (end && !isAfter(end, piece.through));
      return { lines: found, through: isOver === true ? undefined : piece.through };
    };
    const { lines, through } = await feed.read(readRows, groups);
    if (this.#transition !== transition) return [];
    transition.row = through;
    if (through === undefined) {
      this.#transition = undefined;
      this.#former = transition.groups;
    }
    return lines;
  }

  #leaveFormer(): void {
    const former = this.#former;
    this.#former = [];
    for (const group of former) if (group !== this.#group) this.#leave(group);
  }

  #leave(group: ReaderGroup): void {
    group.members.delete(this);
    this.#feed.dropIfEmpty(group);
  }
}

interface Saved {
  readonly position: Position;
  readonly transition: Transition | undefined;
  readonly transitionRow: RowPlace | undefined;
  readonly rest: readonly PlacedLine[];
  readonly afterRest: Position;
}

interface RowLines {
  readonly lines: readonly PlacedLine[];
  readonly through: RowPlace | undefined;
}

const NO_ROW: RowPlace = { collection: "", idKey: "" };

/** From `before`, which the reader may not have reached yet from earlier permissions. */
function transitionFrom(before: ReaderGroup, unfinished: Transition | undefined): Transition {
  if (unfinished === undefined) return { heldBy: () => before, row: undefined, groups: [before] };
  const { heldBy: held, row, groups } = unfinished;
  const heldBy = (place: RowPlace): ReaderGroup =>
    row !== undefined && !isAfter(place, row) ? before : held(place);
  return { heldBy, row: undefined, groups: [before, ...groups] };
}

function* piecesOf(
  feed: FeedHost,
  snapshot: StoreSnapshot,
  {
    at,
    row,
    groups,
  }: { readonly at: Position; readonly row: RowPlace; readonly groups: readonly ReaderGroup[] },
) {
  feed.requireHeld(snapshot, at);
  const collections = new Set(groups.map(({ filter }) => filter.collection));
  const [collection] = collections.size === 1 ? collections : [undefined];
  return yield* rowsAt({ snapshot, images: feed.images, collection }, at, row);
}
