/**
 * Sequenced uploads: selects the uploads to send next, and stamps or numbers them again if needed
 * (S33).
 *
 * Each upload gets its number, times and digest in the commit that writes it. Until it is first
 * sent it may get other times, if the device's clock was wrong (S78). After a fork it gets another
 * site (S75). Increments on top of it name it as their birth, so they change with it, and so do
 * later digests.
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
import { KEPT, keptKey, peerNumberOfKey, pendingKey, sequenceRange } from "../store/keys.ts";
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
import type { UploadStep } from "../store/upload-step.ts";
import type { View } from "../store/view.ts";
import { linkAfter, openChains, pendingChainOf, pendingChains, sentUpTo } from "./chain.ts";
import type { Layers } from "./layers.ts";
import type { SequencedUpload } from "./peer-layers.ts";
import { OFFSET_MS_MAX } from "./server-time.ts";

/** An upload with the id of its local transaction. */
export interface OwnUpload extends SequencedUpload {
  readonly commitId: number;
}

/** What is known about the server's clock. */
export interface ServerClock {
  /** How far it is ahead of the device's; undefined if that is unknown. */
  readonly offsetMs: number | undefined;
  readonly nowMs: number;
  /** The drift bound: how far ahead of it a stamp may be. */
  readonly driftMs: number;
}

/** The server's clock is unknown: all times that are in order are right. */
const NO_CLOCK: ServerClock = { offsetMs: undefined, nowMs: Number.MAX_SAFE_INTEGER, driftMs: 0 };

/** What numbering needs from the store: the site of its incarnation, and its hash function. */
export interface Numbering {
  readonly life: Site;
  readonly platform: Platform;
}

type Numbered = readonly [commitId: number, record: PendingRecord];

/** Hands out the next transactions that were never sent, at most `max`, which are final then. */
export function sequenceNext(
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

function ownUpload([commitId, { site, steps, seal: sequence }]: Numbered): OwnUpload {
  return { site, number: sequence.number, digest: sequence.digest, steps, commitId };
}

/**
 * Uploads that were sent and have no outcome, in the order of sending. For each site, `after` names
 * the number to start after.
 */
export function* sequencedUploads(
  { reader }: View,
  life: Site,
  after: ReadonlyMap<Site, number> = new Map(),
): Iterable<OwnUpload> {
  const fact = chainFact(reader, life);
  for (const { site, chain } of pendingChains(reader)) {
    const range = sequenceRange(chain, after.get(site) ?? 0, sentUpTo(fact, chain));
    for (const { value } of reader.entries(range)) {
      const commitId = value as number;
      const record = reader.get(pendingKey(commitId)) as unknown as PendingRecord | undefined;
      if (record !== undefined) yield ownUpload([commitId, record]);
    }
  }
}

/** S75: moves the uploads of a site without outcomes, from `number` on, to another chain. */
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

/** Removes a former site: its unsent uploads move to the current chain. */
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

function isUnsent(fact: ChainFact, { seal: sequence }: PendingRecord): boolean {
  const sent = sentUpTo(fact, sequence.chain);
  return sent !== undefined && sequence.number > sent;
}

/** What a server has of a site. `isUnasked`: the first answer about it in this history. */
interface Reoffer {
  readonly site: Site;
  readonly known: number;
  readonly fresh: Site;
  readonly isUnasked: boolean;
}

/**
 * S30: the server has the uploads of a site up to `known`. Applied ones beyond that become pending
 * again, under a new site if some of them are no longer kept.
 *
 * A server also answers 0 for a site of another user (S58). In the same history it has lost
 * nothing. In a new one the peer offers what it kept under the former numbers. The server answers
 * with the outcomes that it has, else with `forked` (S77).
 */
export function reofferKept(
  layers: Layers,
  numbering: Numbering,
  { site, known, fresh, isUnasked }: Reoffer,
): void {
  if (known === 0 && !isUnasked) return;
  const fact = chainFact(layers, numbering.life);
  const pending = pendingChainOf(layers.view.reader, site);
  // Outcomes come in the order of numbers: from the first pending upload on there is none.
  const unreported = pending?.first ?? (fact.site === site ? fact.number + 1 : undefined);
  if (unreported !== undefined && known >= unreported - 1) return;
  const kept = keptOf(layers, site).filter(([, { seal: sequence }]) => sequence.number > known);
  const numbers = new Set(kept.map(([, { seal: sequence }]) => sequence.number));
  const last = unreported === undefined ? lastOf(numbers, known) : unreported - 1;
  for (const [commitId, record] of kept) bringBack(layers, commitId, record);
  if (known === 0) return;
  for (let number = known + 1; number <= last; number++) {
    if (numbers.has(number)) continue;
    return forkChain(layers, numbering, { site, number: known + 1, fresh });
  }
}

/** The current site, and all sites of kept uploads. */
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

/** Transactions that were never sent, in the order of sending, at most `max`. */
function unsent(
  layers: Layers,
  fact: ChainFact,
  max: number = Number.POSITIVE_INFINITY,
): Numbered[] {
  const found: Numbered[] = [];
  for (const { chain, sent } of openChains(fact)) {
    for (const { value } of layers.view.reader.entries(sequenceRange(chain, sent.number))) {
      if (found.length >= max) return found;
      const record = layers.pending(value as number);
      if (record !== undefined) found.push([value as number, record]);
    }
  }
  return found;
}

/** What the uploads that were never sent do, in the order of sending. */
export function* unsentSteps({ reader }: View, life: Site): Iterable<readonly UploadStep[]> {
  for (const { chain, sent } of openChains(chainFact(reader, life))) {
    for (const { value } of reader.entries(sequenceRange(chain, sent.number))) {
      const record = reader.get(pendingKey(value as number)) as unknown as
        | PendingRecord
        | undefined;
      if (record !== undefined) yield record.steps;
    }
  }
}

/** The chains after these were sent. Former chains without unsent uploads are removed. */
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
  for (const _ of layers.view.reader.keys(sequenceRange(chain, sent.number))) return true;
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

/** Whether these uploads can be sent as they are. */
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
 * Whether the clock was wrong when it was written, by an offset that was unknown then (S78). This
 * device's clock says nothing about writes of a former incarnation, perhaps on another device.
 */
function needsCorrection(
  { offset, by, seal: sequence }: PendingRecord,
  { chain }: ChainFact,
  { offsetMs }: ServerClock,
): boolean {
  if (offsetMs === undefined || offset !== undefined) return false;
  if (by !== undefined && sequence.chain !== chain) return false;
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
  /** In the order of writing. */
  readonly entries: readonly Numbered[];
  /** The chain that each upload moves to; by default its own. */
  readonly chainOf?: (record: PendingRecord) => number;
}

/** The end of a chain while its uploads are renumbered. */
interface Tail {
  readonly site: Site;
  link: ChainLink;
}

/** State of a restamp. All chains share it, because writes build on earlier ones. */
interface Restamping {
  readonly fact: ChainFact;
  readonly clock: ServerClock;
  /** New stamps by old stamps, for increments that name them as births. */
  readonly births: Map<string, readonly [number, Site]>;
  last: number;
}

/**
 * Gives transactions the next numbers of their chains, with times that are right and in order.
 * Returns the new end of the current chain.
 */
function renumber(layers: Layers, fact: ChainFact, renumbering: Renumbering): ChainFact {
  const {
    platform,
    clock,
    entries,
    chainOf = ({ seal: sequence }) => sequence.chain,
  } = renumbering;
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
    // If the content is the same, the view need not be computed again.
    if (!isSameContent(before, after)) layers.putPending(commitId, after);
    else if (!isSamePlace(before, after)) layers.markPending(commitId, after);
  }
  return { ...fact, ...tails.get(fact.chain)?.link };
}

/** The transaction with the site of its chain, and with times after all earlier ones. */
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

/** The newest birth that increments name: they must be newer, whichever site wrote it. */
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
 * The operation with the new births of its increments. A birth beyond the drift bound is an own
 * write that was refused before its time was checked: it must not make the server refuse this one.
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
