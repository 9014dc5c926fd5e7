/**
 * Closed apps: brings the apps that are closed on this node up to date with their logs, one after
 * the other, at the start and every hour. So a node that joins gets all apps, another node can take
 * over soon, and logs can be trimmed.
 *
 * An app is opened only if its log has moved since it was closed.
 */

import type { OpenApps } from "../apps/open-apps.ts";
import { HOUR_MS, PeriodicTask } from "../maintenance/periodic-task.ts";
import { describeError, type Log } from "../observability/log.ts";

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
  /** Resolves when an open app has an entry. */
  readonly whenReached: (id: string, sequence: number) => Promise<unknown>;
  readonly elapsed: () => number;
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
    const { apps, position, end, whenReached, elapsed } = this.#host;
    const sequence = await end(id);
    if (position(id) >= sequence) return;
    await apps.visit(id, async (_, isOver) => {
      const endMs = elapsed() + CATCH_UP_MS_MAX;
      const reached = whenReached(id, sequence).then(() => true);
      while (!(await Promise.race([reached, pause()]))) {
        if (isOver() || isStopped() || elapsed() > endMs) return;
      }
    });
  }
}

function pause(): Promise<boolean> {
  return new Promise((resolve) => setTimeout(() => resolve(false), LOOK_MS));
}
