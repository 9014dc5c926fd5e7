/**
 * Identity: the history id, site and format version of one incarnation of a store.
 *
 * A cursor is (historyId, txnId); a stamp is (time, site). Both become ambiguous when a store is
 * restored from a backup or copied and continues unchanged. So every restore and copy starts a new
 * incarnation: a new historyId, a new site, and transaction ids above all that the old one can have
 * issued (K26). No store may upload under the site of a former incarnation (K75).
 */

import { EPOCH_MS, PeerError, siteOfBytes, type Value } from "@bigpeer/protocol";
import { MAINTENANCE_BATCH } from "../limits.ts";
import type { Key, KeyValue, Platform, Reader, Writes } from "../platform.ts";
import { HEAD_KEY, IDENTITY_KEY, transactionRange } from "./keys.ts";
import { FIRST_HEAD, type Head, type Identity, readHead } from "./records.ts";
import { serverSiteKey } from "./server-sites.ts";

/** The version of the storage format that this code writes. */
export const FORMAT_VERSION = 4;

/** Migrates a store from format `from` to `from + 1`; writes and new number are one commit. */
export interface Migration {
  readonly from: number;
  migrate(storage: KeyValue): Map<Key, Value | undefined>;
}

/**
 * Every migration since the first format, in order.
 *
 * 1 → 2: records have checksums. The storage adds them to older records in the background, so the
 * migration changes only the number, which keeps older versions of the software out.
 *
 * 2 → 3: a storage may have a journal, without which its tree is not complete. Again only the number
 * changes.
 *
 * 3 → 4: a transaction of the log may name its writer, which older versions would drop. Again only
 * the number changes: older transactions have no name.
 */
export const MIGRATIONS: readonly Migration[] = [1, 2, 3].map((from) => ({
  from,
  migrate: () => new Map(),
}));

export interface Format {
  readonly version: number;
  readonly migrations: readonly Migration[];
}

export const CURRENT_FORMAT: Format = { version: FORMAT_VERSION, migrations: MIGRATIONS };

export function readIdentity(storage: Pick<KeyValue, "snapshot">): Identity | undefined {
  const snapshot = storage.snapshot();
  try {
    return identityIn(snapshot);
  } finally {
    snapshot.close();
  }
}

/** Throws `store.format_newer` or `store.corrupt` if a store is not of this format or an older one. */
export function checkFormat(identity: Identity, version: number = FORMAT_VERSION): void {
  if (typeof identity.format !== "number") {
    throw new PeerError("store.corrupt", "expected the identity of a store");
  }
  if (identity.format > version) {
    const message =
      `the store has format ${identity.format}, this version reads up to ${version}; ` +
      "use the version that wrote it, or a newer one";
    throw new PeerError("store.format_newer", message);
  }
}

/** The identity in a store; undefined when it is empty. */
export function identityIn(reader: Pick<Reader, "get">): Identity | undefined {
  return reader.get(IDENTITY_KEY) as Identity | undefined;
}

/** The identity of a store in the current format: created if new, migrated if old. */
export async function openIdentity(
  storage: KeyValue,
  platform: Platform,
  format: Format = CURRENT_FORMAT,
): Promise<Identity> {
  const identity = readIdentity(storage);
  if (identity === undefined) return createIdentity(storage, platform, format.version);
  checkFormat(identity, format.version);
  return migrate(storage, identity, format);
}

/** Starts a new incarnation of a restored or copied store. The old change log is dropped. */
export async function renewIdentity(storage: KeyValue, platform: Platform): Promise<Identity> {
  const before = readIdentity(storage);
  if (before === undefined) throw new PeerError("store.foreign", "expected a store, found none");
  await dropLog(storage);
  const head = headOf(storage);
  const microseconds = (platform.now() - EPOCH_MS) * 1000;
  const txnId = Math.max(head.txnId + 1, Math.floor(microseconds));
  const identity = newIdentity(platform, before.format);
  const renewed: Head = { ...head, txnId, floor: txnId, logCount: 0, logBytes: 0 };
  await storage.commit(
    new Map<Key, Value>([
      [IDENTITY_KEY, identity],
      [HEAD_KEY, renewed],
      [serverSiteKey(before.site), true],
    ]),
  );
  return identity;
}

async function createIdentity(
  storage: KeyValue,
  platform: Platform,
  format: number,
): Promise<Identity> {
  refuseForeign(storage);
  const identity = newIdentity(platform, format);
  await storage.commit(firstWrites(identity));
  return identity;
}

/** What a new store of this identity consists of. */
export function firstWrites(identity: Identity): Writes {
  return new Map<Key, Value>([
    [IDENTITY_KEY, identity],
    [HEAD_KEY, FIRST_HEAD],
  ]);
}

/** Refuses a storage that has keys but no identity: it holds foreign data, which stays as it is. */
function refuseForeign(storage: KeyValue): void {
  const snapshot = storage.snapshot();
  try {
    for (const _ of snapshot.keys({ from: "\x00", to: "\xff" })) {
      throw new PeerError("store.foreign", "expected a store or nothing, found other data");
    }
  } finally {
    snapshot.close();
  }
}

export function newIdentity(platform: Platform, format: number = FORMAT_VERSION): Identity {
  let historyId = "";
  for (const byte of platform.random(16)) historyId += byte.toString(16).padStart(2, "0");
  return { format, historyId, site: siteOfBytes(platform.random(8)) };
}

async function migrate(storage: KeyValue, identity: Identity, format: Format): Promise<Identity> {
  let current = identity;
  while (current.format < format.version) {
    const step = format.migrations.find((migration) => migration.from === current.format);
    if (step === undefined) {
      const message = `no migration leads from format ${current.format} to ${format.version}`;
      throw new PeerError("store.foreign", message);
    }
    current = { ...current, format: current.format + 1 };
    const writes = step.migrate(storage);
    writes.set(IDENTITY_KEY, current);
    await storage.commit(writes);
  }
  return current;
}

function headOf(storage: KeyValue): Head {
  const snapshot = storage.snapshot();
  try {
    return readHead(snapshot.get(HEAD_KEY));
  } finally {
    snapshot.close();
  }
}

async function dropLog(storage: KeyValue): Promise<void> {
  for (;;) {
    const snapshot = storage.snapshot();
    const writes = new Map<Key, undefined>();
    for (const key of snapshot.keys(transactionRange(0, Number.MAX_SAFE_INTEGER - 1))) {
      writes.set(key, undefined);
      if (writes.size === MAINTENANCE_BATCH) break;
    }
    snapshot.close();
    if (writes.size === 0) return;
    await storage.commit(writes);
  }
}
