/**
 * What is said on links between sites, and whether it may be: nothing that is not durable, nothing
 * that no query selects but for deletions (S51), nothing that is not so, and nothing that the other
 * side has told (S53).
 */

import {
  type DocumentEntry,
  decodeLinkMessage,
  documentId,
  type IdRange,
  type LinkMessage,
  NONE,
  type SyncCursor,
  unreachable,
  type Value,
} from "@bigpeer/protocol";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateOfParts } from "../../src/crdt/state-parts.ts";
import { describeDoc, describeState, valueText } from "../support/dump.ts";
import type { LinkClaims } from "./link-claims.ts";
import { type SimPull, statementOfPull } from "./link-topology.ts";
import type { Scheduler } from "./scheduler.ts";
import { placeOf } from "./server-oracle.ts";
import type { End } from "./sim-network.ts";
import { type Entry, type Life, type SiteBook, UNKNOWN_ADD } from "./site-book.ts";

/** What one side has said on a connection. */
interface Said {
  history: string;
  readonly asked: Map<number, { readonly query: string; readonly cursor: SyncCursor | undefined }>;
  /** What it serves, by the filter. */
  readonly streams: Map<string, Stream>;
  largestMessage: number;
}

interface Stream {
  readonly pull: SimPull;
  /** The transaction that the other side had when it began. */
  readonly base: number;
  /** Up to where it is live; undefined before it is. */
  since: number | undefined;
  /** Whether the claims know of the fill that it is in, or was in last. */
  isFillNoted: boolean;
  /** Asked for by the other side. */
  readonly wanted: Set<string>;
}

/** Who speaks to whom. */
export interface Speaking {
  readonly from: SiteBook;
  readonly to: SiteBook;
  /** Bytes that may be queued. */
  readonly queueBytes: number;
}

export interface LinkTapParts {
  readonly scheduler: Scheduler;
  readonly claims: LinkClaims;
  /** What a subscription means. */
  pullOf(statement: string): SimPull | undefined;
}

/** Subscriptions, answers and pings are small, and come behind what is queued. */
const CONTROL_BYTES = 4000;

export class LinkTap {
  readonly #parts: LinkTapParts;
  readonly #said = new WeakMap<End, Said>();
  readonly counts = new Map<string, number>();
  /** Documents that crossed any link. */
  documents = 0;

  constructor(parts: LinkTapParts) {
    this.#parts = parts;
  }

  sent(end: End, bytes: Uint8Array, speaking: Speaking): void {
    const said = this.#saidOn(end);
    const other = this.#saidOn(otherEnd(end));
    let message: LinkMessage;
    try {
      message = decodeLinkMessage(bytes);
    } catch (error) {
      return this.#fail("[S1] messages can be read", String(error));
    }
    said.largestMessage = Math.max(said.largestMessage, bytes.length);
    const most = speaking.queueBytes + said.largestMessage + CONTROL_BYTES;
    if (end.queuedBytes + bytes.length > most) {
      this.#fail("[S22] queues are bounded", `${end.queuedBytes + bytes.length}, at most ${most}`);
    }
    this.#note(end, speaking, message);
    this.#take(message, { said, other, ...speaking });
  }

  #saidOn(end: End): Said {
    let said = this.#said.get(end);
    if (said === undefined) {
      said = { history: "", asked: new Map(), streams: new Map(), largestMessage: 0 };
      this.#said.set(end, said);
    }
    return said;
  }

  #note(end: End, { from, to }: Speaking, message: LinkMessage): void {
    this.counts.set(message.t, (this.counts.get(message.t) ?? 0) + 1);
    const { dialler, number } = end.connection;
    const who = `${from.name}→${to.name}.${dialler}${number}`;
    this.#parts.scheduler.note(who, describeMessage(message));
  }

  #take(message: LinkMessage, scene: Scene): void {
    const { said, other, from } = scene;
    switch (message.t) {
      case "linked":
        said.history = message.history;
        return this.#checkDurable(from, message.txn);
      case "subscribe":
        said.asked.set(message.id, { query: message.query, cursor: message.cursor });
        return;
      case "subscribed":
        return this.#subscribed(message, scene);
      case "want": {
        const stream = other.streams.get(hex(message.filter));
        for (const id of message.ids) stream?.wanted.add(documentId(id).key);
        return;
      }
      case "documents": {
        const stream = said.streams.get(hex(message.filter));
        if (stream === undefined) {
          return this.#fail("[S10] a stream is announced before it begins", hex(message.filter));
        }
        if (message.range !== undefined) this.#filled(message.range, stream, scene);
        for (const entry of message.entries) this.#checkEntry(entry, stream, scene);
        if (message.committed !== undefined) this.#committed(message.committed, scene);
        return;
      }
      case "committed":
        return this.#committed(message.txn, scene);
      case "complete": {
        const stream = said.streams.get(hex(message.filter));
        if (stream !== undefined) stream.since = message.txn;
        return this.#checkDurable(from, message.txn);
      }
      case "behind":
        for (const filter of message.filters) {
          const stream = said.streams.get(hex(filter));
          if (stream === undefined) continue;
          stream.since = undefined;
          // Where the log does not reach back it goes on with a fill.
          stream.isFillNoted = false;
        }
        return;
      default:
        return;
    }
  }

  #subscribed(
    { id, filter, mode }: Extract<LinkMessage, { t: "subscribed" }>,
    { said, other, from }: Scene,
  ): void {
    const asked = other.asked.get(id);
    const pull = asked && this.#parts.pullOf(asked.query);
    if (asked === undefined || pull === undefined) {
      return this.#fail("[S50] what is served was asked for", `${id} ${asked?.query}`);
    }
    const base = mode === "resume" ? (asked.cursor?.txn ?? 0) : 0;
    const wanted = new Set<string>();
    const isFillNoted = mode === "fill";
    said.streams.set(hex(filter), { pull, base, since: undefined, isFillNoted, wanted });
    const life = from.lifeOf(said.history);
    if (isFillNoted && life !== undefined) {
      this.#parts.claims.noteFill(other.history, life, asked.query);
    }
    this.counts.set(mode, (this.counts.get(mode) ?? 0) + 1);
  }

  #filled({ after }: IdRange, stream: Stream, { said, other, from }: Scene): void {
    const life = from.lifeOf(said.history);
    if (life === undefined) return;
    const { claims } = this.#parts;
    const statement = statementOfPull(stream.pull);
    if (!stream.isFillNoted) claims.noteFill(other.history, life, statement);
    stream.isFillNoted = true;
    if (after === undefined) claims.noteStart(other.history, life, statement);
  }

  #committed(txn: number, { said, from }: Scene): void {
    this.#checkDurable(from, txn);
    for (const stream of said.streams.values()) {
      if (stream.since !== undefined) stream.since = Math.max(stream.since, txn);
    }
  }

  #checkDurable(from: SiteBook, txn: number): void {
    if (txn <= from.txn) return;
    this.#fail("nothing is told before it is durable", `${from.name} ${txn}, is at ${from.txn}`);
  }

  #checkEntry(entry: DocumentEntry, stream: Stream, scene: Scene): void {
    this.documents++;
    this.counts.set(entry[0], (this.counts.get(entry[0]) ?? 0) + 1);
    const { pull } = stream;
    const { from, to, said } = scene;
    const life = from.lifeOf(said.history);
    if (life === undefined) return this.#fail("[S49] a side tells its history", said.history);
    const place = placeOf(pull.collection, entry[1]);
    const { key } = documentId(entry[1]);
    const isWanted = stream.wanted.has(key);
    const isEcho = this.#isEcho(entry, place, stream, { ...scene, life });
    // News of its own may come between a wish and its answer (seed 10074).
    if (isEcho || stream.since === undefined) stream.wanted.delete(key);
    if (entry[0] === "delta") return this.#fail("[S51] documents come whole", place);
    if (entry[0] === "drop") {
      if (!isWanted && !hasMatched(life, place, stream)) this.#failUnselected(entry, place, scene);
      return;
    }
    this.#checkDurable(from, entry[2]);
    if (isEcho && !isWanted) {
      const what = `${from.name} to ${to.name}: ${place}`;
      this.#fail("[S53] nothing is told to whom it came from", what);
    }
    const text = describeState(stateOfEntry(entry));
    const known = life.versions(place, entry[2]);
    const found = known.find(({ doc }) => textOf(entry, doc) === text);
    if (known.length > 0 && found === undefined) {
      const expected = known.map(({ doc }) => textOf(entry, doc)).join("\n  or   ");
      this.#fail(
        "a version is what it was",
        `${place}@${entry[2]}\n  sent ${text}\n  is   ${expected}`,
      );
    }
    to.arrive(place, text, found?.adds ?? new Set([UNKNOWN_ADD]));
    if (!isSelected(entry, found, { life, place, stream, isWanted })) {
      this.#failUnselected(entry, place, scene);
    }
  }

  #failUnselected(entry: DocumentEntry, place: string, { from, to }: Scene): void {
    const what = `${from.name} to ${to.name}: ${entry[0]} ${place}`;
    this.#fail("[S51] nothing crosses that no query selects", what);
  }

  /** Whether the other side is told what came from there alone, which a live stream does not do (S53). */
  #isEcho(
    entry: DocumentEntry,
    place: string,
    { since, pull }: Stream,
    { life, other }: Scene & { readonly life: Life },
  ): boolean {
    if (since === undefined) return false;
    const entries = life.entriesOf(place).filter(({ txn }) => txn > since);
    if (entries.length === 0 || entries.some(({ via }) => via !== other.history)) return false;
    const before = life.at(place, since);
    const isDeleted = entry[0] === "deleted";
    const isMatching = ({ fields }: Entry): boolean =>
      fields !== undefined && pull.rule.test(fields);
    // It may have stood at any of these; and what did not match there is told when it does.
    const isNew = before === undefined || before.version === 0;
    const all = isNew ? entries : [before, ...entries];
    return isDeleted || all.every(isMatching);
  }

  #fail(invariant: string, detail: string): void {
    this.#parts.scheduler.fail(invariant, detail);
  }
}

interface Scene extends Speaking {
  readonly said: Said;
  readonly other: Said;
}

type StateEntry = Extract<DocumentEntry, readonly ["put" | "left" | "deleted", ...unknown[]]>;

function otherEnd(end: End): End {
  const { client, server } = end.connection;
  return client === end ? server : client;
}

function stateOfEntry(entry: StateEntry): ReturnType<typeof stateOfParts> {
  if (entry[0] !== "deleted") return stateOfParts(entry[3]);
  return { ...EMPTY_STATE, alive: NONE, dead: { time: entry[3], site: entry[4] } };
}

/** Of a deletion only that it is one is told. */
function textOf(entry: StateEntry, doc: Entry["doc"]): string {
  const isGone = entry[0] === "deleted" || (entry[0] === "left" && entry[3][0] === null);
  if (!isGone) return describeDoc(doc);
  return describeDoc({ ...doc, alive: [-1, 0], kids: new Map() });
}

function isSelected(
  entry: StateEntry,
  found: Entry | undefined,
  { life, place, stream, isWanted }: SelectedIn,
): boolean {
  switch (entry[0]) {
    case "put":
      return found?.fields === undefined || stream.pull.rule.test(found.fields);
    case "left":
      return isWanted || entry[3][0] === null || hasMatched(life, place, stream);
    case "deleted":
      return true;
    default:
      return unreachable(entry);
  }
}

interface SelectedIn {
  readonly life: Life;
  readonly place: string;
  readonly stream: Stream;
  readonly isWanted: boolean;
}

/** Whether a document has matched at the cursor or since (S19). */
function hasMatched(life: Life, place: string, { pull, base }: Stream): boolean {
  const at = life.at(place, base);
  const since = life.entriesOf(place).filter(({ txn }) => txn > base);
  return [...(at ? [at] : []), ...since].some(({ fields }) => {
    return fields !== undefined && pull.rule.test(fields);
  });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** A line of the trace. */
function describeMessage(message: LinkMessage): string {
  if (message.t !== "documents") return JSON.stringify(message, plain).slice(0, 220);
  const entries = message.entries.map((entry) => {
    return entry[0] === "drop"
      ? `drop ${idText(entry[1])}`
      : `${entry[0]} ${idText(entry[1])}@${entry[2]}`;
  });
  const range = message.range === undefined ? "" : ` range ${JSON.stringify(message.range)}`;
  const end = message.committed === undefined ? "" : ` committed ${message.committed}`;
  return `documents ${hex(message.filter).slice(0, 6)} ${entries.join(" ")}${range}${end}`;
}

function idText(id: Value): string {
  return valueText(id);
}

function plain(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? hex(value).slice(0, 6) : value;
}
