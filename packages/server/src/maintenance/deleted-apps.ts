/**
 * Deleted apps: removes the data of deleted apps after a grace period, in which they can be
 * restored.
 *
 * The start of the removal is recorded first, with its time; from then on the app cannot be
 * restored. Then the folder is removed, then the record in the registry, so a crash only repeats
 * the work. A folder without such a record is never touched.
 */

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { OpenApps } from "../apps/open-apps.ts";
import { appFolder, appIdsInFolder } from "../config/data-folder.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { DeletedApp } from "../registry/app.ts";
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
}

/** Removes the data of deleted apps when it is due. Stop it before the registry is closed. */
export class DeletedApps {
  readonly #host: DeletedAppsHost;
  readonly #stopWatching: () => void;
  /** Apps whose removal failed; they wait for the next call of `removeDue`. */
  readonly #failed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(host: DeletedAppsHost) {
    this.#host = host;
    // An app may have been deleted. If a timer is set, another app is due earlier.
    this.#stopWatching = host.registry.storeFolder.store.onCommit(() => this.#plan());
  }

  /** Removes what is due and what failed before. Errors are logged. */
  async removeDue(): Promise<void> {
    this.#failed.clear();
    await this.#begin();
  }

  /** Starts nothing more; resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopWatching();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #begin(): Promise<void> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined;
      this.#plan();
    });
    return this.#running;
  }

  async #pass(): Promise<void> {
    for (const app of this.#read()) {
      if (this.#isStopped) return;
      if (this.#failed.has(app.id) || this.#dueMs(app) > this.#host.now()) continue;
      // Until it is removed, so that it is not tried in a loop.
      this.#failed.add(app.id);
      if (await this.#remove(app.id)) this.#failed.delete(app.id);
    }
  }

  /** Sets a timer for the next app that is due, unless one is set. */
  #plan(): void {
    if (this.#isStopped || this.#timer !== undefined || this.#running !== undefined) return;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const app of this.#read()) {
      if (!this.#failed.has(app.id)) dueMs = Math.min(dueMs, this.#dueMs(app));
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

  #read(): readonly DeletedApp[] {
    try {
      return this.#host.registry.apps.deleted();
    } catch (error) {
      this.#logUnlessClosed("failed to read the deleted apps", error);
      return [];
    }
  }

  #dueMs({ deletedAt, isBeingRemoved }: DeletedApp): number {
    return isBeingRemoved === true ? 0 : deletedAt + this.#host.appGraceMs;
  }

  async #remove(id: string): Promise<boolean> {
    const { registry, appGraceMs, log } = this.#host;
    try {
      if (!(await registry.apps.beginRemoval(id, appGraceMs))) return false;
      await removeData(id, this.#host);
      await registry.apps.forget(id);
      log("info", "the data of a deleted app was removed", { appId: id });
      return true;
    } catch (error) {
      this.#logUnlessClosed(`failed to delete the data of the deleted app ${id}`, error);
      return false;
    }
  }

  #logUnlessClosed(what: string, error: unknown): void {
    const isClosed = error instanceof PeerError && error.code === "store.closed";
    if (this.#isStopped && isClosed) return;
    this.#host.log("error", `${what}: ${describeError(error)}`);
  }
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
