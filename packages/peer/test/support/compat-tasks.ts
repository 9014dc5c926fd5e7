/**
 * A task list with the calls of the public quick starts of the reference SDK: config, open, transports,
 * expiration handler, login, sync, subscription, observer, and statements that write.
 *
 * It is typed as apps are: with the names of the SDK alone.
 */

import {
  type AuthenticationExpirationHandler,
  Authenticator,
  Ditto,
  DittoConfig,
  type DittoConfigConnect,
  init,
  type LoginResult,
  type QueryResult,
  type QueryResultItem,
  type StoreObserver,
  type SyncSubscription,
  type TransportConfig,
} from "../../src/compat/index.ts";

export interface Task {
  _id: string;
  title: string;
  done: boolean;
  deleted: boolean;
}

export interface TasksOptions {
  readonly databaseId: string;
  readonly token: string;
  readonly serverUrl: string;
  readonly persistenceDirectory: string;
}

export class Tasks {
  readonly ditto: Ditto;
  readonly #subscription: SyncSubscription;
  readonly #observer: StoreObserver;
  tasks: Task[] = [];

  constructor(ditto: Ditto) {
    this.ditto = ditto;
    this.#subscription = ditto.sync.registerSubscription("SELECT * FROM tasks");
    this.#observer = ditto.store.registerObserver<Task>(
      "SELECT * FROM tasks WHERE NOT deleted",
      (results: QueryResult<Task>) => {
        this.tasks = results.items.map((item: QueryResultItem<Task>) => item.value);
      },
    );
  }

  async createTask(title: string): Promise<void> {
    const task = { title, done: false, deleted: false };
    await this.ditto.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
  }

  async editTask(id: string, title: string): Promise<void> {
    const args = { id, title };
    await this.ditto.store.execute("UPDATE tasks SET title = :title WHERE _id = :id", args);
  }

  async toggleTask({ _id: id, done }: Task): Promise<void> {
    const args = { id, done: !done };
    await this.ditto.store.execute("UPDATE tasks SET done = :done WHERE _id = :id", args);
  }

  async deleteTask({ _id: id }: Task): Promise<void> {
    await this.ditto.store.execute("UPDATE tasks SET deleted = true WHERE _id = :id", { id });
  }

  toggleSync(): void {
    if (this.ditto.sync.isActive) this.ditto.sync.stop();
    else this.ditto.sync.start();
  }

  async close(): Promise<void> {
    this.#observer.cancel();
    this.#subscription.cancel();
    await this.ditto.close();
  }
}

export async function openTasks(options: TasksOptions): Promise<Tasks> {
  const { databaseId, token, serverUrl, persistenceDirectory } = options;
  await init();
  const connect: DittoConfigConnect = { mode: "server", url: serverUrl };
  const ditto = await Ditto.open(new DittoConfig(databaseId, connect, persistenceDirectory));
  ditto.updateTransportConfig((config: TransportConfig) => {
    config.peerToPeer.bluetoothLE.isEnabled = false;
    config.peerToPeer.awdl.isEnabled = false;
    config.peerToPeer.lan.isMulticastEnabled = true;
  });
  const handler: AuthenticationExpirationHandler = async (self: Ditto, seconds: number) => {
    if (!self.auth.loginSupported || seconds > 0) return;
    await self.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER);
  };
  await ditto.auth.setExpirationHandler(handler);
  const result: LoginResult = await ditto.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER);
  if (result.error) throw result.error;
  ditto.sync.start();
  return new Tasks(ditto);
}
