/**
 * An app that is open: its store, its attachments, and what runs statements on it.
 */

import {
  type MemoryPool,
  StatementRunner,
  type Store,
  type SystemFacts,
  type Turns,
} from "@bigpeer/engine";
import { openStore, type StoreFolder, type StoreHost } from "@bigpeer/node";
import { AttachmentFolder } from "../attachments/attachment-folder.ts";
import type { OperatedApp } from "../data-api/operation.ts";
import { appAttachmentsFolder, appStoreFolder } from "../data-folder.ts";
import { type LinkRows, withLinks } from "../link/link-facts.ts";
import type { Log } from "../log.ts";
import { slowStatementLine } from "../log-events.ts";
import type { App, AppSettings } from "../registry/app.ts";
import { type DeviceSource, deviceFacts } from "../sync/device-facts.ts";
import { VERSION } from "../version.ts";

/** What all apps of a server share. */
export interface AppHost extends StoreHost {
  readonly log: Log;
  readonly dataDir: string;
  readonly attachmentSizeMax: number;
  readonly statementTimeoutMs: number;
  readonly memory: MemoryPool;
  /** In which statements of all apps take their slices. */
  readonly turns: Turns;
  /** Who is connected; left out where nobody can be. */
  readonly devices?: DeviceSource;
  /** What the app is linked with; left out where nothing can be. */
  readonly links?: LinkRows;
}

/** Where it is found what the registry says of an app at this moment. */
export interface KnownApps {
  get(id: string): App | undefined;
}

export class OpenApp implements OperatedApp {
  readonly id: string;
  readonly storeFolder: StoreFolder;
  readonly store: Store;
  readonly attachments: AttachmentFolder;
  readonly statements: StatementRunner;
  readonly #opened: App;
  readonly #known: KnownApps;

  private constructor(app: App, storeFolder: StoreFolder, host: AppHost, known: KnownApps) {
    const { id } = app;
    const { store } = storeFolder;
    this.id = id;
    this.storeFolder = storeFolder;
    this.store = store;
    this.#opened = app;
    this.#known = known;
    this.statements = new StatementRunner({
      store,
      platform: host.platform,
      appId: id,
      limits: { timeMs: host.statementTimeoutMs },
      memory: host.memory,
      turns: host.turns,
      facts: this.#facts(host),
      onSlow: (request) => slowStatementLine(host.log, request),
    });
    const folder = appAttachmentsFolder(host.dataDir, id);
    this.attachments = new AttachmentFolder({ folder, store, sizeMax: host.attachmentSizeMax });
  }

  /** Opens the store of an app, which must be there. Whoever opens it closes it. */
  static async open(app: App, host: AppHost, known: KnownApps): Promise<OpenApp> {
    const storeFolder = await openStore(appStoreFolder(host.dataDir, app.id), host);
    try {
      return new OpenApp(app, storeFolder, host, known);
    } catch (error) {
      await storeFolder.close();
      throw error;
    }
  }

  #facts({ devices, links }: AppHost): SystemFacts {
    const facts = {
      info: () => [{ namespace: "core", key: "server_version", value: VERSION }],
      ...(devices && deviceFacts(this, devices)),
    };
    return links === undefined ? facts : withLinks(facts, this.id, links);
  }

  get name(): string {
    return this.#current.name;
  }

  /** As the registry has them now, so that a change holds from the next request on. */
  get settings(): AppSettings {
    return this.#current.settings;
  }

  /** Ends uploads, finishes writes that were accepted, then closes the files. */
  async close(): Promise<void> {
    try {
      await this.attachments.close();
    } finally {
      await this.storeFolder.close();
    }
  }

  /** One that was deleted ends as what it was. */
  get #current(): App {
    return this.#known.get(this.id) ?? this.#opened;
  }
}
