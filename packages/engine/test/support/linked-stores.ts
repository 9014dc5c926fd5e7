/**
 * Stores that are linked in memory, all of them real: each has its streams, and links over wires on
 * which nothing arrives in the turn that sent it. A wire breaks where a test says so.
 */

import { createHmac } from "node:crypto";
import { setImmediate as pause } from "node:timers/promises";
import {
  type DocumentEntry,
  decodeLinkMessage,
  type LinkMessage,
  stringifyJson,
  type Value,
} from "@bigpeer/protocol";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { Link, type LinkEvent, type LinkOptions } from "../../src/link/link.ts";
import type { LinkAttachments } from "../../src/link/link-contents.ts";
import type { QueriesByCollection } from "../../src/link/link-query.ts";
import type { Channel } from "../../src/platform.ts";
import type { StatementResult } from "../../src/query/request.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import type { MemoryDisk } from "../../src/store/memory-disk.ts";
import type { StoreOptions } from "../../src/store/store.ts";
import type { StreamLimits } from "../../src/sync/outbox/stream-limits.ts";
import { Streams } from "../../src/sync/streams.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { type TestPlatform, testPlatform } from "./test-platform.ts";

export interface LinkedStore extends OpenStore {
  readonly name: string;
  readonly streams: Streams;
  readonly execute: (statement: string, args?: unknown) => Promise<StatementResult>;
  /** Inserts documents, or takes the place of those that are there. */
  readonly put: (collection: string, ...documents: Value[]) => Promise<void>;
}

export interface LinkedSetup {
  readonly store?: StoreOptions;
  readonly streams?: Partial<StreamLimits>;
  readonly platform?: TestPlatform;
  readonly disk?: MemoryDisk;
}

let seed = 100;

export async function linkedStore(name: string, setup: LinkedSetup = {}): Promise<LinkedStore> {
  const platform = setup.platform ?? testPlatform(seed++);
  const opened = await openStore(setup.store, platform, setup.disk);
  const { store } = opened;
  const streams = new Streams({ store, platform, appId: "app", limits: setup.streams ?? {} });
  const runner = new StatementRunner({ store, platform, appId: "app" });
  const execute = (statement: string, args?: unknown): Promise<StatementResult> =>
    runner.execute({ statement, args });
  return {
    ...opened,
    name,
    streams,
    execute,
    put: async (collection, ...documents) => {
      const statement = `INSERT INTO ${collection} DOCUMENTS (:d) ON ID CONFLICT DO UPDATE`;
      for (const d of documents) await execute(statement, { d });
    },
  };
}

/** One side of a wire, and what crossed it. */
export interface WireEnd {
  readonly link: Link;
  readonly events: LinkEvent[];
  /** What this side was sent, as it arrived. */
  readonly heard: LinkMessage[];
}

export interface WireSide {
  readonly at: LinkedStore;
  readonly queries: QueriesByCollection;
  readonly secret?: string | undefined;
  readonly app?: string;
  readonly attachments?: LinkAttachments;
  readonly limits?: LinkOptions["limits"];
}

export interface WireSetup {
  /** Sees each frame when it arrives; true breaks the wire in its place. */
  readonly isCut?: (message: LinkMessage, to: string) => boolean;
}

/** A wire between two stores; the first has dialled. */
export class LinkWire {
  readonly dial: WireEnd;
  readonly accept: WireEnd;
  isOver = false;

  constructor(dial: WireSide, accept: WireSide, { isCut }: WireSetup = {}) {
    let ends: readonly WireEnd[] = [];
    const channelTo = (i: 0 | 1): Channel => {
      let queued = 0;
      let isHeld = false;
      const line: Uint8Array[] = [];
      const next = (): Uint8Array | undefined => (isHeld || this.isOver ? undefined : line.shift());
      const deliver = (): void => {
        for (let bytes = next(); bytes !== undefined; bytes = next()) {
          queued -= bytes.length;
          const message = decodeLinkMessage(bytes);
          if (isCut?.(message, (i === 0 ? dial : accept).at.name) === true) return this.cut();
          ends[i]?.heard.push(message);
          ends[i]?.link.receive(bytes);
        }
        if (queued === 0) ends[1 - i]?.link.drained();
      };
      holds[i] = (isOn) => {
        isHeld = isOn;
        if (!isOn) setImmediate(deliver);
      };
      return {
        send: (bytes) => {
          queued += bytes.length;
          line.push(bytes);
          setImmediate(deliver);
        },
        get queuedBytes() {
          return queued;
        },
        close: () => setImmediate(() => setImmediate(() => this.cut())),
        hold: (isOn) => holds[1 - i]?.(isOn),
      };
    };
    const holds: ((isOn: boolean) => void)[] = [];
    const toAccept = channelTo(1);
    const toDial = channelTo(0);
    const accepting = end(accept, "accept", toDial);
    const dialling = end(dial, "dial", toAccept);
    ends = [dialling, accepting];
    this.dial = dialling;
    this.accept = accepting;
  }

  /** The connection is gone, with all that is on its way. */
  cut(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.dial.link.closed();
    this.accept.link.closed();
  }

  tick(): void {
    this.dial.link.tick();
    this.accept.link.tick();
  }
}

function end(side: WireSide, which: "dial" | "accept", channel: Channel): WireEnd {
  const { at, queries, secret, app = "app", attachments, limits } = side;
  const events: LinkEvent[] = [];
  const known = "secret" in side ? secret : "the secret";
  const link = new Link({
    store: at.store,
    platform: at.platform,
    appId: app,
    streams: at.streams,
    channel,
    side: which,
    queries,
    hmac: (bytes) => (known === undefined ? undefined : hmacOf(known, bytes)),
    ...(attachments && { attachments }),
    ...(limits && { limits }),
    onEvent: (event) => events.push(event),
  });
  return { link, events, heard: [] };
}

function hmacOf(secret: string, bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHmac("sha256", secret).update(bytes).digest());
}

export const ALL: QueriesByCollection = { cars: ["true"] };
export const NONE_PULLED: QueriesByCollection = {};

/** A wire over which the first store, which has dialled, follows the second; that follows nothing. */
export function follow(
  target: LinkedStore,
  source: LinkedStore,
  side: Partial<WireSide> = {},
  setup: WireSetup = {},
): LinkWire {
  const accept = { at: source, queries: NONE_PULLED };
  return new LinkWire({ at: target, queries: ALL, ...side }, accept, setup);
}

/** A wire over which each of two stores follows all of the other; the first has dialled. */
export function followBoth(dial: LinkedStore, accept: LinkedStore): LinkWire {
  return new LinkWire({ at: dial, queries: ALL }, { at: accept, queries: ALL });
}

/** Lets everything that is under way have its turns. */
export async function turns(count = 60): Promise<void> {
  for (let i = 0; i < count; i++) await pause();
}

/** Waits until something holds. */
export async function until(isSo: () => boolean, count = 5000): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (isSo()) return;
    await pause();
  }
  throw new Error(`expected within ${count} turns: ${isSo.toString()}`);
}

/** Waits until no store makes a transaction any more and nothing crosses. */
export async function settled(
  stores: readonly LinkedStore[],
  wires: readonly LinkWire[] = [],
): Promise<void> {
  const sum = (): string =>
    [
      ...stores.map(({ store }) => store.txnId),
      ...wires.map(({ dial, accept }) => dial.heard.length + accept.heard.length),
    ].join();
  for (let quiet = 0, last = ""; quiet < 30; ) {
    await pause();
    const now = sum();
    quiet = now === last ? quiet + 1 : 0;
    last = now;
  }
}

/** The entries of documents that a side was sent. */
export function entriesOf({ heard }: WireEnd): DocumentEntry[] {
  return heard.flatMap((message) => (message.t === "documents" ? message.entries : []));
}

function nameOf(id: Value): string {
  return typeof id === "string" ? id : stringifyJson(id);
}

/** Kinds and ids of these entries. */
export function briefly(entries: readonly DocumentEntry[]): string[] {
  return entries.map(([kind, id]) => `${kind} ${nameOf(id)}`);
}

/** The documents of a collection by id, as readers see them. */
export function shown({ store }: LinkedStore, collection = "cars"): { [id: string]: Value } {
  const all: { [id: string]: Value } = {};
  store.read((snapshot) => {
    for (const { id, fields } of snapshot.scan(collection)) all[nameOf(id)] = fields;
  });
  return all;
}

/** The replicated states of all documents of a collection that show, in canonical bytes. */
export function states({ store }: LinkedStore, collection = "cars"): { [id: string]: string } {
  const all: { [id: string]: string } = {};
  store.read((snapshot) => {
    for (const { id } of snapshot.scan(collection)) {
      const bytes = stateToBytes(snapshot.state(collection, id).state);
      all[nameOf(id)] = Buffer.from(bytes).toString("hex");
    }
  });
  return all;
}
