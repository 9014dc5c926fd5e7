/**
 * A data folder with apps and no server, for tests of what opens and closes them. The registry is a
 * table that the test changes.
 */

import { MemoryPool, TimeSlicer } from "@bigpeer/engine/query";
import { createStore } from "@bigpeer/node";
import { onTestFinished } from "vitest";
import { type TestHost, testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { AppHost } from "../../src/apps/open-app.ts";
import { OpenApps, type OpenAppsOptions } from "../../src/apps/open-apps.ts";
import { appStoreFolder } from "../../src/config/data-folder.ts";
import { type App, DEFAULT_APP_SETTINGS } from "../../src/registry/app.ts";
import type { RegistryHost } from "../../src/registry/apps.ts";

const HOUR_MS = 3_600_000;

export interface AppFolders {
  readonly dataDir: string;
  /** What the registry would know. */
  readonly known: Map<string, App>;
  readonly host: AppHost & TestHost;
  readonly ids: readonly string[];
  /** Closed when the test ends. */
  readonly openApps: (options?: Partial<OpenAppsOptions>) => OpenApps;
}

/** A folder with so many apps, none of which is open. */
export async function makeAppFolders(count: number): Promise<AppFolders> {
  const dataDir = temporaryFolder();
  const host = appHostOf(dataDir, testHost());
  const known = new Map<string, App>();
  for (let i = 0; i < count; i++) {
    const id = idOfApp(i);
    await (await createStore(appStoreFolder(dataDir, id), host)).close();
    known.set(id, appOf(id, `app-${i}`));
  }
  const openApps = (options: Partial<OpenAppsOptions> = {}): OpenApps => {
    const apps = new OpenApps({ known, host, idleMs: HOUR_MS, ...options });
    onTestFinished(() => apps.close());
    return apps;
  };
  return { dataDir, known, host, ids: [...known.keys()], openApps };
}

/** What apps share, with limits for tests. */
export function appHostOf<Host extends RegistryHost>(dataDir: string, host: Host): AppHost & Host {
  const memory = new MemoryPool(1_000_000);
  const turns = new TimeSlicer(
    () => host.platform.pause(),
    () => host.platform.elapsed(),
  );
  const limits = { attachmentSizeMax: 1_000_000, statementTimeoutMs: 30_000 };
  return { ...host, dataDir, ...limits, memory, slicer: turns };
}

export function idOfApp(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

function appOf(id: string, name: string): App {
  return {
    id,
    name,
    settings: DEFAULT_APP_SETTINGS,
    authProviders: {},
    sessionKeys: [],
    createdAt: 0,
  };
}
