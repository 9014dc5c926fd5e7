/**
 * Peer records: what only the store of a small peer has beside its documents.
 *
 * Its documents are what it shows. What a server sent of them, what was written here and has no
 * outcome yet, and how far both sides are, lies in these records (docs/storage-format.md, K56 to K60).
 */

import type { OutcomeKind, Site, StateParts, Value, ValueObject } from "@bigpeer/protocol";
import type { Reader } from "../platform.ts";
import { peerFactKey } from "./keys.ts";
import type { UploadStep } from "./upload.ts";

/** What is held beside a document: that a server sent it, or that something was written to it. */
export interface Held {
  /** The server's version of it; 0 when it sent none. */
  readonly version: number;
  /** The history that the version is of. */
  readonly epoch: number;
  /** Numbers of the subscriptions that cover it; OWN for what was written here. */
  readonly covers: readonly number[];
  /**
   * What the server sent, while something is pending over it: null for nothing. Left out when
   * nothing is: then it is what shows.
   */
  readonly confirmed?: StateParts | null;
}

/** Stands among the subscriptions that cover a document: it was written here, none of them does. */
export const OWN_COVER = 0;

export function readHeld(record: Value): Held {
  const [version, epoch, covers, confirmed] = record as unknown as [
    number,
    number,
    readonly number[],
    (StateParts | null)?,
  ];
  if (confirmed === undefined) return { version, epoch, covers };
  return { version, epoch, covers, confirmed };
}

export function heldRecord({ version, epoch, covers, confirmed }: Held): Value {
  if (confirmed === undefined) return [version, epoch, covers];
  return [version, epoch, covers, confirmed];
}

/** Whether something is held and nothing is pending over it. */
export function isHeldAlone(record: Value | undefined): boolean {
  return record !== undefined && (record as readonly Value[]).length === 3;
}

/** A transaction that was written here and has no outcome. Its number is that of the transaction. */
export type PendingRecord = {
  /** When it was written, in milliseconds: the wall clock of the device, corrected by `by`. */
  readonly at: number;
  /** What the server's clock was last known to be ahead by; left out where no server was heard yet. */
  readonly by?: number;
  /** The newest time that a server had sent until then. */
  readonly seen: number;
  /** The site of its stamps. */
  readonly site: Site;
  readonly steps: readonly UploadStep[];
  /** What the clock was wrong by, in milliseconds; left out while that is not certain. */
  readonly offset?: number;
  readonly seal: SealRecord;
};

/** Where an upload stands among those of its site. From its first send on it never changes (S33). */
export type SealRecord = {
  /** Counts the sites under which this store has numbered uploads. */
  readonly chain: number;
  readonly number: number;
  readonly digest: Uint8Array;
};

/** An upload that a server took, kept for a server that is restored. */
export type KeptRecord = PendingRecord & {
  /** When its outcome came, by the server's clock, in milliseconds. */
  readonly takenAt: number;
  readonly size: number;
};

/** An upload that had no effect. */
export type RefusedRecord = {
  readonly at: number;
  readonly refusedAt: number;
  readonly kind: Exclude<OutcomeKind, "applied">;
  readonly reason: string;
  readonly steps: readonly UploadStep[];
};

/** A subscription that this store has known, and how far it is. */
export type SubscriptionRecord = {
  readonly number: number;
  readonly query: string;
  readonly args: ValueObject;
  readonly collection: string;
  /** Counts uses: the smallest was used longest ago. */
  readonly used: number;
  /** Left out until it was complete once. */
  readonly filter?: Uint8Array;
  readonly txn?: number;
  /** While it is live: the live position when it became so. Each later one is its own as well. */
  readonly liveFrom?: number;
  /** How far a fill is that is not complete; never read beside `filter`. */
  readonly fill?: FillRecord;
  /** Something that it was sent did not fit: it has to be compared before it can go on. */
  readonly isTorn?: true;
  /** Something that it covers was evicted here since its stream began: the next one is to compare. */
  readonly isHoled?: true;
  /** The rights have changed since it was complete: what it covers may not be permitted any more. */
  readonly isDoubtful?: true;
  /** It is given up, and what it covers is being let go of. */
  readonly isForgotten?: true;
};

/** All up to and with an id came of a filter, as of a transaction of the server or later (S57). */
export type FillRecord = {
  readonly filter: Uint8Array;
  readonly txn: number;
  /** Left out when all ids came. */
  readonly after?: Value;
};

/** The server and its history. */
export type ServerFact = {
  readonly app?: string;
  readonly history?: string;
  /** Counts histories. */
  readonly epoch: number;
  readonly rights?: Uint8Array;
  /** What its clock was ahead of the wall clock of the device when it was heard last. */
  readonly offsetMs?: number;
  /** Former sites of which it is not known yet what the server of this history has (S30). */
  readonly unasked?: readonly Site[];
};

/** How far the live subscriptions are. */
export type LiveFact = {
  readonly txn: number;
  /** The newest time that a server has sent. */
  readonly seen: number;
  /** Wall clock when something came last, in milliseconds; 0 for never. */
  readonly receivedAt: number;
};

export type CountFact = {
  readonly pending: number;
  readonly refused: number;
  readonly keptBytes: number;
  /** The last number of a subscription. */
  readonly subscriptions: number;
  readonly uses: number;
};

/** An upload as the next one continues it. */
export type ChainLink = {
  readonly number: number;
  /** Left out before the first upload. */
  readonly digest?: Uint8Array;
  readonly time: number;
};

/** The uploads of one site. */
export type Chain = {
  readonly site: Site;
  readonly chain: number;
  /** The last that was sent, or may have been: up to here nothing changes any more. */
  readonly sent: ChainLink;
};

/** Under which site uploads are numbered, and the last of them. */
export type ChainFact = Chain &
  ChainLink & {
    /** The site of the store when the chain began: in a copy of it another one is to begin. */
    readonly life: Site;
    /** Those of former lives that have uploads which were never sent. */
    readonly former?: readonly Chain[];
  };

/** Who knows the records of a peer. */
export type Records = Pick<Reader, "get">;

const NO_SERVER: ServerFact = { epoch: 1 };
const NO_LIVE: LiveFact = { txn: 0, seen: 0, receivedAt: 0 };
const NO_COUNTS: CountFact = {
  pending: 0,
  refused: 0,
  keptBytes: 0,
  subscriptions: 0,
  uses: 0,
};

export const SERVER_FACT: string = peerFactKey("server");
export const LIVE_FACT: string = peerFactKey("live");
export const COUNT_FACT: string = peerFactKey("counts");
export const CHAIN_FACT: string = peerFactKey("chain");

export function serverFact(reader: Records): ServerFact {
  return (reader.get(SERVER_FACT) as ServerFact | undefined) ?? NO_SERVER;
}

export function liveFact(reader: Records): LiveFact {
  return (reader.get(LIVE_FACT) as LiveFact | undefined) ?? NO_LIVE;
}

export function countFact(reader: Records): CountFact {
  return (reader.get(COUNT_FACT) as CountFact | undefined) ?? NO_COUNTS;
}

/** Before the first upload of a site; those before it, under another, are up to this time. */
export function beginning(time: number): ChainLink {
  return { number: 0, time };
}

/** A store that has not numbered anything, or is a copy of one that has, begins a chain. */
export function chainFact(reader: Records, life: Site): ChainFact {
  const known = reader.get(CHAIN_FACT) as ChainFact | undefined;
  if (known?.life === life) return known;
  const first = beginning(known?.sent.time ?? 0);
  const fresh = { life, site: life, ...first, sent: first };
  if (known === undefined) return { ...fresh, chain: 1 };
  const { site, chain, sent, number, former = [] } = known;
  const unsent = number > sent.number ? [...former, { site, chain, sent }] : former;
  return { ...fresh, chain: chain + 1, ...(unsent.length === 0 ? {} : { former: unsent }) };
}
