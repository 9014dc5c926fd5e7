/**
 * Stores for generated permissions, and the rules as the slow obvious evaluator understands them.
 */

import { documentId, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { AccessRule } from "../../src/query/permission/permissions.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { parseFilter } from "../../src/query/syntax/parse-filter.ts";
import type { Expression } from "../../src/query/syntax/tree.ts";
import { attachmentReferences } from "../../src/store/attachment-view.ts";
import { documentKey, metaKey } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import type { StoredDocument } from "../../src/store/view.ts";
import { holds } from "../query/oracle/expression.ts";
import { oracleRun } from "../query/oracle/oracle-run.ts";
import { dump, type OpenStore, openStore } from "./open-store.ts";
import { CALLER } from "./permission-content.ts";
import { COLLECTIONS, type FuzzWorld, type PastDocument } from "./permission-fuzz.ts";
import { Random } from "./random.ts";
import { testPlatform } from "./test-platform.ts";

/** A document in its collection. */
export interface Placed extends StoredDocument {
  readonly collection: string;
}

export interface Peer extends OpenStore {
  readonly runner: StatementRunner;
  /** The same with so little memory that many statements end for want of it. */
  readonly tight: StatementRunner;
  /** What is drawn from now on depends on the number alone. */
  readonly reseed: (seed: number) => void;
}

const TIGHT_BYTES = 4096;

/** A few documents of the worlds are told to be large. */
const SETTINGS: ValueObject = { document_size_soft_limit_bytes: 1024 };

export async function openPeer(disk: MemoryDisk = new MemoryDisk()): Promise<Peer> {
  let random = new Random(1);
  const draw = (size: number): Uint8Array =>
    Uint8Array.from({ length: size }, () => random.below(256));
  const opened = await openStore({}, Object.assign(testPlatform(), { random: draw }), disk);
  const { store, platform } = opened;
  const options = { store, platform, appId: "fuzz", settings: SETTINGS };
  const runner = new StatementRunner(options);
  const tight = new StatementRunner({ ...options, limits: { bytes: TIGHT_BYTES } });
  const reseed = (seed: number): void => {
    random = new Random(seed);
  };
  return { ...opened, runner, tight, reseed };
}

/** Another store with the same content; what is tried out on it can be forgotten. */
export async function copyOf({ storage }: Peer): Promise<Peer> {
  const disk = new MemoryDisk();
  await disk.write(disk.mount(), dump(storage));
  return openPeer(disk);
}

export function keyOf(collection: string, id: Value): string {
  return `${collection}/${documentId(id).key}`;
}

/** All documents by their key. */
export function documentsOf({ store }: Peer): Map<string, Placed> {
  return store.read((view) => {
    const all = new Map<string, Placed>();
    for (const collection of COLLECTIONS) {
      for (const { id, fields, types } of view.scan(collection)) {
        all.set(keyOf(collection, id), { collection, id, fields, types });
      }
    }
    return all;
  });
}

/** What the storage keeps of a document. */
export function recordsOf({ store }: Peer, { collection, id }: Placed): unknown {
  return store.read((view) => {
    const number = view.collectionNumber(collection) ?? 0;
    const { key } = documentId(id);
    return [view.reader.get(documentKey(number, key)), view.reader.get(metaKey(number, key))];
  });
}

export async function evict({ store }: Peer, documents: readonly Placed[]): Promise<void> {
  if (documents.length === 0) return;
  await store.transact((transaction) =>
    transaction.apply(documents.map(({ collection, id }) => ({ kind: "evict", collection, id }))),
  );
}

/** Repeats the past of documents. */
export async function fillPeer(peer: Peer, documents: readonly PastDocument[]): Promise<void> {
  for (const { steps } of documents) {
    for (const { statement, args } of steps) {
      try {
        await peer.runner.execute({ statement, args });
      } catch (error) {
        // A step that the document cannot take is not taken by it anywhere.
        if (!(error instanceof PeerError)) throw error;
      }
    }
  }
}

/** The collections that have documents. */
export function namesOf(peer: Peer): Set<string> {
  return new Set([...documentsOf(peer).values()].map(({ collection }) => collection));
}

export async function indexPeer(
  peer: Peer,
  { indexes }: FuzzWorld,
  names: Iterable<string>,
): Promise<void> {
  for (const name of names) {
    for (const [i, keys] of indexes.entries()) {
      await peer.runner.execute({ statement: `CREATE INDEX i${i} ON ${name} (${keys})` });
    }
  }
}

export async function unindexPeer(
  peer: Peer,
  { indexes }: FuzzWorld,
  names: Iterable<string>,
): Promise<void> {
  for (const name of names) {
    for (const i of indexes.keys()) {
      await peer.runner.execute({ statement: `DROP INDEX i${i} ON ${name}` });
    }
  }
}

const parsed = new Map<string, Expression>();
const run = oracleRun({});

function isTrueFor(query: string, document: StoredDocument): boolean {
  const filter = parsed.get(query) ?? parseFilter(query);
  parsed.set(query, filter);
  const fields = { ...document.fields, _id: document.id };
  return holds(filter, { run, documents: new Map([["", fields]]), variables: [] });
}

export function hasRule(rule: AccessRule, collection: string): boolean {
  return rule.everything || (rule.queriesByCollection[collection] ?? []).length > 0;
}

/** Whether a rule allows a document: any of its queries is true for it. */
export function allows(rule: AccessRule, document: Placed): boolean {
  if (rule.everything) return true;
  const queries = rule.queriesByCollection[document.collection] ?? [];
  return queries.some((query) => isTrueFor(query, document));
}

/** The ids of contents that a document refers to, by its marks. */
export function tokensOf({ fields, types }: StoredDocument): string[] {
  return marked(fields, types);
}

function marked(value: Value | undefined, mark: unknown): string[] {
  if (!isObject(value)) return [];
  const { id } = value;
  if (mark === "attachment") return typeof id === "string" ? [id] : [];
  if (typeof mark !== "object" || mark === null) return [];
  return Object.entries(mark).flatMap(([name, inner]) => marked(value[name], inner));
}

/**
 * Whether he brought a content or may read a document that refers to it. The store holds only what
 * he may read; a document is readable as a whole, with what declared types would show of it.
 */
export function mayReadContent(world: FuzzWorld, { store }: Peer, id: string): boolean {
  const { read, contents } = world;
  const isHis = contents.some((content) => content.id === id && content.by === CALLER);
  const isReferred = store.read((view) => [...attachmentReferences(view, id, 1)].length > 0);
  return read.everything || isHis || isReferred;
}
