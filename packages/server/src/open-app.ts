/**
 * An app that is open: its store, its attachments, and what runs statements on it.
 */

import { type MemoryPool, StatementRunner, type Store } from "@bigpeer/engine";
import { AttachmentFolder } from "./attachments/attachment-folder.ts";
import type { OperatedApp } from "./data-api/operation.ts";
import { appAttachmentsFolder } from "./data-folder.ts";
import { slowStatementLine } from "./log-events.ts";
import type { App, Registry } from "./registry.ts";
import type { StoreFolder, StoreHost } from "./store-folder.ts";
import { VERSION } from "./version.ts";

export interface OpenApp extends App, OperatedApp {
  readonly storeFolder: StoreFolder;
  readonly store: Store;
  readonly attachments: AttachmentFolder;
}

/** What all apps of a server share. */
export interface AppHost extends StoreHost {
  readonly dataDir: string;
  readonly attachmentSizeMax: number;
  readonly statementTimeoutMs: number;
  readonly memory: MemoryPool;
}

/** Opens the store of an app. Whoever opens it closes its folder. */
export async function openApp(registry: Registry, app: App, host: AppHost): Promise<OpenApp> {
  const storeFolder = await registry.openAppStore(app);
  try {
    return assembleApp(app, storeFolder, host);
  } catch (error) {
    await storeFolder.close();
    throw error;
  }
}

function assembleApp(app: App, storeFolder: StoreFolder, host: AppHost): OpenApp {
  const { store } = storeFolder;
  const statements = new StatementRunner({
    store,
    platform: host.platform,
    appId: app.id,
    limits: { timeMs: host.statementTimeoutMs },
    memory: host.memory,
    facts: { info: () => [{ namespace: "core", key: "server_version", value: VERSION }] },
    onSlow: (request) => slowStatementLine(host.log, request),
  });
  const folder = appAttachmentsFolder(host.dataDir, app.id);
  const attachments = new AttachmentFolder({ folder, store, sizeMax: host.attachmentSizeMax });
  return { ...app, storeFolder, store, attachments, statements };
}
