/**
 * Maintenance: background work on every store. It trims what the retention allows, adds checksums
 * to records of an older format, and deletes unreferenced attachments.
 *
 *   the registry           at the start and every hour
 *   data of deleted apps   when its grace period is over (deleted-apps.ts)
 *   an open app            soon after it was opened, and every hour
 *   a closed app           once a day: opened, maintained and closed, one after the other
 *
 * The work runs in bounded transactions. Errors are logged, and the next run tries again.
 */

import { lastSeenMs } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";
import type { OpenApps } from "../apps/open-apps.ts";
import { type CollectorOptions, collectAttachments } from "../attachments/attachment-collector.ts";
import { appStoreFolder } from "../config/data-folder.ts";
import { describeError } from "../observability/log.ts";
import type { Registry } from "../registry/registry.ts";
import type { OpenedStore } from "../stores/stores.ts";
import { DeletedApps, type DeletedAppsHost } from "./deleted-apps.ts";
import { HOUR_MS, PeriodicTask } from "./periodic-task.ts";

export interface MaintenanceHost extends DeletedAppsHost, CollectorOptions {
  readonly registry: Pick<Registry, "apps" | "storeFolder">;
  readonly apps: OpenApps;
  /** Interval for open apps. */
  readonly everyMs?: number;
  /** Interval for closed apps. */
  readonly visitEveryMs?: number;
}

const DAY_MS: number = 24 * HOUR_MS;

/** Starts at once. Stop it before the stores are closed, which ends the work in progress. */
export class Maintenance {
  readonly #host: MaintenanceHost;
  readonly #deleted: DeletedApps;
  readonly #pass: PeriodicTask;
  /** Opened apps that wait for maintenance. */
  readonly #opened = new Set<string>();
  /** Last maintenance of each app, by the wall clock. */
  readonly #slicer = new Map<string, number>();
  #running: Promise<void> | undefined;
  #isFirstPass = true;
  #isStopped = false;

  constructor(host: MaintenanceHost) {
    this.#host = host;
    this.#deleted = new DeletedApps(host);
    this.#pass = new PeriodicTask(() => this.#maintainAll(), host.everyMs);
  }

  /** Call it when an app was opened. */
  opened(id: string): void {
    const { now, everyMs = HOUR_MS } = this.#host;
    if (this.#isStopped || now() - (this.#slicer.get(id) ?? 0) < everyMs) return;
    this.#opened.add(id);
    this.#running ??= this.#maintainOpened();
  }

  /** Starts nothing more; resolves when the work in progress is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#deleted.stop(), this.#pass.stop(), this.#running]);
  }

  async #maintainOpened(): Promise<void> {
    for (const id of this.#opened) {
      // The caller that opened it goes first.
      await new Promise((resolve) => setImmediate(resolve));
      this.#opened.delete(id);
      if (this.#isStopped) break;
      await this.#visit(id, "open");
    }
    this.#running = undefined;
  }

  /** Never rejects. */
  async #maintainAll(): Promise<void> {
    const { registry, apps, log } = this.#host;
    try {
      await this.#maintainStore(registry.storeFolder, () => this.#isStopped);
      await this.#deleted.removeDue();
      for (const { id } of apps.open) await this.#visit(id, "open");
      // A server that has just started should not open all apps at once.
      if (!this.#isFirstPass && !this.#isStopped) await this.#visitResting();
    } catch (error) {
      if (!this.#isStopped) log("error", `failed to maintain the apps: ${describeError(error)}`);
    }
    this.#isFirstPass = false;
  }

  async #visitResting(): Promise<void> {
    const { registry, dataDir, now, visitEveryMs = DAY_MS } = this.#host;
    const known = new Set(registry.apps.names().map(({ id }) => id));
    for (const id of this.#slicer.keys()) if (!known.has(id)) this.#slicer.delete(id);
    for (const id of known) {
      if (this.#isStopped) return;
      const lastMs = this.#slicer.get(id) ?? lastSeenMs(appStoreFolder(dataDir, id)) ?? 0;
      if (now() - lastMs >= visitEveryMs) await this.#visit(id, "any");
    }
  }

  async #visit(id: string, which: "open" | "any"): Promise<void> {
    const { registry, apps, now, log } = this.#host;
    const work = async (app: OpenApp, isOver: () => boolean): Promise<void> => {
      const isStopped = (): boolean => this.#isStopped || isOver();
      if (isStopped()) return;
      this.#slicer.set(id, now());
      await this.#maintainStore(app.storeFolder, isStopped);
      if (!isStopped()) await collectAttachments(app, this.#host, isStopped);
    };
    try {
      await (which === "open" ? apps.visitOpen(id, work) : apps.visit(id, work));
    } catch (error) {
      // A failed opening is logged already, and a deleted app needs nothing.
      const isGone = this.#isStopped || registry.apps.get(id) === undefined;
      if (isGone || apps.hasFailed(id)) return;
      log("error", `failed to maintain the app ${id}: ${describeError(error)}`);
    }
  }

  async #maintainStore(opened: OpenedStore, isStopped: () => boolean): Promise<void> {
    // The node of a cluster that evaluates a store maintains it.
    if (opened.store.isFollowing) return;
    try {
      await opened.store.maintain();
      if (!isStopped()) await opened.protect();
      if (!isStopped()) opened.recordIncarnation();
    } catch (error) {
      if (isStopped() && error instanceof PeerError && error.code === "store.closed") return;
      this.#host.log("error", `failed to maintain ${opened.folder}: ${describeError(error)}`);
    }
  }
}
