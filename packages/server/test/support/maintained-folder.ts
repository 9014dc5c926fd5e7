/**
 * A data folder with a registry, its apps and their maintenance, and no listener. The clock is the
 * test's.
 */

import { utimesSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type TestPlatform, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { type TestHost, testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { AppHost, OpenApp } from "../../src/apps/open-app.ts";
import { OpenApps } from "../../src/apps/open-apps.ts";
import { appStoreFolder } from "../../src/config/data-folder.ts";
import { Maintenance, type MaintenanceHost } from "../../src/maintenance/maintenance.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { Registry } from "../../src/registry/registry.ts";
import { appHostOf } from "./app-folders.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS: number = 24 * HOUR_MS;

export interface MaintainedFolder {
  readonly dataDir: string;
  readonly platform: TestPlatform;
  readonly host: AppHost & TestHost;
  readonly registry: Registry;
  readonly apps: OpenApps;
  /** The ids of all that were opened, in this order. */
  readonly openings: readonly string[];
  /** Begins the maintenance; it is stopped when the test ends. */
  readonly maintain: (changes?: Partial<MaintenanceHost>) => Maintenance;
}

/** With the app `default` and others of these names. */
export async function openMaintained(...names: string[]): Promise<MaintainedFolder> {
  const dataDir = temporaryFolder();
  const platform = testPlatform();
  const host = appHostOf(dataDir, { ...testHost(), platform });
  // A clock of its own, so that a test may stop the one of the apps.
  const registry = await Registry.open(dataDir, { ...host, platform: { ...platform } });
  for (const name of names) await registry.apps.create({ name }, SERVER);
  for (const { id } of registry.apps.list()) setLastSeen(dataDir, id, platform.nowMs);
  const openings: string[] = [];
  let maintenance: Maintenance | undefined;
  const onOpened = ({ id }: OpenApp) => {
    openings.push(id);
    maintenance?.opened(id);
    return () => {};
  };
  const apps = new OpenApps({ known: registry.apps, host, idleMs: HOUR_MS, onOpened });
  onTestFinished(async () => {
    const stopped = maintenance?.stop();
    await apps.close();
    await registry.close();
    await stopped;
  });
  const maintain = (changes: Partial<MaintenanceHost> = {}): Maintenance => {
    const { log } = host;
    const graces = { appGraceMs: DAY_MS, attachmentGraceMs: DAY_MS };
    const now = (): number => platform.nowMs;
    maintenance = new Maintenance({ dataDir, registry, apps, ...graces, now, log, ...changes });
    return maintenance;
  };
  return { dataDir, platform, host, registry, apps, openings, maintain };
}

/** Files have the real time, whatever the clock of the test says. */
function setLastSeen(dataDir: string, appId: string, ms: number): void {
  const path = join(appStoreFolder(dataDir, appId), "life.json");
  utimesSync(path, ms / 1000, ms / 1000);
}
