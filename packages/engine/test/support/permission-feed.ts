/**
 * The change feed of a generated world: what a caller with rules gets, beside what the slow obvious
 * evaluator says that it may read before and after each transaction.
 *
 * There is a reader that was there from the beginning, one that comes at the end and reads the log,
 * and one that asks for the rows at the end; each of all collections and of one.
 */

import { isDeepStrictEqual } from "node:util";
import { PeerError, parseJson, stringifyJson, type Value } from "@bigpeer/protocol";
import { ChangeFeed } from "../../src/changes/change-feed.ts";
import type { ChangeLine, ChangeReader } from "../../src/changes/reader.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { CALLER } from "./permission-content.ts";
import { COLLECTIONS, type FuzzWorld } from "./permission-fuzz.ts";
import {
  allows,
  documentsOf,
  hasRule,
  keyOf,
  openPeer,
  type Peer,
  type Placed,
} from "./permission-peer.ts";

/** How the caller sees the change of a document. */
interface SeenChange {
  readonly types: readonly string[];
  readonly document: Value;
  readonly before: Value;
}

interface OpenedReader {
  readonly reader: ChangeReader;
  /** Undefined for all collections. */
  readonly collection: string | undefined;
}

/** By transaction, then by document. */
type SeenChanges = Map<number, Map<string, SeenChange>>;

/** Counts what was compared. */
export interface FeedTally {
  lines: number;
  /** Changes of documents that the caller must not see. */
  hidden: number;
  refused: number;
}

/** Turns of the event loop after which a reader that waits has nothing more. */
const TURNS = 100;

/** What differs first, as text. */
export async function feedDifference(
  world: FuzzWorld,
  tally: FeedTally,
): Promise<string | undefined> {
  const peer = await openPeer();
  const { store, platform } = peer;
  const feed = new ChangeFeed({ store, platform, appId: "fuzz" });
  const { read, write } = world;
  const authority = new Authority({ read, write, remoteQuery: false }, CALLER);
  try {
    for (const collection of [undefined, ...COLLECTIONS]) {
      const found = refusalDifference(feed, authority, world, collection);
      if (found !== undefined) return found;
    }
    const names = COLLECTIONS.filter((name) => hasRule(read, name));
    tally.refused += COLLECTIONS.length - names.length;
    const requests = [undefined, ...names].map((collection) => ({ collection, authority }));
    const live = requests.map((request) => ({ request, reader: feed.open(request) }));
    const seen = await playWorld(peer, world, tally);
    for (const { request, reader } of live) {
      const found = await readerDifference({ reader, ...request }, seen, world, tally);
      if (found !== undefined) return `of a reader from the beginning: ${found}`;
    }
    for (const request of requests) {
      const late = feed.open({ ...request, since: "0" });
      const found = await readerDifference({ reader: late, ...request }, seen, world, tally);
      if (found !== undefined) return `of a reader of the log: ${found}`;
      const rows = feed.open({ ...request, isInitial: true });
      const differing = await rowsDifference(rows, peer, request.collection, world);
      if (differing !== undefined) return `of the rows at the beginning: ${differing}`;
    }
    return undefined;
  } finally {
    feed.close();
    await store.close();
  }
}

function refusalDifference(
  feed: ChangeFeed,
  authority: Authority,
  { read }: FuzzWorld,
  collection: string | undefined,
): string | undefined {
  const isRefused = collection !== undefined && !hasRule(read, collection);
  try {
    feed.open({ collection, authority }).close();
  } catch (error) {
    if (!(error instanceof PeerError) || error.code !== "permission.denied") throw error;
    return isRefused ? undefined : `expected a reader of ${collection}, found ${error.message}`;
  }
  return isRefused ? `expected that a reader of ${collection} is refused` : undefined;
}

/** Repeats the past of the documents, and notes what the caller may see of each transaction. */
async function playWorld(peer: Peer, world: FuzzWorld, tally: FeedTally): Promise<SeenChanges> {
  const seen: SeenChanges = new Map();
  const by = { credential: "writer" };
  let before = documentsOf(peer);
  for (const { steps } of world.documents) {
    for (const { statement, args } of steps) {
      try {
        await peer.runner.execute({ statement, args, by });
      } catch (error) {
        // A step that the document cannot take is not taken by it anywhere.
        if (!(error instanceof PeerError)) throw error;
      }
      // A step without an effect is no transaction.
      if (seen.has(peer.store.txnId)) continue;
      const after = documentsOf(peer);
      seen.set(peer.store.txnId, seenChanges(world, before, after, tally));
      before = after;
    }
  }
  return seen;
}

function seenChanges(
  { read }: FuzzWorld,
  before: ReadonlyMap<string, Placed>,
  after: ReadonlyMap<string, Placed>,
  tally: FeedTally,
): Map<string, SeenChange> {
  const changes = new Map<string, SeenChange>();
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [old, next] = [before.get(key), after.get(key)];
    if (isDeepStrictEqual(old?.fields, next?.fields)) continue;
    const was = old !== undefined && allows(read, old);
    const is = next !== undefined && allows(read, next);
    if (!was && !is) tally.hidden++;
    if (!was && !is) continue;
    const gone = next === undefined ? ["delete", "leave"] : ["leave"];
    changes.set(key, {
      types: is ? [was ? "update" : "insert"] : gone,
      document: is ? wholeOf(next) : null,
      before: was ? wholeOf(old) : null,
    });
  }
  return changes;
}

async function readerDifference(
  { reader, collection }: OpenedReader,
  seen: SeenChanges,
  { read }: FuzzWorld,
  tally: FeedTally,
): Promise<string | undefined> {
  const found = new Map<string, ChangeLine>();
  for (const line of await drain(reader)) {
    const key = `${line.txnId} ${keyOf(line.collection, line.id)}`;
    // What was written again without a change may be read before and after.
    const isSame = line.type === "update" && isDeepStrictEqual(line.document, line.before);
    if (!isSame || seen.get(line.txnId)?.has(keyOf(line.collection, line.id)) === true) {
      found.set(key, line);
    }
    if (!read.everything && line.by !== null) return `expected no writer at ${key}`;
  }
  for (const [txnId, changes] of seen) {
    for (const [name, expected] of changes) {
      if (collection !== undefined && !name.startsWith(`${collection}/`)) continue;
      const key = `${txnId} ${name}`;
      const line = found.get(key);
      found.delete(key);
      tally.lines++;
      if (line === undefined) return `expected a line for ${key}, found none`;
      if (!expected.types.includes(line.type)) {
        return `expected ${expected.types.join(" or ")} for ${key}, found ${line.type}`;
      }
      const { document = null, before = null } = line;
      if (isDeepStrictEqual([plain(document), plain(before)], [expected.document, expected.before]))
        continue;
      const { document: whole, before: former } = expected;
      return `expected ${shown(whole)} after ${shown(former)} for ${key}, found ${shown(document)} after ${shown(before)}`;
    }
  }
  const [more] = found;
  return more && `expected no line for ${more[0]}, found ${shown(more[1] as unknown as Value)}`;
}

async function rowsDifference(
  reader: ChangeReader,
  peer: Peer,
  collection: string | undefined,
  { read }: FuzzWorld,
): Promise<string | undefined> {
  const lines = await drain(reader);
  const found = new Map(lines.map((line) => [keyOf(line.collection, line.id), line.document]));
  for (const [key, document] of documentsOf(peer)) {
    if (collection !== undefined && document.collection !== collection) continue;
    const row = found.get(key);
    found.delete(key);
    const isRead = allows(read, document);
    if (isRead !== (row !== undefined)) {
      return `expected ${isRead ? "a row" : "no row"} for ${key}, found the opposite`;
    }
    if (row !== undefined && !isDeepStrictEqual(plain(row), wholeOf(document))) {
      return `expected ${shown(wholeOf(document))} for ${key}, found ${shown(row)}`;
    }
  }
  const [more] = found.keys();
  return more && `expected no row for ${more}`;
}

/** Everything until the reader waits. */
async function drain(reader: ChangeReader): Promise<ChangeLine[]> {
  const lines: ChangeLine[] = [];
  for (;;) {
    const next = reader.next();
    const state = { isSettled: false };
    const settle = (): void => {
      state.isSettled = true;
    };
    void next.then(settle, settle);
    for (let turns = 0; turns < TURNS && !state.isSettled; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!state.isSettled) reader.wake();
    const batch = await next;
    lines.push(...batch.lines.flatMap(({ change }) => change ?? []));
    if (batch.lines.length > 0 || !batch.isCurrent) continue;
    reader.close();
    return lines;
  }
}

function wholeOf({ id, fields }: Placed): Value {
  return plain({ _id: id, ...fields });
}

/** Without what only the representation of a value differs in. */
function plain(value: Value): Value {
  return parseJson(stringifyJson(value));
}

function shown(value: Value): string {
  return stringifyJson(value);
}
