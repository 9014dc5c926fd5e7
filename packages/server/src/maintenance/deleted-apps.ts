/**
 * Deleted apps: removes the data of deleted apps after a grace period, in which they can be
 * restored.
 *
 * The start of the removal is recorded first, with its time; from then on the app cannot be
 * restored. Then the folder is removed, then the record in the registry, so a crash only repeats
 * the work. A folder without such a record is never touched.
 *
 * In a cluster, the node that evaluates the registry decides. Every other node removes its own folder
 * when the removal has begun, and later if it was away: the log of the app is gone then.
 */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import { appFolder, appIdsInFolder } from "../config/data-folder.ts";
import { isElsewhere } from "../http/refusal.ts";
import { describeError, type Log } from "../observability/log.ts";
import { type DeletedApp, isAppId } from "../registry/app.ts";
import type { Registry } from "../registry/registry.ts";
import { HOUR_MS } from "./periodic-task.ts";

export interface DeletedAppsHost {
  readonly dataDir: string;
  readonly registry: Pick<Registry, "apps" | "storeFolder">;
  readonly apps: Pick<OpenApps, "closeApp">;
  /** Grace period of the data of a deleted app. */
  readonly appGraceMs: number;
  /** The wall clock. */
  readonly now: () => number;
  readonly log: Log;
  /** The cluster that the server is a node of; left out on one machine. */
  readonly cluster?: PurgedLogs | undefined;
}

/** The logs of apps whose data is removed. */
export interface PurgedLogs {
  /** Removes the log of an app whose removal was decided. */
  readonly removeLog: (appId: string) => Promise<void>;
  /** What the folder of an app is that the registry does not know. */
  readonly folderOf: (appId: string) => Promise<UnknownFolder>;
}

/** `purged`: its log was removed. `young`: its app may be being created. `other`: it stays. */
export type UnknownFolder = "purged" | "young" | "other";

const CLUSTER_GRACE_MS_MIN = 60_000;

/** When a folder of an unknown app that was young is looked at again. */
const LOOK_AGAIN_MS = 60_000;

/** Removes the data of deleted apps when it is due. Stop it before the registry is closed. */
export class DeletedApps {
  readonly #host: DeletedAppsHost;
  readonly #stopWatching: () => void;
  /** Apps whose removal failed; they wait for the next call of `removeDue`. */
  readonly #failed = new Set<string>();
  /** Apps that were among the deleted ones since the start. */
  readonly #seen = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** The look at folders of unknown apps, and when the next one is due. */
  #looking: Promise<void> = Promise.resolve();
  #lookTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(host: DeletedAppsHost) {
    this.#host = host;
    // An app may have been deleted. If a timer is set, another app is due earlier.
    this.#stopWatching = host.registry.storeFolder.store.onCommit(() => {
      if (host.cluster !== undefined) this.#note(this.#read());
      this.#plan();
    });
  }

  /** Removes what is due and what failed before. Errors are logged. */
  async removeDue(): Promise<void> {
    this.#failed.clear();
    await this.#begin();
    await this.#look();
  }

  /** Starts nothing more; resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopWatching();
    clearTimeout(this.#timer);
    clearTimeout(this.#lookTimer);
    await Promise.all([this.#running, this.#looking]);
  }

  #begin(): Promise<void> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined;
      this.#plan();
    });
    return this.#running;
  }

  async #pass(): Promise<void> {
    for (const { id, dueMs } of this.#due()) {
      if (this.#isStopped) return;
      if (this.#failed.has(id) || dueMs > this.#host.now()) continue;
      // Until it is removed, so that it is not tried in a loop.
      this.#failed.add(id);
      if (await this.#remove(id)) this.#failed.delete(id);
    }
  }

  #look(): Promise<void> {
    const { cluster } = this.#host;
    if (cluster !== undefined)
      this.#looking = this.#looking.then(() => this.#removePurged(cluster));
    return this.#looking;
  }

  /** Folders of apps that were removed for good while this node was away. */
  async #removePurged({ folderOf }: PurgedLogs): Promise<void> {
    const { registry, apps, log } = this.#host;
    clearTimeout(this.#lookTimer);
    for (const id of this.#idsInFolder()) {
      if (this.#isStopped || !isAppId(id)) continue;
      try {
        if (isKnown(id, registry)) continue;
        await apps.closeApp(id);
        const found = await folderOf(id);
        log("debug", "a folder belongs to no app", { appId: id, found });
        if (found === "young") this.#lookAgain();
        if (found === "purged" && !isKnown(id, registry)) await this.#removeHere(id);
      } catch (error) {
        // What cannot be proven to be removed stays.
        this.#logUnlessClosed(`failed to look at the folder of the unknown app ${id}`, error);
      }
    }
  }

  /** The next look lists them again if it fails. */
  #idsInFolder(): readonly string[] {
    try {
      return appIdsInFolder(this.#host.dataDir);
    } catch (error) {
      this.#logUnlessClosed("failed to look for folders of unknown apps", error);
      return [];
    }
  }

  #lookAgain(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#lookTimer);
    this.#lookTimer = setTimeout(() => void this.#look(), LOOK_AGAIN_MS);
    this.#lookTimer.unref();
  }

  /** Sets a timer for the next app that is due, unless one is set. */
  #plan(): void {
    if (this.#isStopped || this.#timer !== undefined || this.#running !== undefined) return;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const app of this.#due()) {
      if (!this.#failed.has(app.id)) dueMs = Math.min(dueMs, app.dueMs);
    }
    if (dueMs === Number.POSITIVE_INFINITY) return;
    // The wall clock may be set meanwhile, which timers do not notice.
    const waitMs = Math.min(Math.max(0, dueMs - this.#host.now()), HOUR_MS);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#begin();
    }, waitMs);
    this.#timer.unref();
  }

  #read(): readonly DeletedApp[] | undefined {
    return this.#attempt(() => this.#host.registry.apps.deleted());
  }

  /** Undefined if it fails. */
  #attempt<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#logUnlessClosed("failed to read the deleted apps", error);
      return undefined;
    }
  }

  /** Apps whose data is to be removed, with the time. */
  #due(): DueApp[] {
    const deleted = this.#read();
    if (deleted === undefined) return [];
    this.#note(deleted);
    if (!this.#isDecidedHere) {
      const decided = this.#attempt(() => this.#decided(deleted)) ?? [];
      return decided.map((id) => ({ id, dueMs: 0 }));
    }
    return deleted.map(({ id, deletedAt, isBeingRemoved }) => {
      return { id, dueMs: isBeingRemoved === true ? 0 : deletedAt + this.#graceMs };
    });
  }

  /** Another node may remove an app for good before this one has looked at it again. */
  #note(deleted: readonly DeletedApp[] | undefined): void {
    for (const { id } of deleted ?? []) this.#seen.add(id);
  }

  /** Other nodes need a moment to close an app before its log is removed. */
  get #graceMs(): number {
    const { appGraceMs, cluster } = this.#host;
    return cluster === undefined ? appGraceMs : Math.max(appGraceMs, CLUSTER_GRACE_MS_MIN);
  }

  /** Whether this server decides when data is removed. */
  get #isDecidedHere(): boolean {
    return !this.#host.registry.storeFolder.store.isFollowing;
  }

  /** Apps with a folder here whose removal another node has begun, and perhaps completed. */
  #decided(deleted: readonly DeletedApp[]): string[] {
    const { dataDir, registry } = this.#host;
    const kept = new Set<string>();
    for (const { id, isBeingRemoved } of deleted) if (isBeingRemoved !== true) kept.add(id);
    return [...this.#seen].filter((id) => {
      if (kept.has(id)) return false;
      // Restored, or its id is used again.
      const isLeft = registry.apps.get(id) === undefined && existsSync(appFolder(dataDir, id));
      if (!isLeft) this.#seen.delete(id);
      return isLeft;
    });
  }

  async #remove(id: string): Promise<boolean> {
    const { registry, cluster } = this.#host;
    try {
      if (!this.#isDecidedHere) return await this.#removeHere(id);
      if (!(await registry.apps.beginRemoval(id, this.#graceMs))) return false;
      await removeData(id, this.#host);
      await cluster?.removeLog(id);
      await registry.apps.forget(id);
      return this.#removed(id);
    } catch (error) {
      // Another node of the cluster decides now.
      if (isElsewhere(error)) return false;
      this.#logUnlessClosed(`failed to delete the data of the deleted app ${id}`, error);
      return false;
    }
  }

  async #removeHere(id: string): Promise<boolean> {
    await removeData(id, this.#host);
    return this.#removed(id);
  }

  #removed(id: string): true {
    this.#host.log("info", "the data of a deleted app was removed", { appId: id });
    return true;
  }

  #logUnlessClosed(what: string, error: unknown): void {
    const isClosed = error instanceof PeerError && error.code === "store.closed";
    if (this.#isStopped && isClosed) return;
    this.#host.log("error", `${what}: ${describeError(error)}`);
  }
}

interface DueApp {
  readonly id: string;
  readonly dueMs: number;
}

function isKnown(id: string, { apps }: Pick<Registry, "apps">): boolean {
  return apps.get(id) !== undefined || apps.deleted().some((app) => app.id === id);
}

async function removeData(id: string, { dataDir, apps }: DeletedAppsHost): Promise<void> {
  // It was closed when it was deleted, unless the server stopped in between.
  await apps.closeApp(id);
  if (!appIdsInFolder(dataDir).includes(id)) return;
  const folder = appFolder(dataDir, id);
  await rm(folder, { recursive: true });
  // Otherwise a power failure could bring back a folder without a record.
  syncFolder(dirname(folder));
}
