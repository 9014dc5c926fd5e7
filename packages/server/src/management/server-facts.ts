/**
 * Server facts: what the management API shows of the running server beside its registry.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DATA_FILE } from "@bigpeer/node";
import type { OpenApp } from "../apps/open-app.ts";
import type { OpenApps } from "../apps/open-apps.ts";
import type { Authentication } from "../auth/authentication.ts";
import type { Config } from "../config/config.ts";
import { appStoreFolder } from "../config/data-folder.ts";
import type { Health } from "../http/health.ts";
import type { BackupSchedule } from "../maintenance/backup-schedule.ts";
import type { WatchedStats } from "../observability/metric-sources.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RecentErrors } from "../observability/recent-errors.ts";

export interface ServerFacts {
  readonly config: Config;
  readonly apps: Pick<OpenApps, "open" | "tryUse" | "use" | "visit" | "hasFailed">;
  readonly auth: Pick<Authentication, "tokens" | "webhooks">;
  readonly metrics: Metrics;
  readonly errors: Pick<RecentErrors, "list">;
  readonly backups: () => BackupSchedule | undefined;
  readonly health: () => Health;
  readonly syncStatsOf: (appId: string) => WatchedStats | undefined;
  /** Largest lag of the links, and how many are not linked. */
  readonly links: () => LinksFacts;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

export interface LinksFacts {
  readonly linked: number;
  readonly others: number;
}

/** What is known of an app without opening it each time. */
export interface AppStats {
  readonly documents: number;
  readonly bytes: number;
}

interface KeptStats extends AppStats {
  /** Changes with the data file. */
  readonly version: string;
}

/** A store with more collections is not counted: it would take too long. */
const COLLECTIONS_COUNTED_MAX = 1_000;

/** Closed apps that are opened for one answer. */
const VISITS_MAX = 4;

/** Counts documents of apps, and remembers those of closed ones while their files stay the same. */
export class AppCounts {
  readonly #kept = new Map<string, KeptStats>();

  /** Documents are undefined for an app that was not counted yet. */
  async of(
    { apps, config }: ServerFacts,
    appIds: readonly string[],
  ): Promise<ReadonlyMap<string, Partial<AppStats>>> {
    const files = await Promise.all(appIds.map((id) => fileOf(config.dataDir, id)));
    // Reading an app that is open is no use of it: a page that polls must not keep it open.
    const open = new Map(apps.open.map((app) => [app.id, app]));
    const found = new Map<string, Partial<AppStats>>();
    const unknown: [id: string, file: FileFacts][] = [];
    for (const [i, id] of appIds.entries()) {
      const file = files[i] ?? NO_FILE;
      const kept = this.#kept.get(id);
      const app = open.get(id);
      const documents = app && documentsIn(app);
      if (documents !== undefined) found.set(id, this.#keep(id, { ...file, documents }));
      else if (kept?.version === file.version) found.set(id, kept);
      else if (app === undefined) unknown.push([id, file]);
      else found.set(id, { bytes: file.bytes });
    }
    for (const [i, [id, file]] of unknown.entries()) {
      const visited = i < VISITS_MAX ? await this.#visit(apps, id, file) : undefined;
      found.set(id, visited ?? { bytes: file.bytes });
    }
    return found;
  }

  async #visit(
    apps: ServerFacts["apps"],
    id: string,
    file: FileFacts,
  ): Promise<AppStats | undefined> {
    let stats: AppStats | undefined;
    try {
      await apps.visit(id, async (app) => {
        const documents = documentsIn(app);
        if (documents !== undefined) stats = this.#keep(id, { ...file, documents });
      });
    } catch {
      // An app that cannot be opened has no stats; the log has the reason.
    }
    return stats;
  }

  #keep(id: string, stats: KeptStats): KeptStats {
    this.#kept.set(id, stats);
    return stats;
  }
}

interface FileFacts {
  readonly bytes: number;
  readonly version: string;
}

const NO_FILE: FileFacts = { bytes: 0, version: "" };

async function fileOf(dataDir: string, appId: string): Promise<FileFacts> {
  try {
    const { size, mtimeMs } = await stat(join(appStoreFolder(dataDir, appId), DATA_FILE));
    return { bytes: size, version: `${size} ${mtimeMs}` };
  } catch {
    return NO_FILE;
  }
}

/** Undefined for a store that is closed or broken. */
function documentsIn({ store }: Pick<OpenApp, "store">): number | undefined {
  try {
    return store.read((view) => {
      let documents = 0;
      for (const name of view.collections(COLLECTIONS_COUNTED_MAX)) documents += view.count(name);
      return documents;
    });
  } catch {
    return undefined;
  }
}
