/**
 * Peer records: the sync state of a small peer, in records beside its documents.
 *
 * The documents of a small peer are its shown view. These records hold the state that the server
 * sent, local writes without an outcome, and the progress of both sides (docs/storage-format.md,
 * K56 to K60).
 */

import type { OutcomeKind, Site, StateParts, Value, ValueObject } from "@bigpeer/protocol";
import type { Reader } from "../platform.ts";
import { peerFactKey } from "./keys.ts";
import type { UploadStep } from "./upload-step.ts";

/** Record beside a document that the server sent or that has pending writes. */
export interface Held {
  /** The server's version of it; 0 when the server sent none. */
  readonly version: number;
  /** The number of the history that the version belongs to. */
  readonly epoch: number;
  /** Numbers of the subscriptions that cover it; OWN_COVER for a document that was written here. */
  readonly covers: readonly number[];
  /**
   * The state that the server sent, while writes are pending over it; null for none. Left out when
   * nothing is pending: then the document itself is that state.
   */
  readonly confirmed?: StateParts | null;
}

/** Stands in `covers` for a document that was written here and that no subscription covers. */
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

/** Whether a held record exists and nothing is pending over it. */
export function isHeldAlone(record: Value | undefined): boolean {
  return record !== undefined && (record as readonly Value[]).length === 3;
}

/** A local transaction without an outcome. Its number is that of the transaction. */
export type PendingRecord = {
  /** When it was written, in milliseconds: the wall clock of the device, corrected by `by`. */
  readonly at: number;
  /** The last known lead of the server's clock; left out before the first contact with a server. */
  readonly by?: number;
  /** The newest time that a server had sent until then. */
  readonly seen: number;
  /** The site of its stamps. */
  readonly site: Site;
  readonly steps: readonly UploadStep[];
  /** The error of the clock, in milliseconds; left out while it is not certain. */
  readonly offset?: number;
  /** Position in the sequence of uploads; `seal` is its name in stored records. */
  readonly seal: SequenceRecord;
};

/** Position of an upload among those of its site. Fixed once the upload was sent (S33). */
export type SequenceRecord = {
  /** Counts the sites under which this store has numbered uploads. */
  readonly chain: number;
  readonly number: number;
  readonly digest: Uint8Array;
};

/** An upload that a server took, kept in case the server is restored (S30). */
export type KeptRecord = PendingRecord & {
  /** When its outcome came, by the server's clock, in milliseconds. */
  readonly takenAt: number;
  readonly size: number;
};

/** An upload that was refused or stale. */
export type RefusedRecord = {
  readonly at: number;
  readonly refusedAt: number;
  readonly kind: Exclude<OutcomeKind, "applied">;
  readonly reason: string;
  readonly steps: readonly UploadStep[];
};

/** A subscription of this store, and its progress. */
export type SubscriptionRecord = {
  readonly number: number;
  readonly query: string;
  readonly args: ValueObject;
  readonly collection: string;
  /** Use counter: the smallest was used longest ago. */
  readonly used: number;
  /** Left out until it was complete once. */
  readonly filter?: Uint8Array;
  readonly txn?: number;
  /** While it is live: the live position when it became live; later ones are its own as well. */
  readonly liveFrom?: number;
  /** Progress of an incomplete fill; never read beside `filter`. */
  readonly fill?: FillRecord;
  /** A change did not fit: it must be compared before it can continue. */
  readonly isTorn?: true;
  /** A document that it covers was evicted since its stream began: the next one must compare. */
  readonly isHoled?: true;
  /** The permissions changed since it was complete: some documents may no longer be permitted. */
  readonly isDoubtful?: true;
  /** It was given up, and its documents are being released. */
  readonly isForgotten?: true;
};

/** Progress of a fill: all ids through `after`, as of a transaction or later (S57). */
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
  /** The lead of the server's clock over the wall clock of the device, at the last contact. */
  readonly offsetMs?: number;
  /** Former sites of which this server has not reported its last upload yet (S77). */
  readonly unasked?: readonly Site[];
};

/** Progress of the live subscriptions. */
export type LiveFact = {
  readonly txn: number;
  /** The newest time that a server has sent. */
  readonly seen: number;
  /** Wall clock at the last receipt, in milliseconds; 0 for never. */
  readonly receivedAt: number;
};

export type CountFact = {
  readonly pending: number;
  readonly refused: number;
  readonly keptBytes: number;
  /** The last number issued to a subscription. */
  readonly subscriptions: number;
  readonly uses: number;
};

/** The end of a chain, which the next upload continues. */
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
  /** The last upload that was sent, or may have been: up to it nothing changes any more. */
  readonly sent: ChainLink;
};

/** The site under which uploads are numbered, and the last of them. */
export type ChainFact = Chain &
  ChainLink & {
    /** The site of the store when the chain began: a copy of the store starts another chain. */
    readonly life: Site;
    /** Chains of former incarnations with uploads that were never sent. */
    readonly former?: readonly Chain[];
  };

/** Source of the records of a peer. */
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

/** The start of a chain; uploads under earlier sites have times up to this one. */
export function beginning(time: number): ChainLink {
  return { number: 0, time };
}

/** A store that has not numbered anything, or is a copy of one that has, starts a chain. */
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
