/**
 * What is said on all connections, and whether it may be said: nothing that is not durable, nothing
 * that the session may not read, no outcome that the store does not have.
 */

import {
  type DocumentEntry,
  decodePeerMessage,
  decodeServerMessage,
  type Outcome,
  type PeerMessage,
  type ServerMessage,
  type Site,
  timeOfMs,
  unreachable,
  type ValueObject,
} from "@bigpeer/protocol";
import { DRIFT_MS_MAX } from "../../src/limits.ts";
import { valueText } from "../support/dump.ts";
import type { Credential } from "./credential.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SentUploads } from "./sent-uploads.ts";
import { placeOf, type ServerOracle, uploadName } from "./server-oracle.ts";
import type { End } from "./sim-network.ts";
import type { Rights } from "./sim-rules.ts";

/** What one connection has come to. */
export interface WireSession {
  token: string;
  credential: Credential | undefined;
  rights: Rights | undefined;
  isWelcome: boolean;
  /** The site of the uploads that the peer sends now. */
  site: Site;
  readonly collections: Map<string, string>;
  largestMessage: number;
  /** What had been sent to anyone when the server received `hello`. */
  before: Acknowledged;
  /** Questions of the peer for the uploads of a site that are not answered. */
  questions: number;
  /** The clock of the server when the last upload came. */
  uploadedMs: number;
}

/** What peers were told: whoever serves them next must know it, in the same life of the server. */
interface Acknowledged {
  readonly restores: number;
  readonly txn: number;
  /** The last upload of each site. */
  readonly uploads: ReadonlyMap<Site, number>;
}

const NOTHING_ACKNOWLEDGED: Acknowledged = { restores: 0, txn: 0, uploads: new Map() };

export interface ReportedOutcome {
  readonly kind: string;
  readonly peer: string;
  /** How often the server had come back from a copy when it said so. */
  readonly restores: number;
}

/** Answers, pings and outcomes are small, and come behind what is queued. */
const CONTROL_BYTES = 1000;

interface TapParts {
  readonly scheduler: Scheduler;
  readonly sent: SentUploads;
  readonly oracle: () => ServerOracle;
  readonly credential: (token: string) => Credential | undefined;
  readonly restores: () => number;
  /** The clock of the server; the slowest one of several machines. */
  readonly serverMs: () => number;
  readonly queueBytes: () => number;
  /** The disk of a peer. */
  readonly diskOf: (peer: string) => object;
  /** What a disk has written under a site and not sent. */
  readonly unsent: (disk: object, site: Site) => Iterable<string>;
  /** The last durable upload of a site; 0 when it belongs to another than `owner`. */
  readonly known: (site: Site, owner: string) => number;
}

/** What a store was told to be forked. */
interface Fork {
  readonly disk: object;
  readonly site: Site;
  readonly number: number;
}

export class WireTap {
  readonly #parts: TapParts;
  readonly #sessions = new WeakMap<object, WireSession>();
  /** The last outcome that each upload's peer was sent. */
  readonly reported = new Map<string, ReportedOutcome>();
  /** Uploads whose peer was told at any time that they had no effect. */
  readonly refused = new Set<string>();
  readonly #forks: Fork[] = [];
  readonly #restamped = new Set<string>();
  #acknowledged = NOTHING_ACKNOWLEDGED;
  /** The credentials that have uploaded under each site. */
  readonly #owners = new Map<Site, Set<string>>();
  readonly counts = new Map<string, number>();
  /** Sessions that ended with their token. */
  expired = 0;

  constructor(parts: TapParts) {
    this.#parts = parts;
  }

  sessionOf(end: End): WireSession {
    const { connection } = end;
    let session = this.#sessions.get(connection);
    if (session === undefined) {
      session = {
        token: "",
        credential: undefined,
        rights: undefined,
        isWelcome: false,
        site: "",
        collections: new Map(),
        largestMessage: 0,
        before: NOTHING_ACKNOWLEDGED,
        questions: 0,
        uploadedMs: 0,
      };
      this.#sessions.set(connection, session);
    }
    return session;
  }

  /** A peer sends. */
  fromPeer(end: End, bytes: Uint8Array): void {
    const message = this.#decode(bytes, decodePeerMessage);
    if (message === undefined) return;
    const session = this.sessionOf(end);
    this.#note(end, "→", message);
    if (message.t === "hello" || message.t === "site") session.site = message.site;
    if (message.t === "subscribe" && message.cursor?.after !== undefined) {
      this.#count("subscribe inside of a fill");
    }
    if (message.t === "upload") {
      const { number, digest, steps } = message;
      const { senders } = this.#parts.sent.add(session.site, number, digest, steps);
      senders.add(this.#parts.diskOf(end.connection.dialler));
    }
  }

  /** The server has received; it acts on it right after. */
  atServer(end: End, bytes: Uint8Array): void {
    const message = this.#decode(bytes, decodePeerMessage);
    const session = this.sessionOf(end);
    if (message?.t === "site") session.questions++;
    if (message?.t === "upload") {
      session.uploadedMs = this.#parts.serverMs();
      this.#addOwner(session);
    }
    if (message?.t !== "hello" && message?.t !== "token") return;
    session.token = message.token;
    session.credential = this.#parts.credential(message.token);
    if (message.t === "hello") session.before = this.#acknowledged;
  }

  /** The server sends. */
  fromServer(end: End, bytes: Uint8Array): void {
    const message = this.#decode(bytes, decodeServerMessage);
    if (message === undefined) return;
    const session = this.sessionOf(end);
    session.largestMessage = Math.max(session.largestMessage, bytes.length);
    this.#checkQueue(end, session, bytes.length);
    this.#note(end, "←", message);
    for (const txn of numbersIn(message)) {
      this.#checkDurable(txn, message.t);
      this.#acknowledge(txn);
    }
    switch (message.t) {
      case "welcome":
        session.isWelcome = true;
        session.rights = session.credential?.rights;
        this.#checkCurrent(session, message.txn);
        return this.#checkKnown(session, session.site, message.known);
      case "site":
        this.#checkAsked(session, message.site);
        return this.#checkKnown(session, message.site, message.known ?? 0);
      case "subscribed":
        session.collections.set(hex(message.filter), message.collection);
        return;
      case "documents": {
        const collection = this.#collectionOf(session, message.filter);
        for (const entry of message.entries) this.#checkEntry(session, collection, entry, true);
        return;
      }
      case "versions": {
        const collection = this.#collectionOf(session, message.filter);
        for (const [id, version] of message.list) {
          this.#checkContent(session, placeOf(collection, id), version);
        }
        return;
      }
      case "bye":
        if (message.code === "expired") this.expired++;
        return;
      case "forked":
        return this.#noteForked(end, message.site, message.number);
      case "committed":
        for (const outcome of message.outcomes) this.#checkOutcome(end, session, outcome);
        return;
      default:
        return;
    }
  }

  #decode<T>(bytes: Uint8Array, decode: (bytes: Uint8Array) => T): T | undefined {
    try {
      return decode(bytes);
    } catch (error) {
      this.#parts.scheduler.fail("[S1] messages can be read", String(error));
      return undefined;
    }
  }

  #note(end: End, arrow: string, message: PeerMessage | ServerMessage): void {
    this.#count(message.t);
    const { dialler, number } = end.connection;
    this.#parts.scheduler.note(`${dialler}.${number}`, `${arrow} ${describeMessage(message)}`);
  }

  #count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** S22: what is queued for a session is bounded, but for the message that goes over it. */
  #checkQueue({ queuedBytes }: End, { largestMessage }: WireSession, bytes: number): void {
    const most = this.#parts.queueBytes() + largestMessage + CONTROL_BYTES;
    if (queuedBytes + bytes <= most) return;
    this.#fail("[S22] queues are bounded", `${queuedBytes + bytes} bytes, at most ${most}`);
  }

  #checkDurable(txn: number, where: string): void {
    const { txn: last } = this.#parts.oracle();
    if (txn <= last) return;
    this.#fail("nothing is told before it is durable", `${where} names ${txn}, durable is ${last}`);
  }

  #acknowledge(txn: number, site?: Site, number = 0): void {
    const restores = this.#parts.restores();
    const last =
      this.#acknowledged.restores === restores ? this.#acknowledged : NOTHING_ACKNOWLEDGED;
    const isLater = site !== undefined && number > (last.uploads.get(site) ?? 0);
    const uploads = isLater ? new Map(last.uploads).set(site, number) : last.uploads;
    this.#acknowledged = { restores, txn: Math.max(txn, last.txn), uploads };
  }

  /** A server that knows less than it has said is one that was restored: so peers take it. */
  #checkCurrent({ before }: WireSession, txn: number): void {
    if (before.restores !== this.#parts.restores() || txn >= before.txn) return;
    this.#fail("[S4] welcome is said by a server that is up to date", `${txn} of ${before.txn}`);
  }

  #checkKnown({ before, credential }: WireSession, site: Site, known: number): void {
    if (before.restores !== this.#parts.restores()) return;
    // Nothing is known of a site of another credential, and of one that was forgotten.
    const durable = this.#parts.known(site, credential?.name ?? "");
    const least = Math.min(before.uploads.get(site) ?? 0, durable);
    if (known >= least) return;
    const detail = `${site}: ${known} of ${least}`;
    this.#fail("[S30] no peer takes a server for a restored one that is not", detail);
  }

  #collectionOf(session: WireSession, filter: Uint8Array): string {
    const collection = session.collections.get(hex(filter));
    if (collection === undefined) {
      this.#fail("[S10] a stream is announced before it begins", hex(filter));
    }
    return collection ?? "";
  }

  #checkEntry(
    session: WireSession,
    collection: string,
    entry: DocumentEntry,
    isStream: boolean,
  ): void {
    const place = placeOf(collection, entry[1]);
    switch (entry[0]) {
      case "put":
      case "left": {
        const [kind, , version, [fields]] = entry;
        this.#checkContent(session, place, version, fields);
        if (fields === null && isStream) this.#fail("[S17] what is put shows", `${kind} ${place}`);
        return;
      }
      case "delta":
        this.#checkContent(session, place, entry[2]);
        return;
      case "drop":
      case "deleted":
        // Who wrote it himself knows of it.
        if (isStream) this.#checkReadable(session, place, collection);
        return;
      default:
        unreachable(entry);
    }
  }

  /** What is said of a document is what it was at that version, and may be read. */
  #checkContent(
    session: WireSession,
    place: string,
    version: number,
    sent?: ValueObject | null,
  ): void {
    const known = this.#parts.oracle().at(place, version);
    if (sent !== undefined && known !== undefined) {
      const [found, expected] = [valueText(sent ?? undefined), valueText(known.fields)];
      if (found !== expected) {
        this.#fail("a version is what it was", `${place} at ${version}: ${found}, not ${expected}`);
      }
    }
    const fields = sent === undefined ? known?.fields : sent;
    if (fields === undefined || fields === null) return;
    const [collection = ""] = place.split("/");
    if (session.rights?.mayRead(collection, fields) === true) return;
    this.#fail("[S19] nobody is sent what he may not read", `${place} ${valueText(fields)}`);
  }

  /** An id alone: of something that this credential could read at some time. */
  #checkReadable({ credential }: WireSession, place: string, collection: string): void {
    const versions = this.#parts.oracle().versionsOf(place);
    const wasReadable = versions.some(({ fields }) => {
      if (fields === undefined) return false;
      return credential?.past.some((rights) => rights.mayRead(collection, fields)) === true;
    });
    if (wasReadable || versions.length === 0) return;
    this.#fail("[S19] nobody hears of what he never could read", place);
  }

  #checkOutcome(end: End, session: WireSession, outcome: Outcome): void {
    const name = uploadName(outcome.site, outcome.number);
    const applied = this.#parts.oracle().uploads.get(name);
    if (applied === undefined) {
      this.#fail("an upload is acknowledged when it is applied", `${name} is ${outcome.kind}`);
    } else if (applied.kind !== outcome.kind || applied.txn !== outcome.txn) {
      const found = `${name} is ${applied.kind} at ${applied.txn}`;
      this.#fail("an outcome is what happened", `${found}, told ${outcome.kind} at ${outcome.txn}`);
    }
    for (const [collection, entry] of outcome.documents) {
      this.#checkEntry(session, collection, entry, false);
    }
    if (outcome.kind !== "applied") this.refused.add(name);
    this.#acknowledge(outcome.txn, outcome.site, outcome.number);
    const restores = this.#parts.restores();
    this.reported.set(name, { kind: outcome.kind, peer: end.connection.dialler, restores });
  }

  /**
   * Writes that were sent, or lay behind such, and have to be sent anew by another site (S29). A peer
   * goes on under the former one until it hears of it: that is looked for again.
   */
  get restamped(): ReadonlySet<string> {
    for (const fork of this.#forks) this.#restamp(fork);
    return this.#restamped;
  }

  #addOwner({ site, credential }: WireSession): void {
    const owners = this.#owners.get(site) ?? new Set();
    this.#owners.set(site, owners.add(credential?.name ?? ""));
  }

  /** Unasked it says that an upload came before the one that precedes it. */
  #checkAsked(session: WireSession, site: Site): void {
    if (session.questions-- > 0 || this.#parts.restores() > 0) return;
    this.#fail("[S32] the uploads of a session are taken in their order", site);
  }

  /** What one store wrote under its own site for one user, not ahead of the server, is no fork. */
  #checkFork({ uploadedMs }: WireSession, site: Site, number: number): void {
    const isForgotten = [...this.#parts.oracle().forgotten].some((name) => name.startsWith(site));
    const isShared = (this.#owners.get(site)?.size ?? 0) > 1;
    if (isForgotten || isShared || this.#parts.restores() > 0) return;
    const serverMs = Math.min(uploadedMs, this.#parts.serverMs());
    const latest = timeOfMs(serverMs + DRIFT_MS_MAX / 2);
    const writers = new Set<object>();
    for (const upload of this.#parts.sent.all()) {
      if (upload.site !== site) continue;
      if (upload.steps.some(({ time }) => time > latest)) return;
      for (const sender of upload.senders) writers.add(sender);
    }
    if (writers.size < 2)
      this.#fail("[S29] a site of one store is not forked", `${site}/${number}`);
  }

  #noteForked(end: End, site: Site, number: number): void {
    const { connection } = end;
    this.#checkFork(this.sessionOf(end), site, number);
    const fork = { disk: this.#parts.diskOf(connection.dialler), site, number };
    this.#forks.push(fork);
    this.#restamp(fork);
  }

  #restamp({ disk, site, number }: Fork): void {
    for (const tag of this.#parts.unsent(disk, site)) this.#restamped.add(tag);
    const { uploads } = this.#parts.oracle();
    for (const upload of this.#parts.sent.all()) {
      if (upload.site !== site || upload.number < number) continue;
      const taken = uploads.get(uploadName(site, upload.number))?.tags ?? [];
      for (const tag of upload.tags) if (!taken.includes(tag)) this.#restamped.add(tag);
    }
  }

  #fail(invariant: string, detail: string): void {
    this.#parts.scheduler.fail(invariant, detail);
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** The transactions that a message names. */
function numbersIn(message: ServerMessage): number[] {
  switch (message.t) {
    case "welcome":
    case "complete":
      return [message.txn];
    case "ping":
      return message.txn === undefined ? [] : [message.txn];
    case "committed":
      return [message.txn, ...message.outcomes.map(({ txn }) => txn)];
    case "documents":
      return [...message.entries.map(versionOf), message.asOf ?? 0, message.committed ?? 0];
    case "versions":
      return message.list.map(([, version]) => version);
    default:
      return [];
  }
}

function versionOf(entry: DocumentEntry): number {
  return entry[0] === "drop" ? 0 : entry[2];
}

/** A line of the trace. */
function describeMessage(message: PeerMessage | ServerMessage): string {
  switch (message.t) {
    case "documents": {
      const entries = message.entries.map(describeEntry).join(" ");
      const range = message.range === undefined ? "" : ` range ${JSON.stringify(message.range)}`;
      const end = message.committed === undefined ? "" : ` committed ${message.committed}`;
      return `documents ${hex(message.filter).slice(0, 6)} ${entries}${range}${end}`;
    }
    case "versions":
    case "want":
    case "complete":
    case "subscribed":
    case "behind":
    case "subscribe":
      return shorten(JSON.stringify(message, plain), 220);
    case "upload": {
      const { number, digest, steps } = message;
      const operations = shorten(JSON.stringify(steps, plain), 300);
      return `upload ${number} ${hex(digest).slice(0, 6)} ${operations}`;
    }
    case "committed": {
      const outcomes = message.outcomes.map(({ site, number, kind, txn, reason, documents }) => {
        const written = documents.map(([, entry]) => describeEntry(entry)).join(" ");
        return `${site.slice(-4)}/${number} ${kind} at ${txn} ${reason} [${written}]`;
      });
      return `committed ${message.txn} ${outcomes.join("; ")}`;
    }
    default:
      return shorten(JSON.stringify(message, plain), 200);
  }
}

function describeEntry(entry: DocumentEntry): string {
  const id = valueText(entry[1]);
  return entry[0] === "drop" ? `drop ${id}` : `${entry[0]} ${id}@${entry[2]}`;
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Uint8Array ? hex(value).slice(0, 6) : value;
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
