/**
 * StoreFolder: opens and closes a store in a folder: LMDB with a journal below, the engine's store
 * above, and the check that the folder is no copy of another incarnation.
 *
 * The caller holds the lock of the folder. The order of the steps matters: the format is checked
 * (and an older one migrated) before the identity is renewed, and the incarnation is recorded after
 * the identity is durable; for a new store the file is recorded before. The journal starts last: an
 * older version of the software, which knows no journal, refuses the format first.
 */

import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Key, KeyValue, Platform, Snapshot } from "@bigpeer/engine";
import {
  type AcceptedRest,
  checkFormat,
  identityIn,
  readIdentity,
  renewIdentity,
  Store,
  type StoreOptions,
  StoreSnapshot,
  type VerifyReport,
  type View,
  verify,
} from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import {
  beginIncarnation,
  findLostIncarnation,
  forgetIncarnation,
  hasIncarnation,
  recordIncarnation,
  type Standing,
} from "./incarnation.ts";
import { type JournaledLmdb, openJournaled } from "./journal/journaled-key-value.ts";
import { type JournaledReader, readJournaled } from "./journal/journaled-reader.ts";
import type { TableOptions } from "./journal/table-key-value.ts";
import { DATA_FILE, type Meta, newestMeta } from "./lmdb/lmdb-file.ts";
import { FIRST_KEY } from "./lmdb/lmdb-tree.ts";
import { checkPages, type PageReport } from "./lmdb/page-check.ts";
import { type LoggedLmdb, openLogged } from "./replica/logged-key-value.ts";

/** Long enough to read a very large store from end to end. */
const READ_MS_MAX = 7 * 86_400_000;

/** Receives messages for the operator that need no action by the caller. */
export type StoreLog = (level: "info" | "warn", message: string) => void;

/** Resources that all stores of a process share. */
export interface StoreHost {
  readonly platform: Platform;
  readonly log: StoreLog;
  readonly options: StoreOptions;
  /** Opens the store on its storage, for a host that wraps the store. */
  readonly open?: (storage: KeyValue) => Promise<Store>;
}

/** A store that is open for writing. */
export class StoreFolder {
  readonly store: Store;
  readonly folder: string;
  readonly #storage: JournaledLmdb;
  readonly #log: StoreLog;
  #closing: Promise<void> | undefined;

  constructor(folder: string, storage: JournaledLmdb, store: Store, log: StoreLog) {
    this.folder = folder;
    this.#storage = storage;
    this.store = store;
    this.#log = log;
    storage.startJournal();
  }

  /** Records the progress of the store, so that an older data file is recognised. */
  recordIncarnation(): void {
    try {
      recordIncarnation(this.folder, standingOf(this.store));
    } catch (error) {
      // The previous record still holds, only less precisely; a full disk must not stop more.
      const reason = error instanceof Error ? error.message : String(error);
      this.#log("warn", `failed to write life.json in ${this.folder}: ${reason}`);
    }
  }

  /**
   * Adds checksums to records that an older version wrote without, piece by piece, until all have
   * one or the store is closed.
   */
  async protect(): Promise<void> {
    let from: Key | undefined = FIRST_KEY;
    while (from !== undefined && this.#closing === undefined) {
      from = await this.#storage.addChecksums(from);
      // Waiting work goes first.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Finishes accepted requests, then closes the files. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.store.close();
      this.recordIncarnation();
    } finally {
      await this.#storage.close();
    }
  }
}

/** Creates the store in `folder`, or opens the existing one. */
export async function createStore(folder: string, host: StoreHost): Promise<StoreFolder> {
  removeUnfinished(folder);
  const storage = await openJournaled(folder, openingOptions(folder, host));
  try {
    if (readIdentity(storage) !== undefined) return await openLife(folder, storage, host);
    beginIncarnation(folder);
    const store = await storeOn(storage, host);
    recordIncarnation(folder, standingOf(store));
    return new StoreFolder(folder, storage, store, host.log);
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** Opens an existing store: an empty one in its place would hide that it was lost. */
export async function openStore(folder: string, host: StoreHost): Promise<StoreFolder> {
  if (!existsSync(join(folder, DATA_FILE))) throw missingStore(folder);
  const storage = await openJournaled(folder, openingOptions(folder, host));
  try {
    if (readIdentity(storage) === undefined) throw missingStore(folder);
    return await openLife(folder, storage, host);
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/**
 * Opens, or creates, the storage of a store that follows the log of a cluster. It does not open the
 * store, whose identity comes from the log.
 *
 * Such a folder has no record of an incarnation. Before the first commit of a store that follows a
 * log from now on, the caller removes the record with forgetIncarnation.
 */
export async function openReplicaStorage(
  folder: string,
  host: Pick<StoreHost, "log">,
): Promise<LoggedLmdb> {
  removeUnfinished(folder);
  const storage = await openLogged(folder, openingOptions(folder, host));
  try {
    if (storage.position !== undefined) forgetIncarnation(folder);
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** Reads one state of the store in `folder`, also beside the process that writes it. */
export async function readStore<T>(folder: string, work: (view: View) => T): Promise<T> {
  const storage = readJournaled(folder, { snapshotLifeMs: READ_MS_MAX });
  try {
    const identity = readIdentity(storage);
    if (identity === undefined) throw missingStore(folder);
    const snapshot = new StoreSnapshot(storage.snapshot(), identity);
    try {
      return work(snapshot);
    } finally {
      snapshot.close();
    }
  } finally {
    await storage.close();
  }
}

/** Receives the progress of a verification. */
export interface VerifyHost {
  /** Called from time to time with the key or page reached. */
  tick(place: string): void;
  /** Called before LMDB itself reads the file, which may crash the process. */
  pagesChecked(report: PageReport): void;
}

/**
 * Verifies one state of the store in `folder`, also beside the process that writes it. LMDB may
 * crash the process if its file is damaged, so run this in a process of its own.
 */
export async function verifyStore(folder: string, host: VerifyHost): Promise<VerifyReport> {
  const storage = readJournaled(folder, { snapshotLifeMs: READ_MS_MAX });
  try {
    const { snapshot, meta } = pinned(storage, join(folder, DATA_FILE));
    try {
      const path = join(folder, DATA_FILE);
      host.pagesChecked(checkPages(path, meta, (count) => host.tick(`${count} pages`)));
      return verify(snapshot, (key) => host.tick(`key ${key}`));
    } finally {
      snapshot.close();
    }
  } finally {
    await storage.close();
  }
}

/** The newest state twice: as a snapshot, which keeps its pages, and as its meta page. */
function pinned(storage: JournaledReader, path: string): { snapshot: Snapshot; meta: Meta } {
  for (;;) {
    const before = newestMeta(path);
    const snapshot = storage.snapshot();
    const meta = newestMeta(path);
    if (before.id === meta.id) return { snapshot, meta };
    snapshot.close();
  }
}

function openingOptions(folder: string, { log }: Pick<StoreHost, "log">): TableOptions {
  return {
    checkTree: (tree) => {
      const identity = identityIn(tree);
      if (identity !== undefined) checkFormat(identity);
    },
    onReplay: (step, { entries, bytes }) => {
      const found = `${entries} writes of ${bytes} bytes`;
      const message =
        step === "begins"
          ? `the store in ${folder} was not closed cleanly: its journal has ${found}, which are applied now`
          : `the store in ${folder} has all ${found} of its journal`;
      log("info", message);
    },
  };
}

async function openLife(
  folder: string,
  storage: JournaledLmdb,
  host: StoreHost,
): Promise<StoreFolder> {
  const { platform, log } = host;
  const store = await storeOn(storage, host);
  const reason = findLostIncarnation(folder, standingOf(store));
  if (reason === undefined) {
    const opened = new StoreFolder(folder, storage, store, log);
    opened.recordIncarnation();
    return opened;
  }
  await store.close();
  await renewIdentity(storage, platform);
  const renewed = await storeOn(storage, host);
  recordIncarnation(folder, standingOf(renewed));
  const { historyId } = renewed.identity;
  log("warn", `this folder is a copy: ${folder}, ${reason}; it begins the history ${historyId}`);
  return new StoreFolder(folder, storage, renewed, log);
}

/**
 * Removes an empty data file: LMDB creates its file, then writes; a process killed in between
 * leaves it empty. Where an incarnation was recorded it is damage, which must not be hidden.
 */
function removeUnfinished(folder: string): void {
  const path = join(folder, DATA_FILE);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === 0 && !hasIncarnation(folder)) rmSync(path);
}

async function storeOn(storage: JournaledLmdb, host: StoreHost): Promise<Store> {
  const { platform, options, open, log } = host;
  const store = await (open === undefined ? Store.open(storage, platform, options) : open(storage));
  if (store.rest !== undefined) log("warn", restWarning(store.rest));
  return store;
}

function restWarning({ days, fromMs }: AcceptedRest): string {
  const last = new Date(fromMs).toISOString();
  return (
    `the last write was ${days} days ago, at ${last}, by the clock of this machine; if the clock is wrong ` +
    "(date -u), stop the server before anything is written, and start it again with the right time"
  );
}

function missingStore(folder: string): PeerError {
  return new PeerError("store.corrupt", `expected a store in ${folder}, found none`);
}

function standingOf(store: Store): Standing {
  const { historyId } = store.identity;
  return { historyId, txnId: store.read((snapshot) => snapshot.txnId) };
}
