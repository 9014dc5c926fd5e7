/**
 * The calls of the reference SDK, each as a test against `@bigpeer/peer/compat`. They run on Node and
 * in a real page, where vitest is another module (vitest-in-page.ts).
 */

import { expect, test } from "vitest";
import type * as Compat from "../../src/compat/index.ts";

type Ditto = Compat.Ditto;
type DittoConfigOptions = Compat.DittoConfigOptions;

export interface CompatEnvironment {
  readonly sdk: typeof Compat;
  readonly isBrowser: boolean;
  /** The server, with the development token of its first start. */
  readonly url: string;
  readonly appId: string;
  readonly token: string;
  /** A persistence directory that no other test has. */
  readonly directory: () => string;
}

const WAIT_MS = 30_000;

/** Waits until a check passes. */
async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT_MS;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`expected that ${String(check)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The code of an error that a call throws or rejects with. */
async function codeOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return (error as { code?: unknown }).code ?? String(error);
  }
  return "no error";
}

export function compatCases(environment: CompatEnvironment): void {
  const { sdk, url, appId, token, directory } = environment;
  const { Ditto, DittoConfig, Authenticator } = sdk;

  /** Without a server. */
  const localConfig = (change: Partial<DittoConfigOptions> = {}): Compat.DittoConfig =>
    new DittoConfig({
      databaseID: appId,
      connect: { mode: "smallPeersOnly" },
      persistenceDirectory: directory(),
      ...change,
    });

  const serverConfig = (): Compat.DittoConfig =>
    new DittoConfig(appId, { mode: "server", url }, directory());

  const use = async (
    config: Compat.DittoConfig,
    work: (ditto: Ditto) => unknown,
  ): Promise<void> => {
    const ditto = await Ditto.open(config);
    try {
      await work(ditto);
    } finally {
      await ditto.close();
    }
  };

  /** A test with an instance without a server. */
  const local = (title: string, work: (ditto: Ditto) => unknown): void => {
    test(title, () => use(localConfig(), work));
  };

  const logIn = (ditto: Ditto): Promise<void> =>
    ditto.auth.setExpirationHandler(async (self) => {
      await self.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER);
    });

  /** A test with an instance that syncs. */
  const syncing = (title: string, work: (ditto: Ditto) => unknown): void => {
    test(title, () =>
      use(serverConfig(), async (ditto) => {
        await logIn(ditto);
        ditto.sync.start();
        await work(ditto);
      }),
    );
  };

  // 1.1 Opening, closing, configuration

  test("init resolves, with and without options", async () => {
    expect(await sdk.init()).toBeUndefined();
    expect(await sdk.init({ webAssemblyModule: "ditto.wasm" })).toBeUndefined();
  });

  test("Ditto.open opens an instance, which close closes", async () => {
    const ditto = await Ditto.open(localConfig());
    expect(ditto.isClosed).toBe(false);
    await ditto.close();
    await ditto.close();
    expect(ditto.isClosed).toBe(true);
    expect(await codeOf(() => ditto.store.execute("SELECT * FROM t"))).toBe("internal");
  });

  test("Ditto.open refuses a config that is not valid, with the field", async () => {
    const wrong = [
      new DittoConfig("tasks", { mode: "smallPeersOnly" }),
      new DittoConfig(appId, { mode: "server", url: "localhost" }),
      new DittoConfig(appId, {} as never),
    ];
    for (const config of wrong) {
      expect(await codeOf(() => Ditto.open(config))).toBe("validation/invalid-ditto-config");
    }
    await expect(Ditto.open(wrong[0])).rejects.toThrow("databaseID");
  });

  test("Ditto.openSync returns at once, and calls wait until it is open", async () => {
    const ditto = Ditto.openSync(localConfig());
    let seen: unknown;
    const observer = ditto.store.registerObserver("SELECT * FROM t", ({ items }) => {
      seen = items.map(({ value }) => value);
    });
    await ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
    await until(() => JSON.stringify(seen) === '[{"_id":"a"}]');
    observer.cancel();
    await ditto.close();
  });

  test("DittoConfig has a form with places and a form with names", () => {
    const connect = { mode: "server", url } as const;
    const byPlace = new DittoConfig(appId, connect, "folder");
    const byName = new DittoConfig({ databaseID: appId, connect, persistenceDirectory: "folder" });
    for (const config of [byPlace, byName, byName.copy()]) {
      expect(config.databaseID).toBe(appId);
      expect(config.connect).toEqual(connect);
      expect(config.persistenceDirectory).toBe("folder");
      expect(config.isFrozen).toBe(false);
    }
    expect(DittoConfig.default.databaseID).toBe(DittoConfig.DEFAULT_DATABASE_ID);
    expect(DittoConfig.default.connect).toEqual({ mode: "smallPeersOnly" });
    expect(byPlace.copy().freeze().isFrozen).toBe(true);
  });

  test("the system parameters of a config are set", async () => {
    const config = localConfig({ systemParameters: { dql_strict_mode: true } });
    await use(config, async (ditto) => {
      const { items } = await ditto.store.execute("SHOW dql_strict_mode");
      expect(items[0]?.value).toEqual({ dql_strict_mode: true });
    });
  });

  test("ditto.config is a frozen copy, and throws after close", async () => {
    const config = localConfig();
    const ditto = await Ditto.open(config);
    expect(ditto.config.isFrozen).toBe(true);
    expect(ditto.config.databaseID).toBe(appId);
    expect(ditto.config === config).toBe(false);
    await ditto.close();
    expect(await codeOf(() => ditto.config)).toBe("internal");
  });

  local("the persistence directory is absolute", (ditto) => {
    const path = ditto.absolutePersistenceDirectory;
    expect(path.endsWith(String(ditto.config.persistenceDirectory).slice(-8))).toBe(true);
    expect(Ditto.DEFAULT_ROOT_DIRECTORY === "").toBe(environment.isBrowser);
    expect(path.startsWith("/")).toBe(!environment.isBrowser);
  });

  test("documents last from one opening to the next", async () => {
    const config = localConfig();
    await use(config, (ditto) => ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})"));
    await use(config, async (ditto) => {
      expect((await ditto.store.execute("SELECT * FROM t")).items).toHaveLength(1);
    });
  });

  test("the device name is the one that was set before sync", async () => {
    const ditto = await Ditto.open(serverConfig());
    expect(ditto.deviceName.length).toBeGreaterThan(0);
    // What was set before lasts.
    await ditto.presence.setPeerMetadata({ role: "till" });
    let count = -1;
    ditto.store.registerObserver("SELECT * FROM named", ({ items }) => {
      count = items.length;
    });
    ditto.deviceName = "till 3";
    await logIn(ditto);
    ditto.sync.start();
    expect(ditto.deviceName).toBe("till 3");
    await until(() => ditto.presence.graph.localPeer.deviceName === "till 3");
    await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
    expect(ditto.presence.peerMetadata).toEqual({ role: "till" });
    await ditto.store.execute("INSERT INTO named DOCUMENTS ({'_id': 'a'})");
    await until(() => count === 1);
    await ditto.close();
  });

  local(
    "transport configs are kept, and what they have no effect for is said once",
    async (ditto) => {
      const said: string[] = [];
      await sdk.Logger.setCustomLogCallback(
        (level, message) => void said.push(`${level} ${message}`),
      );
      const ask = (): Ditto =>
        ditto.updateTransportConfig((config) => {
          config.peerToPeer.lan.isEnabled = true;
          config.global.syncGroup = 7;
          config.setAllPeerToPeerEnabled(true);
        });
      expect(ask()).toBe(ditto);
      ask();
      await sdk.Logger.setCustomLogCallback();
      const found = ditto.transportConfig;
      expect(found.isFrozen).toBe(true);
      expect([found.global.syncGroup, found.peerToPeer.bluetoothLE.isEnabled]).toEqual([7, true]);
      ditto.setTransportConfig(new sdk.TransportConfig());
      expect(ditto.transportConfig.global.syncGroup).toBe(0);
      const isAbout = (part: string): boolean =>
        said.filter((line) => line.startsWith("Warning ") && line.includes(part)).length === 1;
      expect([isAbout("peerToPeer"), isAbout("syncGroup")]).toEqual([true, true]);
      const { tcp } = new sdk.TransportConfig().listen;
      expect(sdk.TransportConfig.areListenTCPsEqual(tcp, { ...tcp, port: 1 })).toBe(false);
      expect(sdk.TransportConfig.areListenTCPsEqual(tcp, { ...tcp })).toBe(true);
    },
  );

  local("licences and version 3 need no call, and each call is accepted", async (ditto) => {
    expect(ditto.isActivated).toBe(true);
    ditto.setOfflineOnlyLicenseToken("token");
    expect(await ditto.disableSyncWithV3()).toBeUndefined();
    expect(Ditto.isEnvironmentSupported()).toBe(true);
    expect(/^\d+\.\d+\.\d+/.test(Ditto.VERSION)).toBe(true);
  });

  local("disk usage is measured", async (ditto) => {
    expect((await ditto.diskUsage.exec()).sizeInBytes).toBeGreaterThan(0);
    const seen: number[] = [];
    const observer = ditto.diskUsage.observe(({ sizeInBytes }) => void seen.push(sizeInBytes));
    await until(() => seen.length > 0);
    observer.stop();
  });

  test("close ends observers and subscriptions", async () => {
    const ditto = await Ditto.open(localConfig());
    const observer = ditto.store.registerObserver("SELECT * FROM t", () => {});
    const subscription = ditto.sync.registerSubscription("SELECT * FROM t");
    await ditto.close();
    expect([observer.isCancelled, subscription.isCancelled]).toEqual([true, true]);
    expect([ditto.store.observers.length, ditto.sync.subscriptions.length]).toEqual([0, 0]);
  });

  test("a directory in use is refused, or shared by the pages of a browser", async () => {
    const config = localConfig();
    await use(config, async () => {
      const code = await codeOf(async () => {
        const second = await Ditto.open(config);
        await second.close();
      });
      expect(code).toBe(environment.isBrowser ? "no error" : "store/persistence-directory-locked");
    });
  });

  // 1.2 Store

  local("execute runs a statement with arguments", async (ditto) => {
    const task = { _id: "t1", title: "Tea", cups: 2 };
    const result = await ditto.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
    expect(result.mutatedDocumentIDs()).toEqual(["t1"]);
    expect(result.mutatedDocumentIDsV2()).toEqual(["t1"]);
    const { items } = await ditto.store.execute<{ title: string }>(
      "SELECT title FROM tasks WHERE cups = :cups",
      { cups: 2 },
    );
    expect(items.map(({ value }) => value.title)).toEqual(["Tea"]);
    const explained = await ditto.store.execute("EXPLAIN SELECT * FROM tasks");
    expect(explained.items.length).toBeGreaterThan(0);
  });

  local("an argument that is undefined is null", async (ditto) => {
    await ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
    const { items } = await ditto.store.execute("SELECT :a AS a FROM t", { a: undefined });
    expect(items.map(({ value }) => value.a)).toEqual([null]);
  });

  local("an observer gets the current rows, then those after each change", async (ditto) => {
    const seen: unknown[] = [];
    const query = "SELECT * FROM t WHERE n = :n";
    const observer = ditto.store.registerObserver<{ _id: string }>(
      query,
      (result) => {
        seen.push(result.items.map(({ value: { _id } }) => _id).join());
        expect([result.commitID, result.mutatedDocumentIDs().length]).toEqual([null, 0]);
      },
      { n: 1 },
    );
    expect(seen).toEqual([]);
    await until(() => seen.length === 1);
    await ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1})");
    await until(() => seen.length === 2);
    expect(seen).toEqual(["", "a"]);
    expect([observer.queryString, observer.isCancelled]).toEqual([query, false]);
    expect([observer.queryArguments, Object.isFrozen(observer.queryArguments)]).toEqual([
      { n: 1 },
      true,
    ]);
    expect(observer.queryArgumentsJSONString).toBe('{"n":1}');
    expect(observer.queryArgumentsCBORData instanceof Uint8Array).toBe(true);
    expect(observer.ditto).toBe(ditto);
    expect(ditto.store.observers[0]).toBe(observer);
    observer.cancel();
    observer.cancel();
    expect([observer.isCancelled, ditto.store.observers.length]).toEqual([true, 0]);
  });

  local("only a SELECT is observed", async (ditto) => {
    const observe = (query: string) => (): unknown => ditto.store.registerObserver(query, () => {});
    expect(await codeOf(observe("INSERT INTO t DOCUMENTS ({'_id': 1})"))).toBe("query/unsupported");
    expect(await codeOf(observe("-- all\n(EXPLAIN SELECT * FROM t)"))).toBe("query/unsupported");
    const none = "no function" as never;
    expect(await codeOf(() => ditto.store.registerObserver("SELECT * FROM t", none))).toEqual(
      "TypeError: expected a function as the handler, found string",
    );
  });

  local("with signalNext, changes meanwhile come as one result", async (ditto) => {
    const seen: number[] = [];
    let next: (() => void) | undefined;
    const observer = ditto.store.registerObserverWithSignalNext(
      "SELECT * FROM t",
      ({ items }, signalNext) => {
        seen.push(items.length);
        next = signalNext;
      },
    );
    // Observers of a query get a result at the same time: when this one has it, the other one waits.
    let shown = 0;
    const other = ditto.store.registerObserver("SELECT * FROM t", ({ items }) => {
      shown = items.length;
    });
    await until(() => next !== undefined);
    for (const id of ["a", "b", "c"]) {
      await ditto.store.execute("INSERT INTO t DOCUMENTS (:task)", { task: { _id: id } });
    }
    await until(() => shown === 3);
    expect(seen).toEqual([0]);
    next?.();
    await until(() => seen.length === 2);
    // Nothing changed since.
    next?.();
    await ditto.store.execute("SELECT * FROM t");
    expect(seen).toEqual([0, 3]);
    observer.cancel();
    other.cancel();
  });

  local("a handler that throws stays registered", async (ditto) => {
    let calls = 0;
    ditto.store.registerObserver("SELECT * FROM t", () => {
      calls++;
      throw new Error("of the app");
    });
    await until(() => calls === 1);
    await ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
    await until(() => calls === 2);
  });

  local(
    "a transaction applies all statements, and passes the value of its function",
    async (ditto) => {
      const value = await ditto.store.transaction(
        async (tx) => {
          const { id, hint, isReadOnly } = tx.info;
          expect([typeof id, hint, isReadOnly]).toEqual(["string", "import", false]);
          expect(tx.store).toBe(ditto.store);
          expect(ditto.store.transactions.map((info) => info.id)).toEqual([id]);
          const result = await tx.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
          expect([result.commitID, result.mutatedDocumentIDs()]).toEqual([null, ["a"]]);
          return (await tx.execute("SELECT * FROM t")).items.length;
        },
        { hint: "import" },
      );
      expect(value).toBe(1);
      expect(ditto.store.transactions).toEqual([]);
      expect(await ditto.store.transaction(async () => "commit" as const)).toBe("commit");
    },
  );

  local("a transaction rolls back when its function says so or throws", async (ditto) => {
    const { store } = ditto;
    const insert = "INSERT INTO t DOCUMENTS ({'_id': 'a'})";
    const end = await store.transaction(async (tx) => {
      await tx.execute(insert);
      return "rollback" as const;
    });
    expect(end).toBe("rollback");
    const own = new RangeError("of the app");
    const failed = store.transaction(async (tx) => {
      await tx.execute(insert);
      throw own;
    });
    expect(await failed.catch((error: unknown) => error)).toBe(own);
    expect((await store.execute("SELECT * FROM t")).items).toHaveLength(0);
    // An error that the function handles does not end the transaction.
    await store.transaction(async (tx) => {
      await tx.execute(insert);
      expect(await codeOf(() => tx.execute(insert))).toBe("query/evaluation");
      return "commit";
    });
    expect((await store.execute("SELECT * FROM t")).items).toHaveLength(1);
  });

  local("a transaction that only reads refuses writes", async (ditto) => {
    const scope = (query: string) => () =>
      ditto.store.transaction((tx) => tx.execute(query), { isReadOnly: true });
    const code = "store/transaction-read-only";
    for (const query of [
      "INSERT INTO t DOCUMENTS ({'_id': 'a'})",
      "/* all */ delete from t",
      "PROFILE UPDATE t SET a = 1",
      "CREATE INDEX i ON t (a)",
    ]) {
      expect(await codeOf(scope(query))).toBe(code);
    }
    expect(await codeOf(scope("SELECT * FROM t"))).toBe("no error");
  });

  local("transactions run one after the other", async (ditto) => {
    const { store } = ditto;
    await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 0})");
    const increase = (): Promise<unknown> =>
      store.transaction(async (tx) => {
        const [item] = (await tx.execute<{ n: number }>("SELECT n FROM t")).items;
        await tx.execute("UPDATE t SET n = :n WHERE _id = 'a'", { n: (item?.value.n ?? 0) + 1 });
      });
    await Promise.all([increase(), increase(), increase()]);
    expect((await store.execute("SELECT n FROM t")).items[0]?.value).toEqual({ n: 3 });
  });

  local("an attachment is created, stored in a document and fetched", async (ditto) => {
    const { store } = ditto;
    const bytes = new TextEncoder().encode("a photo");
    const photo = await store.newAttachment(bytes, { name: "photo.jpg" });
    expect([photo.len, photo.metadata, photo.ditto]).toEqual([7, { name: "photo.jpg" }, ditto]);
    await store.execute("INSERT INTO COLLECTION p (photo ATTACHMENT) DOCUMENTS (:document)", {
      document: { _id: "p1", photo },
    });
    const { items } = await store.execute("SELECT * FROM COLLECTION p (photo ATTACHMENT)");
    const found = items[0]?.value.photo;
    expect(found).toEqual({ id: photo.id, len: 7, metadata: { name: "photo.jpg" } });
    const events: string[] = [];
    const fetcher = store.fetchAttachment(found, ({ type }) => void events.push(type));
    expect(store.attachmentFetchers[0]).toBe(fetcher);
    const fetched = (await fetcher) as Compat.Attachment;
    expect(fetched).toBe(await fetcher.attachment);
    expect(new TextDecoder().decode(await fetched.data())).toBe("a photo");
    expect(events.at(-1)).toBe("Completed");
    expect(store.attachmentFetchers).toEqual([]);
  });

  local("an attachment field needs no declaration for a token", async (ditto) => {
    const photo = await ditto.store.newAttachment(new Uint8Array([1]));
    await ditto.store.execute("INSERT INTO p DOCUMENTS (:document)", {
      document: { _id: "p1", photo: photo.token },
    });
    const { items } = await ditto.store.execute("SELECT * FROM p");
    expect(items[0]?.value.photo.id).toBe(photo.id);
  });

  local("a fetch can be stopped, and a token that is none is refused", async (ditto) => {
    const absent = { id: "A".repeat(43), len: 3, metadata: {} };
    const fetcher = ditto.store.fetchAttachment(absent);
    fetcher.stop();
    expect([fetcher.isStopped, ditto.store.attachmentFetchers.length]).toEqual([true, 0]);
    expect(await codeOf(() => fetcher.attachment)).toBe("store/failed-to-fetch-attachment");
    const wrong = ditto.store.fetchAttachment({ id: "a", len: 1, metadata: {} });
    expect(await codeOf(() => wrong)).toBe("store/attachment-token-invalid");
  });

  local("metadata of an attachment is texts", async (ditto) => {
    const create = (): unknown => ditto.store.newAttachment(new Uint8Array(1), { a: 1 } as never);
    expect(await codeOf(create)).toBe("store/failed-to-create-attachment");
  });

  // 1.3 Results and diffs

  local("an item has its value, JSON and CBOR, and can drop the value", async (ditto) => {
    const document = { _id: "a", n: 2n ** 60n, b: new Uint8Array([1, 255]), m: { z: [1.5] } };
    const written = await ditto.store.execute("INSERT INTO t DOCUMENTS (:document)", { document });
    expect(typeof written.commitID).toBe("bigint");
    const result = await ditto.store.execute("SELECT * FROM t");
    expect([result.commitID, result.mutatedDocumentIDs()]).toEqual([null, []]);
    const [item] = result.items;
    if (item === undefined) throw new Error("expected an item");
    expect(item.isMaterialized).toBe(false);
    expect(item.jsonString()).toBe(
      '{"_id":"a","b":[1,255],"m":{"z":[1.5]},"n":1152921504606846976}',
    );
    expect(item.cborData() instanceof Uint8Array).toBe(true);
    expect(item.isMaterialized).toBe(false);
    expect(item.value).toEqual(document);
    expect(item.value).toBe(item.value);
    expect(item.isMaterialized).toBe(true);
    item.value.n = 5;
    item.dematerialize();
    expect(item.isMaterialized).toBe(false);
    expect(item.value.n).toBe(2n ** 60n);
    item.dematerialize();
    item.materialize();
    expect(item.isMaterialized).toBe(true);
  });

  local("a differ finds insertions, deletions, updates and moves", async (ditto) => {
    /** Letters are ids; a capital is another content. */
    const rows = async (letters: string): Promise<Compat.QueryResultItem[]> => {
      const ids = letters.toLowerCase().split("");
      const list = letters.split("").map((letter, i) => ({ _id: ids[i] ?? "", letter }));
      const text =
        list.length === 0 ? "" : "INSERT INTO t DOCUMENTS (:list) ON ID CONFLICT DO UPDATE";
      if (text !== "") await ditto.store.execute(text, { list });
      const { items } = await ditto.store.execute("SELECT * FROM t");
      const item = (id: string): Compat.QueryResultItem[] =>
        items.filter(({ value: { _id } }) => _id === id);
      return ids.flatMap(item);
    };
    const diff = async (before: string, after: string): Promise<string> => {
      const differ = new sdk.Differ();
      differ.diff(await rows(before));
      const { insertions, deletions, updates, moves } = differ.diff(await rows(after));
      return JSON.stringify([
        insertions,
        deletions,
        updates,
        moves.map(({ from, to }) => [from, to]),
      ]);
    };
    const found: string[] = [];
    for (const [before, after] of DIFFS) found.push(await diff(before, after));
    expect(found).toEqual(DIFFS.map(([, , expected]) => expected));
  });

  // 1.4 Sync, sync status, presence

  test("sync needs an expiration handler with a server, and none without", async () => {
    await use(serverConfig(), async (ditto) => {
      expect(await codeOf(() => ditto.sync.start())).toBe(
        "authentication/expiration-handler-missing",
      );
      expect(ditto.sync.isActive).toBe(false);
    });
    await use(localConfig(), (ditto) => {
      ditto.sync.start();
      expect(ditto.sync.isActive).toBe(true);
      ditto.sync.stop();
      expect(ditto.sync.isActive).toBe(false);
    });
  });

  syncing("a subscription brings the documents of another device", async (ditto) => {
    const collection = `c${crypto.randomUUID().slice(0, 8)}`;
    const query = `SELECT * FROM ${collection} WHERE n > :n`;
    const subscription = ditto.sync.registerSubscription(query, { n: 0 });
    expect([subscription.queryString, subscription.queryArguments]).toEqual([query, { n: 0 }]);
    expect(subscription.queryArgumentsJSONString).toBe('{"n":0}');
    expect([ditto.sync.subscriptions[0], ditto.sync.isActive]).toEqual([subscription, true]);
    let count = 0;
    ditto.store.registerObserver(`SELECT * FROM ${collection}`, ({ items }) => {
      count = items.length;
    });
    await use(serverConfig(), async (other) => {
      await logIn(other);
      other.sync.start();
      await other.store.execute(`INSERT INTO ${collection} DOCUMENTS ({'_id': 'a', 'n': 1})`);
      await until(() => count === 1);
    });
    subscription.cancel();
    expect([subscription.isCancelled, ditto.sync.subscriptions.length]).toEqual([true, 0]);
    ditto.sync.stop();
    expect(ditto.sync.isActive).toBe(false);
  });

  local("a subscription takes a SELECT", async (ditto) => {
    const subscribe = (): unknown => ditto.sync.registerSubscription("DELETE FROM t");
    expect(await codeOf(subscribe)).toBe("query/unsupported");
  });

  syncing("a commit has reached the server when data_sync_info says so", async (ditto) => {
    const { commitID } = await ditto.store.execute("INSERT INTO saved DOCUMENTS ({'n': 1})");
    let isSaved = false;
    const observer = ditto.store.registerObserver(
      "SELECT * FROM system:data_sync_info WHERE is_ditto_server",
      ({ items }) => {
        const { documents } = items[0]?.value ?? {};
        isSaved =
          documents.sync_session_status === "Connected" &&
          BigInt(documents.synced_up_to_local_commit_id) >= (commitID ?? 0n);
      },
    );
    await until(() => isSaved);
    observer.cancel();
  });

  local("system collections can be read", async (ditto) => {
    for (const name of ["collections", "indexes", "system_info", "data_sync_info"]) {
      const code = await codeOf(() => ditto.store.execute(`SELECT * FROM system:${name}`));
      expect([name, code]).toEqual([name, "no error"]);
    }
    expect((await ditto.store.execute("SHOW ALL")).items.length).toBeGreaterThan(0);
  });

  syncing("presence has this peer and the others of the server", async (ditto) => {
    const graphs: Compat.PresenceGraph[] = [];
    const observer = ditto.presence.observe((graph) => void graphs.push(graph));
    expect(graphs.length).toBe(1);
    const { localPeer } = ditto.presence.graph;
    expect([localPeer.connections, localPeer.isCompatible]).toEqual([[], true]);
    expect(typeof localPeer.os).toBe("string");
    await use(serverConfig(), async (other) => {
      await other.presence.setPeerMetadata({ role: "till" });
      await logIn(other);
      other.sync.start();
      const key = other.presence.graph.localPeer.peerKey;
      expect(key.length).toBeGreaterThan(10);
      await until(() => ditto.presence.graph.remotePeers.some((peer) => peer.peerKey === key));
      const found = ditto.presence.graph.remotePeers.find((peer) => peer.peerKey === key);
      expect(found?.peerMetadata).toEqual({ role: "till" });
      expect([found?.isConnectedToDittoServer, found?.identityServiceMetadata]).toEqual([true, {}]);
    });
    await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
    expect(graphs.length).toBeGreaterThan(1);
    expect(observer.isStopped).toBe(false);
    observer.stop();
    expect(observer.isStopped).toBe(true);
  });

  local("peer metadata is an object of at most 16 KB", async ({ presence }) => {
    expect([presence.peerMetadata, presence.peerMetadataJSONString]).toEqual([{}, "{}"]);
    await presence.setPeerMetadata({ role: "till" });
    await until(() => presence.peerMetadataJSONString === '{"role":"till"}');
    await presence.setPeerMetadataJSONString('{"role":"phone"}');
    await until(() => presence.peerMetadata["role"] === "phone");
    const set = (metadata: unknown) => () => presence.setPeerMetadata(metadata as never);
    expect(await codeOf(set([1]))).toBe("validation/not-an-object");
    expect(await codeOf(() => presence.setPeerMetadataJSONString("{"))).toBe(
      "validation/invalid-json",
    );
    if (!environment.isBrowser) {
      expect(await codeOf(set({ a: "x".repeat(20_000) }))).toBe("validation/size-limit-exceeded");
    }
  });

  local("a handler for connection requests is kept", ({ presence }) => {
    expect(presence.connectionRequestHandler).toBe(null);
    const handler = async (): Promise<"allow"> => "allow";
    presence.connectionRequestHandler = handler;
    expect(presence.connectionRequestHandler).toBe(handler);
  });

  local("small peer info keeps what is set", ({ smallPeerInfo }) => {
    expect([smallPeerInfo.isEnabled, smallPeerInfo.metadata]).toEqual([true, {}]);
    smallPeerInfo.metadata = { floor: 2 };
    expect(smallPeerInfo.metadataJSONString).toBe('{"floor":2}');
    smallPeerInfo.metadataJSONString = '{"floor":3}';
    expect(smallPeerInfo.metadata).toEqual({ floor: 3 });
    smallPeerInfo.isEnabled = false;
    expect(smallPeerInfo.isEnabled).toBe(false);
    expect(smallPeerInfo.syncScope).toBe("BigPeerOnly");
  });

  test("transport conditions say whether the server is there", async () => {
    await use(serverConfig(), async (ditto) => {
      const seen: string[] = [];
      const observer = ditto.observeTransportConditions((condition) => void seen.push(condition));
      await logIn(ditto);
      ditto.sync.start();
      await until(() => seen.includes("OK"));
      observer.stop();
    });
  });

  // 1.5 Authentication

  test("the expiration handler is called with 0, and its login authenticates", async () => {
    await use(serverConfig(), async (ditto) => {
      const statuses: unknown[] = [];
      ditto.auth.observeStatus((status) => void statuses.push(status));
      expect([ditto.auth.loginSupported, ditto.auth.status]).toEqual([
        true,
        { isAuthenticated: false, userID: null },
      ]);
      const calls: unknown[] = [];
      await ditto.auth.setExpirationHandler(async (self, seconds) => {
        const result = await self.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER);
        calls.push([self === ditto, seconds, result]);
      });
      await until(() => calls.length === 1);
      expect(calls).toEqual([[true, 0, { clientInfo: null, error: null }]]);
      expect(ditto.auth.status.isAuthenticated).toBe(true);
      expect(typeof ditto.auth.status.userID).toBe("string");
      expect(statuses).toEqual([ditto.auth.status]);
      ditto.sync.start();
      await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
      expect(calls).toHaveLength(1);
    });
  });

  test("a login that is refused resolves with its error", async () => {
    await use(serverConfig(), async (ditto) => {
      const { error, clientInfo } = await ditto.auth.login("wrong", "development");
      expect([error?.code, clientInfo]).toEqual(["authentication/failed-to-authenticate", null]);
      expect(error instanceof sdk.DittoError).toBe(true);
      expect(ditto.auth.status).toEqual({ isAuthenticated: false, userID: null });
    });
  });

  syncing("a logout stops sync, and a new login starts another session", async (ditto) => {
    await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
    await ditto.store.execute("INSERT INTO mine DOCUMENTS ({'_id': 'a'})");
    const before = ditto.auth.status.userID;
    let cleaned: unknown;
    await ditto.auth.logout((self) => {
      cleaned = self;
    });
    expect([cleaned === ditto, ditto.sync.isActive]).toEqual([true, false]);
    expect(ditto.auth.status).toEqual({ isAuthenticated: false, userID: null });
    expect((await ditto.store.execute("SELECT * FROM mine")).items).toHaveLength(1);
    ditto.sync.start();
    await until(() => ditto.auth.status.isAuthenticated);
    expect(ditto.auth.status.userID === before).toBe(false);
  });

  syncing("a login while sync is active changes the user", async (ditto) => {
    await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
    const before = ditto.auth.status.userID;
    await ditto.auth.login(token, Authenticator.DEVELOPMENT_PROVIDER);
    expect(ditto.auth.status.userID === before).toBe(false);
    await until(() => ditto.presence.graph.localPeer.isConnectedToDittoServer);
    expect(ditto.sync.isActive).toBe(true);
  });

  local("without a server there is nothing to log in to", ({ auth }) => {
    expect([auth.loginSupported, auth.status.isAuthenticated]).toEqual([false, true]);
    expect(auth.expirationHandler).toBe(null);
  });

  // 1.6 Errors and logging

  local("errors of statements have the codes, with the place and a hint", async ({ store }) => {
    await store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
    const run = (query: string, args?: object) => (): unknown =>
      store.execute(query, args as Compat.DQLQueryArguments);
    expect(await codeOf(run("SELECT * FORM t"))).toBe("query/invalid");
    expect(await codeOf(run("SELECT * FROM t WHERE a = :a", { a: new Date() }))).toBe(
      "query/arguments-invalid",
    );
    expect(await codeOf(run("INSERT INTO t DOCUMENTS ({'_id': 'a'})"))).toBe("query/evaluation");
    expect(await codeOf(run("ALTER SYSTEM SET dql_strict_mod = true"))).toBe("query/parameter");
    const error = await store.execute("SELECT *\nFORM t").catch((thrown: unknown) => thrown);
    const { line, column, name, message } = error as Compat.DittoError;
    expect([error instanceof sdk.DittoError, error instanceof Error]).toEqual([true, true]);
    expect([name, line, column, message.length > 10]).toEqual(["DittoError", 2, 1, true]);
  });

  test("each code has a message", () => {
    const codes = Object.keys(sdk.ERROR_CODES) as Compat.ErrorCode[];
    expect(codes.length).toBeGreaterThan(40);
    for (const code of codes) {
      const error = new sdk.DittoError(code);
      expect([error.code, error.message]).toEqual([code, sdk.ERROR_CODES[code]]);
    }
    expect(new sdk.DittoError("unknown", "mine").message).toBe("mine");
  });

  test("the logger shows what is of its level", async () => {
    const { Logger } = sdk;
    expect([Logger.enabled, Logger.minimumLogLevel, Logger.logFile]).toEqual([
      true,
      "Info",
      undefined,
    ]);
    const seen: string[] = [];
    const callback: Compat.CustomLogCallback = (level, message) => void seen.push(level + message);
    await Logger.setCustomLogCallback(callback);
    expect(Logger.customLogCallback).toBe(callback);
    Logger.minimumLogLevel = "Debug";
    Logger.debug(" a");
    Logger.verbose(" b");
    Logger.log("Info", " c");
    Logger.minimumLogLevel = "Error";
    Logger.warning(" d");
    Logger.enabled = false;
    Logger.error(" e");
    Logger.enabled = true;
    Logger.minimumLogLevel = "Info";
    Logger.info(" f");
    await Logger.setCustomLogCallback(undefined);
    expect(seen.filter((line) => / [a-f]$/.test(line))).toEqual(["Debug a", "Info c", "Info f"]);
    const wrong = (): void => {
      Logger.minimumLogLevel = "Loud" as never;
    };
    expect(await codeOf(wrong)).toBe("unsupported");
  });
}

/** Rows before, rows after, and their insertions, deletions, updates and moves. */
const DIFFS = [
  ["", "abc", "[[0,1,2],[],[],[]]"],
  ["abc", "", "[[],[2,1,0],[],[]]"],
  ["abc", "abc", "[[],[],[],[]]"],
  ["abc", "bc", "[[],[0],[],[]]"],
  ["abc", "xabc", "[[0],[],[],[]]"],
  ["abc", "aBc", "[[],[],[1],[]]"],
  ["abc", "cab", "[[],[],[],[[2,0],[0,1],[1,2]]]"],
  ["abc", "cAb", "[[],[],[1],[[2,0],[0,1],[1,2]]]"],
  ["abcdef", "fbcdea", "[[],[],[],[[5,0],[0,5]]]"],
  ["abcde", "axcye", "[[1,3],[3,1],[],[]]"],
  ["abcd", "dxa", "[[1],[2,1],[],[[3,0],[0,2]]]"],
  ["abc", "bxA", "[[1],[2],[2],[[1,0],[0,2]]]"],
] as const;
