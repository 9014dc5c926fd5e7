/**
 * Open app: the store, the attachments and the statement runner of one app while it is open.
 */

import { ChangeFeed } from "@bigpeer/engine/changes";
import {
  type IndexUses,
  type MemoryPool,
  StatementRunner,
  type SystemData,
  type TimeSlicer,
} from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import { AttachmentFolder, type AttachmentNodes } from "../attachments/attachment-folder.ts";
import { appAttachmentsFolder, appStoreFolder } from "../config/data-folder.ts";
import { VERSION } from "../config/version.ts";
import type { ContentTraffic } from "../observability/content-metrics.ts";
import type { Log } from "../observability/log.ts";
import { slowStatementLine } from "../observability/log-events.ts";
import type { App, AppSettings } from "../registry/app.ts";
import { type OpenedStore, openNamed, type StoresHost } from "../stores/stores.ts";

/** What all apps of a server share. */
export interface AppHost extends StoresHost {
  readonly log: Log;
  readonly dataDir: string;
  readonly attachmentSizeMax: number;
  /** Maximum bytes of all contents of one app; 0 or left out for no bound. */
  readonly attachmentSpaceMax?: number;
  readonly statementTimeoutMs: number;
  readonly memory: MemoryPool;
  /** Time slicer that statements of all apps share. */
  readonly slicer: TimeSlicer;
  /** The other nodes of a cluster that have attachments of an app; left out on one machine. */
  readonly attachmentNodes?: (app: Pick<OpenApp, "id" | "store">) => AttachmentNodes;
  /** Counts the transfers of contents. */
  readonly contentTraffic?: ContentTraffic;
  /** Data of an app for its statements that only the running server has, such as its peers. */
  readonly systemData?: (app: OpenApp) => SystemData;
}

/** What one app has beside. */
export interface OwnHost extends AppHost {
  /** Counts the indexes that its statements and subscriptions read. */
  readonly indexUses: IndexUses;
}

/** Looks up the current registry entry of an app. */
export interface KnownApps {
  get(id: string): App | undefined;
}

export class OpenApp {
  readonly id: string;
  readonly storeFolder: OpenedStore;
  readonly store: Store;
  readonly attachments: AttachmentFolder;
  readonly statements: StatementRunner;
  readonly indexUses: IndexUses;
  readonly changes: ChangeFeed;
  readonly #opened: App;
  readonly #known: KnownApps;

  private constructor(app: App, storeFolder: OpenedStore, host: OwnHost, known: KnownApps) {
    const { id } = app;
    const { store } = storeFolder;
    this.id = id;
    this.storeFolder = storeFolder;
    this.store = store;
    this.#opened = app;
    this.#known = known;
    this.indexUses = host.indexUses;
    this.statements = new StatementRunner({
      store,
      platform: host.platform,
      appId: id,
      limits: { timeMs: host.statementTimeoutMs },
      memory: host.memory,
      slicer: host.slicer,
      indexUses: host.indexUses,
      systemData: {
        info: () => [{ namespace: "core", key: "server_version", value: VERSION }],
        ...host.systemData?.(this),
      },
      onSlow: (request) => slowStatementLine(host.log, request),
    });
    this.changes = new ChangeFeed({ store, platform: host.platform, appId: id });
    const folder = appAttachmentsFolder(host.dataDir, id);
    this.attachments = new AttachmentFolder({
      folder,
      store,
      sizeMax: host.attachmentSizeMax,
      spaceMax: host.attachmentSpaceMax ?? 0,
      nodes: host.attachmentNodes?.(this),
      traffic: host.contentTraffic,
    });
  }

  /** Opens the store of an app, which must exist. The caller closes it. */
  static async open(app: App, host: OwnHost, known: KnownApps): Promise<OpenApp> {
    const folder = appStoreFolder(host.dataDir, app.id);
    const storeFolder = await openNamed(app.id, folder, host);
    try {
      return new OpenApp(app, storeFolder, host, known);
    } catch (error) {
      await storeFolder.close();
      throw error;
    }
  }

  get name(): string {
    return this.#current.name;
  }

  /** As the registry has them now, so that a change applies from the next request on. */
  get settings(): AppSettings {
    return this.#current.settings;
  }

  /** Ends streams of changes and uploads, finishes accepted writes, then closes the files. */
  async close(): Promise<void> {
    this.changes.close();
    try {
      await this.attachments.close();
    } finally {
      await this.storeFolder.close();
    }
  }

  /** A deleted app keeps the entry that it was opened with. */
  get #current(): App {
    return this.#known.get(this.id) ?? this.#opened;
  }
}
