/**
 * Seal: which uploads go out, and what may still change of those that never did (S33).
 *
 * Each has its number, times and digest from the commit that wrote it. Until it is sent for the
 * first time it may get other times, when the clock of the device was wrong, and another site, when
 * two stores have written as one. Increments that were written on top of it name it as their birth,
 * so they change with it, and so do the digests of all behind it.
 */

import {
  compareBytes,
  type Edit,
  type Site,
  TIME_MAX,
  timeOfMs,
  type UploadOperation,
} from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { KEPT, keptKey, peerNumberOfKey, pendingKey, sealRange } from "../store/keys.ts";
import {
  beginning,
  CHAIN_FACT,
  type Chain,
  type ChainFact,
  type ChainLink,
  COUNT_FACT,
  chainFact,
  countFact,
  type KeptRecord,
  type PendingRecord,
} from "../store/peer-records.ts";
import type { UploadStep } from "../store/upload.ts";
import type { View } from "../store/view.ts";
import { linkAfter, openChains, pendingChainOf, pendingChains, sentUpTo } from "./chain.ts";
import type { Layers } from "./layers.ts";
import type { SealedUpload } from "./peer-layers.ts";
import { OFFSET_MS_MAX } from "./server-time.ts";

/** A sealed upload with the local transaction that it was. */
export interface OwnUpload extends SealedUpload {
  readonly commitId: number;
}

/** What is known of the server's clock. */
export interface ServerClock {
  /** How far it is ahead of that of the device; undefined where that is not known. */
  readonly offsetMs: number | undefined;
  readonly nowMs: number;
  /** How far ahead of it a stamp may be. */
  readonly driftMs: number;
}

/** Nothing is known of the server's clock: times that are in order are right. */
const NO_CLOCK: ServerClock = { offsetMs: undefined, nowMs: Number.MAX_SAFE_INTEGER, driftMs: 0 };

/** What numbering needs to know of the store: its site, and how it hashes. */
export interface Numbering {
  readonly life: Site;
  readonly platform: Platform;
}

type Numbered = readonly [commitId: number, record: PendingRecord];

/** Hands out the next transactions that were never sent, at most `max`; from now on they stay. */
export function sealNext(
  layers: Layers,
  { life, platform }: Numbering,
  { max, ...clock }: ServerClock & { readonly max: number },
): OwnUpload[] {
  let fact = chainFact(layers, life);
  let due = unsent(layers, fact, max);
  if (due.length === 0) return [];
  if (!areRight(due, fact, clock)) {
    const all = unsent(layers, fact).sort(([a], [b]) => a - b);
    fact = renumber(layers, fact, { platform, clock, entries: all });
    due = unsent(layers, fact, max);
  }
  layers.put(CHAIN_FACT, withSent(layers, fact, due));
  return due.map(ownUpload);
}

function ownUpload([commitId, { site, steps, seal }]: Numbered): OwnUpload {
  return { site, number: seal.number, digest: seal.digest, steps, commitId };
}

/**
 * What was sent and has no outcome, in the order in which it is sent. `after` names for each site a
 * number behind which to begin.
 */
export function* sealedUploads(
  { reader }: View,
  life: Site,
  after: ReadonlyMap<Site, number> = new Map(),
): Iterable<OwnUpload> {
  const fact = chainFact(reader, life);
  for (const { site, chain } of pendingChains(reader)) {
    const range = sealRange(chain, after.get(site) ?? 0, sentUpTo(fact, chain));
    for (const { value } of reader.entries(range)) {
      const commitId = value as number;
      const record = reader.get(pendingKey(commitId)) as unknown as PendingRecord | undefined;
      if (record !== undefined) yield ownUpload([commitId, record]);
    }
  }
}

/** S29: what the site had numbered from `number` on, and was told no outcome of, is numbered anew. */
export function forkChain(
  layers: Layers,
  { life, platform }: Numbering,
  { site, number, fresh }: { readonly site: Site; readonly number: number; readonly fresh: Site },
): void {
  const fact = chainFact(layers, life);
  const isForked = (record: PendingRecord): boolean =>
    record.site === site && record.seal.number >= number;
  const entries: Numbered[] = [];
  let before = 0;
  for (const commitId of layers.pendingNumbers()) {
    const record = layers.pending(commitId);
    if (record === undefined) continue;
    if (isForked(record) || isUnsent(fact, record)) entries.push([commitId, record]);
    else if (record.site === site) before = Math.max(before, lastTime(record));
  }
  const next = fact.site === site ? newChain(fact, fresh, before) : withoutSite(fact, site);
  const chainOf = (record: PendingRecord): number =>
    isForked(record) ? next.chain : record.seal.chain;
  const clock = NO_CLOCK;
  layers.put(CHAIN_FACT, renumber(layers, next, { platform, clock, entries, chainOf }));
}

function lastTime({ steps }: PendingRecord): number {
  return steps.at(-1)?.time ?? 0;
}

function newChain({ life, chain, former }: ChainFact, site: Site, time: number): ChainFact {
  const first = beginning(time);
  const fresh = { life, site, chain: chain + 1, ...first, sent: first };
  return former === undefined ? fresh : { ...fresh, former };
}

/** All that the site had not sent goes to the current chain. */
function withoutSite(fact: ChainFact, site: Site): ChainFact {
  return withFormer(
    fact,
    (fact.former ?? []).filter((chain) => chain.site !== site),
  );
}

function withFormer(fact: ChainFact, former: readonly Chain[]): ChainFact {
  const { former: _, ...alone } = fact;
  return former.length === 0 ? alone : { ...alone, former };
}

function isUnsent(fact: ChainFact, { seal }: PendingRecord): boolean {
  const sent = sentUpTo(fact, seal.chain);
  return sent !== undefined && seal.number > sent;
}

/** What a server has said of a site, for the first time in this history or again. */
interface Reoffer {
  readonly site: Site;
  readonly known: number;
  readonly fresh: Site;
  readonly isUnasked: boolean;
}

/**
 * S30: the server has the uploads of a site up to `known`. What it was given beyond that is pending
 * again; where some of it is not kept any more, under a new site.
 *
 * A server tells 0 also of a site that belongs to another user, whatever it has of it (S58). In one
 * history it has lost nothing. In a new one it is offered what is kept under the former numbers: it
 * answers what it has, and `forked` from where on it has nothing.
 */
export function reofferKept(
  layers: Layers,
  numbering: Numbering,
  { site, known, fresh, isUnasked }: Reoffer,
): void {
  if (known === 0 && !isUnasked) return;
  const fact = chainFact(layers, numbering.life);
  const pending = pendingChainOf(layers.view.reader, site);
  // Outcomes come in the order of the numbers: none was told from the first pending one on.
  const untold = pending?.first ?? (fact.site === site ? fact.number + 1 : undefined);
  if (untold !== undefined && known >= untold - 1) return;
  const kept = keptOf(layers, site).filter(([, { seal }]) => seal.number > known);
  const numbers = new Set(kept.map(([, { seal }]) => seal.number));
  const last = untold === undefined ? lastOf(numbers, known) : untold - 1;
  for (const [commitId, record] of kept) bringBack(layers, commitId, record);
  if (known === 0) return;
  for (let number = known + 1; number <= last; number++) {
    if (numbers.has(number)) continue;
    return forkChain(layers, numbering, { site, number: known + 1, fresh });
  }
}

/** The site that is in use, and those of which uploads are kept. */
export function usedSites(layers: Layers, { life }: Numbering): Site[] {
  const sites = new Set<Site>([chainFact(layers, life).site]);
  for (const { value } of layers.view.reader.entries(KEPT)) {
    sites.add((value as unknown as KeptRecord).site);
  }
  return [...sites];
}

function lastOf(numbers: Iterable<number>, least: number): number {
  let last = least;
  for (const number of numbers) last = Math.max(last, number);
  return last;
}

function bringBack(layers: Layers, commitId: number, record: KeptRecord): void {
  const { takenAt: _, size, ...pending } = record;
  const counts = countFact(layers);
  layers.put(COUNT_FACT, {
    ...counts,
    pending: counts.pending + 1,
    keptBytes: counts.keptBytes - size,
  });
  layers.put(keptKey(commitId), null);
  layers.putPending(commitId, pending);
}

/** Transactions that were never sent, in the order in which they go, at most `max`. */
function unsent(
  layers: Layers,
  fact: ChainFact,
  max: number = Number.POSITIVE_INFINITY,
): Numbered[] {
  const found: Numbered[] = [];
  for (const { chain, sent } of openChains(fact)) {
    for (const { value } of layers.view.reader.entries(sealRange(chain, sent.number))) {
      if (found.length >= max) return found;
      const record = layers.pending(value as number);
      if (record !== undefined) found.push([value as number, record]);
    }
  }
  return found;
}

/** The chains after these were sent; those of former lives that have no others are done with. */
function withSent(layers: Layers, fact: ChainFact, due: readonly Numbered[]): ChainFact {
  const last = new Map<number, ChainLink>();
  for (const [, record] of due) {
    const { chain, number, digest } = record.seal;
    last.set(chain, { number, digest, time: lastTime(record) });
  }
  const sentOf = <T extends Chain>(chain: T): T => {
    return { ...chain, sent: last.get(chain.chain) ?? chain.sent };
  };
  const former = (fact.former ?? []).map(sentOf);
  return withFormer(
    sentOf(fact),
    former.filter((chain) => hasMore(layers, chain)),
  );
}

function hasMore(layers: Layers, { chain, sent }: Chain): boolean {
  for (const _ of layers.view.reader.keys(sealRange(chain, sent.number))) return true;
  return false;
}

function keptOf(layers: Layers, site: Site): (readonly [number, KeptRecord])[] {
  const found: (readonly [number, KeptRecord])[] = [];
  for (const { key, value } of layers.view.reader.entries(KEPT)) {
    const record = value as unknown as KeptRecord;
    if (record.site === site) found.push([peerNumberOfKey(key), record]);
  }
  return found;
}

/** Whether they can be sent as they are. */
function areRight(due: readonly Numbered[], fact: ChainFact, clock: ServerClock): boolean {
  const last = new Map(openChains(fact).map(({ chain, sent }) => [chain, sent.time]));
  for (const [, record] of due) {
    if (needsCorrection(record, fact, clock)) return false;
    const { chain } = record.seal;
    for (const { time } of record.steps) {
      if (!isInPlace(time, last.get(chain) ?? 0, clock)) return false;
      last.set(chain, time);
    }
  }
  return true;
}

/**
 * Whether the clock was wrong when it was written, and by how much was not known then. Of what a
 * former life wrote, perhaps on another device, the clock of this one says nothing.
 */
function needsCorrection(
  { offset, by, seal }: PendingRecord,
  { chain }: ChainFact,
  { offsetMs }: ServerClock,
): boolean {
  if (offsetMs === undefined || offset !== undefined) return false;
  if (by !== undefined && seal.chain !== chain) return false;
  return Math.abs(offsetMs - (by ?? 0)) > OFFSET_MS_MAX;
}

function isInPlace(time: number, last: number, clock: ServerClock): boolean {
  return time > last && time <= tickOf(clock.nowMs + clock.driftMs);
}

function tickOf(ms: number): number {
  return Math.min(TIME_MAX, timeOfMs(ms));
}

interface Renumbering {
  readonly platform: Platform;
  readonly clock: ServerClock;
  /** In the order in which they were written. */
  readonly entries: readonly Numbered[];
  /** The chain that each goes to; the one that it is in otherwise. */
  readonly chainOf?: (record: PendingRecord) => number;
}

/** How far a chain is while its uploads are numbered anew. */
interface Tail {
  readonly site: Site;
  link: ChainLink;
}

/** Where transactions are stamped anew: one clock for all chains, because each builds on those before. */
interface Restamping {
  readonly fact: ChainFact;
  readonly clock: ServerClock;
  /** What increments name as their births, by the stamps that it had. */
  readonly births: Map<string, readonly [number, Site]>;
  last: number;
}

/**
 * Gives transactions that were never sent the next numbers of their chains, with times that are
 * right and in order. Returns how far the current chain is then.
 */
function renumber(layers: Layers, fact: ChainFact, renumbering: Renumbering): ChainFact {
  const { platform, clock, entries, chainOf = ({ seal }) => seal.chain } = renumbering;
  const tails = new Map<number, Tail>();
  const restamping: Restamping = { fact, clock, births: new Map(), last: 0 };
  for (const { chain, site, sent } of openChains(fact)) {
    tails.set(chain, { site, link: sent });
    restamping.last = Math.max(restamping.last, sent.time);
  }
  for (const [commitId, before] of entries) {
    const chain = chainOf(before);
    const tail = tails.get(chain);
    if (tail === undefined) continue;
    const record = restamped(before, tail.site, restamping);
    const link = linkAfter(platform, tail.link, record.steps);
    tail.link = link;
    const { number, digest } = link;
    const after = { ...record, seal: { chain, number, digest } };
    // Where nothing came of it, what shows need not be made anew.
    if (!isSameContent(before, after)) layers.putPending(commitId, after);
    else if (!isSamePlace(before, after)) layers.markPending(commitId, after);
  }
  return { ...fact, ...tails.get(fact.chain)?.link };
}

/** A transaction with the site of its chain, behind those before it. */
function restamped(record: PendingRecord, site: Site, restamping: Restamping): PendingRecord {
  const { fact, clock, births } = restamping;
  const isCorrected = needsCorrection(record, fact, clock);
  const offset = isCorrected ? clock.offsetMs : record.offset;
  const { by = 0 } = record;
  const wrote = Math.min(tickOf(record.at + (offset ?? by) - by), tickOf(clock.nowMs));
  const steps = record.steps.map((step): UploadStep => {
    const operations = step.operations.map((each) => reborn(each, births, clock));
    const last = Math.max(restamping.last, newestBirth(operations));
    const isKept = !isCorrected && isInPlace(step.time, last, clock);
    const time = isKept ? step.time : Math.max(last + 1, record.seen + 1, wrote);
    restamping.last = time;
    births.set(`${step.time}/${record.site}`, [time, site]);
    return { time, operations };
  });
  const corrected = offset === undefined ? {} : { offset };
  return { ...record, site, steps, ...corrected };
}

/** Whether both have the same writes under the same stamps. */
function isSameContent(before: PendingRecord, after: PendingRecord): boolean {
  if (before.site !== after.site) return false;
  return before.steps.every(({ time, operations }, i) => {
    const next = after.steps[i];
    return time === next?.time && operations.every((each, j) => each === next.operations[j]);
  });
}

function isSamePlace(before: PendingRecord, after: PendingRecord): boolean {
  if (before.offset !== after.offset || before.seal.chain !== after.seal.chain) return false;
  return (
    before.seal.number === after.seal.number &&
    compareBytes(before.seal.digest, after.seal.digest) === 0
  );
}

/** An increment is younger than what it adds to, whoever has made that. */
function newestBirth(operations: readonly UploadOperation[]): number {
  let newest = 0;
  for (const operation of operations) {
    if (operation.kind !== "update") continue;
    for (const edit of operation.edits) {
      if (edit.kind === "increment") newest = Math.max(newest, edit.birth?.[0] ?? 0);
    }
  }
  return newest;
}

/**
 * An operation whose increments name their births as these are now. One that no server can have is of
 * an own write that was refused before anybody looked at its time: it must not hold this one up there.
 */
function reborn(
  operation: UploadOperation,
  births: Restamping["births"],
  clock: ServerClock,
): UploadOperation {
  if (operation.kind !== "update") return operation;
  const most = tickOf(clock.nowMs + clock.driftMs);
  const edits = operation.edits.map((edit): Edit => {
    if (edit.kind !== "increment" || edit.birth === undefined) return edit;
    const [born, site] = births.get(edit.birth.join("/")) ?? edit.birth;
    const time = born > most ? tickOf(clock.nowMs) : born;
    const isSame = time === edit.birth[0] && site === edit.birth[1];
    return isSame ? edit : { ...edit, birth: [time, site] };
  });
  const isSame = edits.every((edit, i) => edit === operation.edits[i]);
  return isSame ? operation : { ...operation, edits };
}
