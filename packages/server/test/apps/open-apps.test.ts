/**
 * Apps that are opened when they are used and closed when they are not, on real folders.
 */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "@bigpeer/protocol";
import { describe, expect, test, vi } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import type { OpenApp } from "../../src/apps/open-app.ts";
import type { AppUse, OpenApps } from "../../src/apps/open-apps.ts";
import { appStoreFolder } from "../../src/config/data-folder.ts";
import { type AppFolders, idOfApp, makeAppFolders } from "../support/app-folders.ts";
import { hasOpenFiles, openFilesIn } from "../support/open-files.ts";

const ONE = idOfApp(0);
const TWO = idOfApp(1);
const THREE = idOfApp(2);

/** Short, so that apps are closed while the test waits for it. */
const SOON_MS = 4;

async function insert({ store }: OpenApp, id: string): Promise<void> {
  await store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id, fields: {} }]);
  });
}

function countOf({ store }: OpenApp): number {
  return store.read((view) => view.count("cars"));
}

function openIds(apps: OpenApps): string[] {
  return apps.open.map(({ id }) => id);
}

/** What a promise rejects with, in words. */
async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    return error instanceof Error ? error.message : "not an error";
  }
}

/** Does something with an app as a request does. */
async function withApp<T>(
  apps: OpenApps,
  id: string,
  work: (app: OpenApp) => T | Promise<T>,
): Promise<T> {
  const use = apps.tryUse(id) ?? (await apps.use(id));
  try {
    return await work(use.app);
  } finally {
    use.release();
  }
}

describe("an app", () => {
  test("is opened by its first use, and no other app is", async () => {
    const { openApps } = await makeAppFolders(2);
    const apps = openApps();
    expect(apps.open).toEqual([]);
    expect(apps.tryUse(ONE)).toBeUndefined();
    const use = await apps.use(ONE);
    expect(use.app.id).toBe(ONE);
    expect(openIds(apps)).toEqual([ONE]);
    const again = apps.tryUse(ONE);
    expect(again?.app).toBe(use.app);
  });

  test("is opened once, however many callers use it first", async () => {
    const opened: string[] = [];
    const { openApps } = await makeAppFolders(2);
    const onOpened = ({ id }: OpenApp) => {
      opened.push(id);
      return () => {};
    };
    const apps = openApps({ onOpened });
    const ids = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? ONE : TWO));
    const uses = await Promise.all(ids.map((id) => apps.use(id)));
    expect(new Set(uses.map(({ app }) => app)).size).toBe(2);
    expect(opened.toSorted()).toEqual([ONE, TWO]);
  });

  test("has the settings that the registry has at that moment", async () => {
    const { openApps, known } = await makeAppFolders(1);
    const { app } = await openApps().use(ONE);
    expect([app.name, app.settings.isV4Strict]).toEqual(["app-0", false]);
    const before = known.get(ONE);
    assert(before !== undefined, "an app of the folder");
    known.set(ONE, { ...before, settings: { isV4Strict: true, isUnknownEmpty: false } });
    expect(app.settings.isV4Strict).toBe(true);
    known.delete(ONE);
    expect(app.name).toBe("app-0");
  });

  test("that is not in the registry is refused, and nothing is created for it", async () => {
    const { openApps, dataDir, host } = await makeAppFolders(1);
    await expect(openApps().use(TWO)).rejects.toMatchObject({ code: "store.closed" });
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
    expect(host.lines).toEqual([]);
  });
});

describe("an idle app", () => {
  test("is closed, has no file open, and is opened again with its data", async () => {
    const { openApps, dataDir } = await makeAppFolders(1);
    const apps = openApps({ idleMs: SOON_MS });
    await withApp(apps, ONE, (app) => insert(app, "blue"));
    await vi.waitFor(() => expect(apps.open).toEqual([]));
    if (hasOpenFiles) await vi.waitFor(() => expect(openFilesIn(dataDir)).toEqual([]));
    expect(apps.tryUse(ONE)).toBeUndefined();
    expect(await withApp(apps, ONE, countOf)).toBe(1);
  });

  test.runIf(hasOpenFiles)("has files open while it is open", async () => {
    const { openApps, dataDir } = await makeAppFolders(1);
    await withApp(openApps(), ONE, () => {});
    expect(openFilesIn(dataDir)).toContain(join(appStoreFolder(dataDir, ONE), "data.mdb"));
  });

  test("stays open while a caller holds it", async () => {
    const { openApps } = await makeAppFolders(2);
    const apps = openApps({ idleMs: SOON_MS });
    const held = await apps.use(ONE);
    const second = apps.tryUse(ONE);
    second?.release();
    // Another one that comes and goes shows that it was looked for idle ones.
    for (let i = 0; i < 3; i++) {
      await withApp(apps, TWO, () => {});
      await vi.waitFor(() => expect(openIds(apps)).toEqual([ONE]));
    }
    expect(countOf(held.app)).toBe(0);
    held.release();
    await vi.waitFor(() => expect(apps.open).toEqual([]));
  });

  test("keeps the settings of ALTER SYSTEM when it closes, and forgets reset ones", async () => {
    const { openApps } = await makeAppFolders(1);
    const apps = openApps({ idleMs: SOON_MS });
    const run = (statement: string): Promise<unknown> =>
      withApp(apps, ONE, async ({ statements }) => (await statements.execute({ statement })).items);
    const closed = (): Promise<void> => vi.waitFor(() => expect(apps.open).toEqual([]));
    await run("ALTER SYSTEM SET dql_strict_mode = true");
    await closed();
    expect(await run("SHOW dql_strict_mode")).toEqual([{ dql_strict_mode: true }]);
    await run("ALTER SYSTEM RESET dql_strict_mode");
    await closed();
    expect(await run("SHOW dql_strict_mode")).toEqual([{ dql_strict_mode: false }]);
  });
});

test.runIf(isFullSize)(
  "a caller that comes while an app is being closed waits and gets it opened again",
  async () => {
    const { openApps, host } = await makeAppFolders(1);
    const apps = openApps({ idleMs: 1 });
    // Idle after each turn of the event loop or two: so uses meet all moments of the closing.
    let reopened = 0;
    let last: OpenApp | undefined;
    for (let round = 0; round < 60; round++) {
      const ids = Array.from({ length: 4 }, (_, i) => `${round}-${i}`);
      await Promise.all(ids.map((id) => withApp(apps, ONE, (app) => insert(app, id))));
      const app = await withApp(apps, ONE, (each) => each);
      if (app !== last) reopened++;
      last = app;
      // As many turns as the number of the round says.
      for (let turn = 0; turn < round % 12; turn++)
        await new Promise((resolve) => setImmediate(resolve));
      if (round % 5 === 0) await vi.waitFor(() => expect(apps.open).toEqual([]));
    }
    expect(await withApp(apps, ONE, countOf)).toBe(240);
    expect(reopened).toBeGreaterThan(10);
    expect(host.lines).toEqual([]);
  },
);

describe("a store that cannot be opened", () => {
  function breakStore({ dataDir }: AppFolders, id: string): void {
    writeFileSync(join(appStoreFolder(dataDir, id), "data.mdb"), "not a store".repeat(1000));
  }

  test("is reported to the callers of its app, and logged once for each attempt", async () => {
    const folders = await makeAppFolders(2);
    breakStore(folders, ONE);
    let nowMs = 0;
    const platform = { ...folders.host.platform, elapsed: () => nowMs };
    const apps = folders.openApps({ host: { ...folders.host, platform } });
    const tried = [apps.use(ONE), apps.use(ONE), apps.use(TWO)];
    const [first, second, other] = await Promise.allSettled(tried);
    expect([first?.status, second?.status, other?.status]).toEqual([
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    nowMs = 4_999;
    await expect(apps.use(ONE)).rejects.toMatchObject({ code: "store.foreign" });
    expect(folders.host.lines).toHaveLength(1);
    expect(folders.host.lines[0]).toContain(`error failed to open the app ${ONE}: expected`);
    nowMs = 5_000;
    await expect(apps.use(ONE)).rejects.toMatchObject({ code: "store.foreign" });
    expect(folders.host.lines).toHaveLength(2);
    expect(openIds(apps)).toEqual([TWO]);
  });

  test("that was lost is not created again", async () => {
    const { openApps, dataDir } = await makeAppFolders(1);
    rmSync(appStoreFolder(dataDir, ONE), { recursive: true });
    await expect(openApps().use(ONE)).rejects.toMatchObject({ code: "store.corrupt" });
  });

  test("does not count towards the limit of open apps", async () => {
    const folders = await makeAppFolders(3);
    breakStore(folders, ONE);
    const apps = folders.openApps({ openMax: 2 });
    await expect(apps.use(ONE)).rejects.toMatchObject({ code: "store.foreign" });
    await apps.use(TWO);
    await apps.use(THREE);
    expect(openIds(apps)).toEqual([TWO, THREE]);
  });
});

describe("an app that was opened before something else fails", () => {
  test("is closed again, and does not count as open", async () => {
    const { openApps, dataDir, host } = await makeAppFolders(2);
    let isBroken = true;
    const onOpened = () => {
      if (isBroken) throw new Error("nobody can watch it");
      return () => {};
    };
    let nowMs = 0;
    const platform = { ...host.platform, elapsed: () => nowMs };
    const apps = openApps({ onOpened, openMax: 1, host: { ...host, platform } });
    await expect(apps.use(ONE)).rejects.toThrow("nobody can watch it");
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
    expect(apps.hasFailed(ONE)).toBe(true);
    expect(host.lines).toEqual([
      expect.stringContaining(`error failed to open the app ${ONE}: Error: nobody can watch it`),
    ]);
    isBroken = false;
    (await apps.use(TWO)).release();
    nowMs = 5_000;
    expect((await apps.use(ONE)).app.id).toBe(ONE);
    expect(apps.hasFailed(ONE)).toBe(false);
  });

  test("is closed with its files even if its watcher fails", async () => {
    const { openApps, dataDir, host } = await makeAppFolders(1);
    const onOpened = () => () => {
      throw new Error("nobody was watching");
    };
    const apps = openApps({ onOpened });
    (await apps.use(ONE)).release();
    await apps.close();
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
    expect(host.lines).toEqual([
      expect.stringContaining(
        `error failed to end the requests of the app ${ONE} (it is closed all the same): Error: nobody was watching`,
      ),
    ]);
  });
});

describe("at the limit of open apps", () => {
  test("the longest unused app is closed to make room", async () => {
    const { openApps } = await makeAppFolders(3);
    const apps = openApps({ openMax: 2 });
    const held = await apps.use(ONE);
    await withApp(apps, TWO, () => {});
    await apps.use(THREE);
    expect(openIds(apps)).toEqual([ONE, THREE]);
    expect(countOf(held.app)).toBe(0);
  });

  test("and with all in use, the next app is refused for now", async () => {
    const { openApps, host } = await makeAppFolders(3);
    const apps = openApps({ openMax: 2 });
    const held = await apps.use(ONE);
    await apps.use(TWO);
    await expect(apps.use(THREE)).rejects.toMatchObject({ code: "store.busy" });
    held.release();
    expect((await apps.use(THREE)).app.id).toBe(THREE);
    expect(host.lines).toEqual([]);
  });

  test("all apps that are used one after the other are served, however they overlap", async () => {
    const { openApps, ids } = await makeAppFolders(6);
    const apps = openApps({ openMax: 2 });
    const served: string[] = [];
    for (let round = 0; round < 5; round++) {
      const order = round % 2 === 0 ? ids : ids.toReversed();
      const pairs = [order.slice(0, 2), order.slice(2, 4), order.slice(4)];
      for (const pair of pairs) {
        await Promise.all(pair.map((id) => withApp(apps, id, () => served.push(id))));
      }
    }
    expect(served).toHaveLength(30);
    expect(openIds(apps).length).toBeLessThanOrEqual(2);
  });
});

describe("a deleted app", () => {
  test("is refused at once, cancels its statements, and closes when its uses end", async () => {
    const { openApps, known, dataDir } = await makeAppFolders(1);
    const apps = openApps();
    const use: AppUse = await apps.use(ONE);
    await insert(use.app, "blue");
    const endless = "SELECT COUNT(*) FROM cars a JOIN cars b ON true JOIN cars c ON true";
    for (let i = 0; i < 200; i++) await insert(use.app, `car ${i}`);
    const running = outcomeOf(use.app.statements.execute({ statement: endless }));
    await vi.waitFor(() => expect(use.app.statements.requests.totals.active).toBe(1));
    known.delete(ONE);
    const closing = apps.closeApp(ONE);
    expect(apps.tryUse(ONE)).toBeUndefined();
    const refused = outcomeOf(apps.use(ONE));
    expect(await running).toContain("the app was deleted");
    expect(countOf(use.app)).toBe(201);
    use.release();
    await closing;
    expect(await refused).toBe(`expected an app of this server, found none with the id ${ONE}`);
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
  });

  test("is closed after a while even if a use does not end", async () => {
    const { openApps, known } = await makeAppFolders(1);
    const apps = openApps({ closeMsMax: 10 });
    const use = await apps.use(ONE);
    known.delete(ONE);
    await apps.closeApp(ONE);
    expect(() => countOf(use.app)).toThrow(expect.objectContaining({ code: "store.closed" }));
    use.release();
  });

  test("is closed after a while even during a slow upload, which is ended", async () => {
    const { openApps, known, dataDir, host } = await makeAppFolders(1);
    const apps = openApps({ closeMsMax: 10 });
    const use = await apps.use(ONE);
    async function* trickle(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("begun");
      await new Promise(() => {});
    }
    const uploading = use.app.attachments.add(trickle(), "ann");
    known.delete(ONE);
    const [ended] = await Promise.allSettled([uploading, apps.closeApp(ONE)]);
    expect(ended).toMatchObject({ status: "rejected", reason: { code: "store.closed" } });
    use.release();
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
    expect(host.lines).toEqual([]);
  });

  test("does not stay open if it was being opened", async () => {
    const { openApps, known, dataDir } = await makeAppFolders(1);
    const apps = openApps();
    const opening = Promise.allSettled([apps.use(ONE), apps.use(ONE)]);
    known.delete(ONE);
    const closing = apps.closeApp(ONE);
    for (const each of await opening) if (each.status === "fulfilled") each.value.release();
    await closing;
    expect(apps.open).toEqual([]);
    if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
  });

  test("that was not open needs nothing", async () => {
    const { openApps } = await makeAppFolders(1);
    const apps = openApps();
    await apps.closeApp(ONE);
    expect(apps.open).toEqual([]);
  });
});

describe("a visit", () => {
  test("opens an app and closes it again", async () => {
    const { openApps } = await makeAppFolders(1);
    const apps = openApps();
    const visited: string[] = [];
    await apps.visit(ONE, async ({ id }) => {
      visited.push(id);
      expect(openIds(apps)).toEqual([ONE]);
    });
    expect(visited).toEqual([ONE]);
    expect(apps.open).toEqual([]);
  });

  test("leaves an app open that was used before or meanwhile", async () => {
    const { openApps } = await makeAppFolders(2);
    const apps = openApps();
    await withApp(apps, ONE, () => {});
    await apps.visit(ONE, async () => {});
    await apps.visit(TWO, () => withApp(apps, TWO, () => {}));
    expect(openIds(apps)).toEqual([ONE, TWO]);
  });

  test("of open apps only does nothing if the app is closed, and keeps no idle one open", async () => {
    const { openApps } = await makeAppFolders(1);
    const apps = openApps({ idleMs: SOON_MS });
    await apps.visitOpen(ONE, async () => expect.unreachable());
    await withApp(apps, ONE, () => {});
    await vi.waitFor(async () => {
      await apps.visitOpen(ONE, async () => {});
      expect(apps.open).toEqual([]);
    });
  });

  test("is notified if its app is deleted", async () => {
    const { openApps, known } = await makeAppFolders(1);
    const apps = openApps();
    let closing: Promise<void> | undefined;
    await apps.visit(ONE, async (_, isOver) => {
      expect(isOver()).toBe(false);
      known.delete(ONE);
      closing = apps.closeApp(ONE);
      await vi.waitFor(() => expect(isOver()).toBe(true));
    });
    await closing;
    expect(apps.open).toEqual([]);
  });
});

test("closing the server closes all apps, whether or not they are in use, and refuses the next use", async () => {
  const { openApps, dataDir } = await makeAppFolders(2);
  const closed: string[] = [];
  const onOpened =
    ({ id }: OpenApp) =>
    () =>
      void closed.push(id);
  const apps = openApps({ onOpened });
  const { app } = await apps.use(ONE);
  const written = insert(app, "blue");
  const opening = Promise.allSettled([apps.use(TWO)]);
  await Promise.all([apps.close(), apps.close()]);
  await written;
  await opening;
  expect(closed.toSorted()).toEqual([ONE, TWO]);
  if (hasOpenFiles) expect(openFilesIn(dataDir)).toEqual([]);
  await expect(apps.use(ONE)).rejects.toMatchObject({ code: "store.closed" });
});
