/**
 * Recovery: reads a store from IndexedDB when it is opened: its pages, then the commits of the log
 * after them.
 *
 * Everything comes from one transaction, so from one state. Requests for all pages are made at once:
 * the browser reads the next ones while this checks the keys of those before.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Change } from "./entry-list.ts";
import {
  checkMeta,
  META_KEY,
  type MetaRecord,
  nameOf,
  resultOf,
  STORES,
} from "./indexed-database.ts";
import type { IndexedDatabase, IndexedDb, IndexedKey, IndexedStore } from "./indexed-db.ts";
import { decodeLogRecord } from "./log-record.ts";
import { checkPageOrder, decodePage, type StoredPage } from "./page-record.ts";
import { type Page, PageTable } from "./page-table.ts";
import { corruptRecord } from "./stored-value.ts";

export interface RecoveredStore {
  readonly meta: MetaRecord;
  /** The pages as they are in IndexedDB. */
  readonly pages: readonly Page[];
  /** The newest state: the pages and the log. */
  readonly table: PageTable;
  /** The number of the last commit. */
  readonly sequence: number;
  readonly logSize: number;
  readonly logCount: number;
}

const PAGES_PER_REQUEST = 8;
const LOG_RECORDS_PER_REQUEST = 512;

/** Throws `store.foreign`, `store.format_newer` or `store.corrupt`. */
export async function recoverStore(
  database: IndexedDatabase,
  db: IndexedDb,
  name: string,
): Promise<RecoveredStore> {
  const missing = Object.values(STORES).find((store) => !database.objectStoreNames.contains(store));
  if (missing !== undefined) {
    const message = `the database ${name} does not belong to Big Peer: it has no store ${missing}`;
    throw new PeerError("store.foreign", message);
  }
  const transaction = database.transaction(Object.values(STORES), "readonly");
  const [meta, page, log] = [STORES.meta, STORES.page, STORES.log].map((each) =>
    transaction.objectStore(each),
  ) as [IndexedStore, IndexedStore, IndexedStore];
  const checked = resultOf(meta.get(META_KEY)).then((stored) => checkMeta(stored, name));
  const reading = [
    checked,
    readAll(page, db, { each: PAGES_PER_REQUEST, decode: decodePage }),
    readAll(log, db, { each: LOG_RECORDS_PER_REQUEST, decode: decodeCommit }),
  ] as const;
  try {
    return assemble(...(await Promise.all(reading)));
  } catch (error) {
    // A database that is not of this format has no damaged records.
    throw readFault(
      await checked.then(
        () => error,
        (fault: unknown) => fault,
      ),
    );
  }
}

/** A record of the log. */
export interface LoggedCommit {
  readonly sequence: number;
  readonly changes: readonly Change[];
  readonly size: number;
}

export function decodeCommit(sequence: number, stored: unknown): LoggedCommit {
  const changes = decodeLogRecord(sequence, stored);
  return { sequence, changes, size: (stored as Uint8Array).length };
}

interface Reading<Key, T> {
  /** Records that one request reads. */
  readonly each: number;
  readonly decode: (key: Key, stored: unknown) => T;
}

/** All records in order. Their keys are known first, so that all requests can be made at once. */
async function readAll<Key extends IndexedKey, T>(
  store: IndexedStore,
  db: IndexedDb,
  { each, decode }: Reading<Key, T>,
): Promise<T[]> {
  const keys = (await resultOf(store.getAllKeys())) as Key[];
  const requests: Promise<T[]>[] = [];
  for (let start = 0; start < keys.length; start += each) {
    const some = keys.slice(start, start + each);
    const range = db.IDBKeyRange.bound(some[0] as Key, some.at(-1) as Key, false, false);
    const decodeSome = (values: unknown[]): T[] =>
      some.map((key, index) => decode(key, values[index]));
    requests.push(resultOf(store.getAll(range)).then(decodeSome));
  }
  return (await Promise.all(requests)).flat();
}

/** The store that the records make. */
export function assemble(
  meta: MetaRecord,
  pages: readonly StoredPage[],
  commits: readonly LoggedCommit[],
): RecoveredStore {
  checkPageOrder(pages);
  const changes = new Map<string, Change[1]>();
  let { sequence } = meta;
  let logSize = 0;
  for (const commit of commits) {
    if (commit.sequence !== sequence + 1) {
      throw corruptRecord(`log record ${sequence + 1} of the database`);
    }
    sequence++;
    for (const [key, value] of commit.changes) changes.set(key, value);
    logSize += commit.size;
  }
  const table = new PageTable(pages).with(changes);
  return { meta, pages, table, sequence, logSize, logCount: commits.length };
}

/** A browser that cannot read what it stored reports it with an error of its own. */
function readFault(error: unknown): unknown {
  if (error instanceof PeerError || nameOf(error) === "AbortError") return error;
  const message = `failed to read the database: ${String(error)}`;
  return new PeerError("store.corrupt", message, { cause: error });
}
