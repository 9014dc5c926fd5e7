/**
 * Closed apps: brings the apps that are closed on this node up to date with their logs, one after
 * the other, at the start and every hour. So a node that joins gets all apps, another node can take
 * over soon, and logs can be trimmed.
 *
 * An app is opened only if its log has moved since it was closed.
 */

import type { Wait } from "@bigpeer/engine/store";
import type { OpenApps } from "../apps/open-apps.ts";
import { HOUR_MS, PeriodicTask } from "../maintenance/periodic-task.ts";
import { describeError, type Log } from "../observability/log.ts";
import { isReached } from "./waiting.ts";

/** How long one app may take to catch up. */
const CATCH_UP_MS_MAX = 600_000;

const LOOK_MS = 1_000;

export interface ClosedAppsHost {
  readonly apps: Pick<OpenApps, "visit" | "open">;
  /** Ids of all apps. */
  readonly known: () => readonly string[];
  /** Where this node is in the log of an app. */
  readonly position: (id: string) => number;
  /** The last entry of the log of an app. */
  readonly end: (id: string) => Promise<number>;
  /** Waits until an open app has an entry; undefined if it is not open. */
  readonly whenReached: (id: string, sequence: number) => Wait | undefined;
  readonly everyMs?: number | undefined;
  readonly log: Log;
}

export class ClosedApps {
  readonly #host: ClosedAppsHost;
  readonly #task: PeriodicTask;

  constructor(host: ClosedAppsHost) {
    this.#host = host;
    this.#task = new PeriodicTask((isStopped) => this.#pass(isStopped), host.everyMs ?? HOUR_MS);
  }

  /** Resolves when the app in progress is closed. */
  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #pass(isStopped: () => boolean): Promise<void> {
    for (const id of this.#closed()) {
      if (isStopped()) return;
      try {
        await this.#catchUp(id, isStopped);
      } catch (error) {
        if (!isStopped()) this.#report(`the app ${id}`, error);
      }
    }
  }

  #closed(): string[] {
    const { apps, known } = this.#host;
    try {
      const open = new Set(apps.open.map(({ id }) => id));
      return known().filter((id) => !open.has(id));
    } catch (error) {
      this.#report("the apps", error);
      return [];
    }
  }

  #report(what: string, error: unknown): void {
    this.#host.log("warn", `failed to bring ${what} up to date: ${describeError(error)}`);
  }

  async #catchUp(id: string, isStopped: () => boolean): Promise<void> {
    const { apps, position, end, whenReached } = this.#host;
    const sequence = await end(id);
    if (position(id) >= sequence) return;
    await apps.visit(id, async (_, isOver) => {
      const wait = whenReached(id, sequence);
      if (wait === undefined) return;
      const look = setInterval(() => {
        if (isOver() || isStopped()) wait.cancel();
      }, LOOK_MS);
      try {
        await isReached(wait, CATCH_UP_MS_MAX);
      } finally {
        clearInterval(look);
      }
    });
  }
}
