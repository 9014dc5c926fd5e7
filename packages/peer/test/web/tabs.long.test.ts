/**
 * Tabs of real browsers that share one peer: their writes, their ends, their credentials, builds of
 * two versions, and what a browser can refuse.
 */

import { expect, onTestFinished, test } from "vitest";
import { CuttingProxy } from "../support/cutting-proxy.ts";
import { GUEST, provide } from "../support/guest-login.ts";
import { NEWER_VERSION, type PeerTab, PeerTabs } from "../support/peer-tab.ts";
import { browsers, openForTest, sharedBrowsers } from "../support/real-browsers.ts";
import { until } from "../support/turns.ts";

const INSERT = (id: string): string => `INSERT INTO t DOCUMENTS ({'_id': '${id}'})`;
const IDS = "SELECT _id FROM t ORDER BY _id";
const ids = (...all: string[]): { _id: string }[] => all.map((_id) => ({ _id }));

/** Runs at once, if no other transaction is open. */
const COUNT_IN_TRANSACTION = `peer.store.transaction(async (tx) =>
  (await tx.execute("${IDS}")).items.length)`;

const CONNECTED = "peer.sync.status.state === 'connected'";
const UPLOADED = `${CONNECTED} && peer.sync.status.pendingCount === 0`;

const LOGIN = `() => {
  window.logins = (window.logins ?? 0) + 1;
  return ${JSON.stringify(GUEST)};
}`;

/** Counts up until `stopWriting`, which resolves with the number of writes. */
const WRITE_ON = `(async () => {
  const { store } = peer;
  await store.execute("INSERT INTO counters DOCUMENTS ({'_id': 'c'})");
  let [writes, isOver] = [0, false];
  const writing = (async () => {
    for (; !isOver; writes++) {
      await store.execute("UPDATE counters APPLY n PN_INCREMENT BY 1 WHERE _id = 'c'");
    }
  })();
  window.stopWriting = () => {
    isOver = true;
    return writing.then(() => writes);
  };
})()`;

/** `seen` has the ids after each change. */
const OBSERVE = `(() => {
  window.seen = [];
  peer.store.registerObserver("${IDS}", ({ items }) => seen.push(items.map(({ _id }) => _id)));
})()`;

/** A service worker that keeps the files, and lets nothing else through. */
const KEEP_FILES = `
  const FILES = ["./", "bigpeer.js", "bigpeer-loader.js", "bigpeer-worker.js"];
  const keep = async () => (await caches.open("files")).addAll(FILES);
  addEventListener("install", (event) => event.waitUntil(keep()));
  addEventListener("fetch", (event) => {
    event.respondWith(caches.match(event.request).then((found) => found ?? Response.error()));
  });`;

const sharedBrowser = sharedBrowsers();

interface Targets {
  readonly targetInfos: readonly { readonly type: string; readonly targetId: string }[];
}

/** Ends the worker of a tab, as a browser does that needs memory. */
async function killWorker({ page }: PeerTab): Promise<void> {
  const session = await page.createCDPSession();
  const { targetInfos } = (await session.send("Target.getTargets", {})) as Targets;
  const workers = targetInfos.filter(({ type }) => type === "shared_worker");
  expect(workers).toHaveLength(1);
  await session.send("Target.closeTarget", { targetId: workers[0]?.targetId });
}

/** As `rows`. A call that went to the killed worker rejects, and the app makes it again. */
function rowsAgain(tab: PeerTab, statement: string): Promise<unknown> {
  return tab.run(`(async () => {
    for (;;) {
      try {
        return (await peer.store.execute(${JSON.stringify(statement)})).items;
      } catch (error) {
        if (error.code !== "store.write_failed") throw error;
      }
    }
  })()`);
}

/** Ends the process of a tab. */
async function crash({ page }: PeerTab): Promise<void> {
  const session = await page.createCDPSession();
  // It has no answer: the tab is gone.
  session.send("Page.crash", {}).catch(() => {});
}

async function setFrozen({ page }: PeerTab, isFrozen: boolean): Promise<void> {
  const session = await page.createCDPSession();
  await session.send("Page.setWebLifecycleState", { state: isFrozen ? "frozen" : "active" });
}

for (const { name, absence } of browsers) {
  const because = absence === undefined ? "" : ` (left out: ${absence})`;

  const isHere = absence === undefined;
  /** For what only the DevTools protocol can do. */
  const isChromium = isHere && name === "chromium";

  const openTabs = async (scripts?: Readonly<Record<string, string>>): Promise<PeerTabs> => {
    const browser = await sharedBrowser(name);
    return PeerTabs.open((url) => browser.openPage(url), scripts);
  };

  test.runIf(isHere)(
    `${name}: what was written offline is there after reloads, and uploaded once${because}`,
    async () => {
      const tabs = await openTabs();
      const port = Number(new URL(tabs.server.running.url).port);
      const proxy = await CuttingProxy.open(1);
      onTestFinished(() => proxy.close());
      const other = await tabs.server.peer();
      const subscription = other.sync.registerSubscription("SELECT * FROM t");
      other.sync.start();
      await subscription.whenReady();

      const offline = { options: { url: proxy.url } };
      const tab = await tabs.openTab(offline);
      for (const id of ["a", "b", "c"]) {
        await tab.run("peer.sync.start()");
        await tab.rows(INSERT(id));
        await tab.rows(`UPDATE t APPLY n PN_INCREMENT BY 1 WHERE _id = '${id}'`);
        await tab.reload(offline);
      }
      const all = ["a", "b", "c"].map((_id) => ({ _id, n: 1 }));
      const query = "SELECT _id, n FROM t ORDER BY _id";
      expect(await tab.rows(query)).toEqual(all);
      expect(await tab.run("peer.sync.status.pendingCount")).toBe(6);
      expect(await tabs.atServer(IDS)).toEqual([]);

      proxy.moveTo(port);
      await tab.run("peer.sync.start()");
      await tab.until(UPLOADED);
      expect(await tabs.atServer(query)).toEqual(all);
      const here = async (): Promise<unknown> => (await other.store.execute(query)).items;
      await until(async () => JSON.stringify(await here()) === JSON.stringify(all));
      expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: tabs see each other's writes over one connection, without the first${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await other.run(OBSERVE);
      await one.rows(INSERT("a"));
      await other.until("seen.at(-1)", ["a"]);
      await one.run("peer.sync.start()");
      await other.until(UPLOADED);
      expect(await tabs.atServer("SELECT COUNT(*) AS n FROM system:peers")).toEqual([{ n: 1 }]);
      // The first tab has made the worker.
      await one.page.close();
      await other.rows(INSERT("b"));
      await other.until("seen.at(-1)", ["a", "b"]);
      await other.until(UPLOADED);
      expect(await tabs.atServer(IDS)).toEqual(ids("a", "b"));
      expect(await other.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: the transaction of a tab that closes is rolled back at once${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await other.beginTransaction("a");
      const waiting = one.run(COUNT_IN_TRANSACTION);
      const closedMs = performance.now();
      await other.page.close();
      expect(await waiting).toBe(0);
      // A frozen tab would have 5 s.
      expect(performance.now() - closedMs).toBeLessThan(4_000);
    },
  );

  test.runIf(isHere)(
    `${name}: the transaction of a tab that reloads is rolled back at once${because}`,
    async () => {
      const tabs = await openTabs();
      const tab = await tabs.openTab();
      await tab.beginTransaction("a");
      await tab.reload();
      expect(await tab.run(COUNT_IN_TRANSACTION)).toBe(0);
    },
  );

  test.runIf(isHere)(`${name}: start, stop and logout hold for all tabs${because}`, async () => {
    const tabs = await openTabs();
    await provide(tabs.server, 3600);
    const [one, other] = [
      await tabs.openTab({ login: LOGIN }),
      await tabs.openTab({ login: LOGIN }),
    ];
    await one.run("peer.sync.start()");
    await other.until(CONNECTED);
    expect(await other.run("[peer.sync.isActive, peer.auth.status.isAuthenticated]")).toEqual([
      true,
      true,
    ]);
    await other.run("peer.sync.stop()");
    await one.until("peer.sync.status.state", "stopped");
    // The session is still valid: no tab is asked for a login again.
    await other.run("peer.sync.start()");
    await one.until(CONNECTED);
    await one.run("peer.auth.logout((peer) => { window.cleaned = peer.appId; })");
    expect(await one.run("cleaned")).toBe(tabs.server.content.appId);
    await other.until("[peer.sync.isActive, peer.auth.status.isAuthenticated]", [false, false]);
    expect(await Promise.all([one, other].map((tab) => tab.run("window.logins ?? 0")))).toEqual([
      0, 1,
    ]);
    // The tab that can be asked is the one that was opened last; when it is gone, the other.
    await other.page.close();
    await one.run("peer.sync.start()");
    await one.until(CONNECTED);
    expect(await one.run("[logins, peer.auth.status.isAuthenticated]")).toEqual([1, true]);
    expect(await one.run("events")).toEqual([]);
  });

  test.runIf(isHere)(
    `${name}: a new credential replaces the old one, at once${because}`,
    async () => {
      const tabs = await openTabs();
      const one = await tabs.openTab({ options: { token: "not-a-key" } });
      await one.run("peer.sync.start()");
      await one.until("peer.sync.status.code", "unauthorized");
      const other = await tabs.openTab();
      await one.until(CONNECTED);
      await provide(tabs.server, 3600);
      const third = await tabs.openTab({ login: LOGIN });
      await one.run("peer.sync.stop()");
      await one.run("peer.sync.start()");
      await third.until("peer.auth.status.isAuthenticated && window.logins", 1);
      await other.until(CONNECTED);
      expect(await other.run("typeof peer.auth.status.userId")).toBe("string");
    },
  );

  test.runIf(isHere)(
    `${name}: another url under the same name is refused, another name is not${because}`,
    async () => {
      const tabs = await openTabs();
      await tabs.openTab();
      const other = { options: { url: "http://127.0.0.1:1" } };
      const tab = await tabs.newTab();
      expect(await tab.openPeer(other)).toMatch(/^config.invalid: expected the url of the other/);
      expect(await tab.openPeer({ options: { ...other.options, name: "second" } })).toBe("opened");
    },
  );

  test.runIf(isHere)(
    `${name}: close ends the peer of one page only, and it can be opened again${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await one.run("peer.sync.start()");
      await other.until(CONNECTED);
      await one.run("peer.close()");
      expect(await one.run("[peer.isClosed, peer.store.observers.length]")).toEqual([true, 0]);
      const refused = `peer.store.execute("${IDS}").catch(({ code }) => code)`;
      expect(await one.run(refused)).toBe("store.closed");
      await other.rows(INSERT("a"));
      await other.until(UPLOADED);
      expect(await one.openPeer()).toBe("opened");
      expect(await one.rows(IDS)).toEqual(ids("a"));
      expect(await one.run(CONNECTED)).toBe(true);
      // The last one closes the connection, too.
      for (const tab of [one, other]) await tab.run("peer.close()");
      const connected = async (): Promise<unknown> =>
        tabs.atServer("SELECT COUNT(*) AS n FROM system:peers");
      await until(async () => JSON.stringify(await connected()) === '[{"n":0}]');
    },
  );

  test.runIf(isHere)(
    `${name}: subscriptions of a page that is gone end, and its documents stay${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      const writer = await tabs.server.peer();
      writer.sync.start();
      const write = async (collection: string, id: string): Promise<void> => {
        await writer.store.execute(`INSERT INTO ${collection} DOCUMENTS ({'_id': '${id}'})`);
      };
      await one.run(`(() => {
      peer.sync.registerSubscription("SELECT * FROM t");
      peer.sync.start();
    })()`);
      await other.run(`peer.sync.registerSubscription("SELECT * FROM u").whenReady()`);
      await other.run(`window.countOf = async (collection) =>
      (await peer.store.execute("SELECT _id FROM " + collection)).items.length`);
      await write("t", "a");
      await other.until("countOf('t')", 1);
      await one.page.close();
      // The worker notices the end of the page by its lock: then there is one subscription less.
      const subscribed = `peer.store.execute("SELECT * FROM system:data_sync_info")
      .then(({ items }) => items.length)`;
      await other.until(subscribed, 1);
      await write("t", "b");
      await write("u", "a");
      await other.until("countOf('u')", 1);
      expect(await other.run("countOf('t')")).toBe(1);
    },
  );

  test.runIf(isHere)(
    `${name}: a newer build takes over, and tabs of the older one go on with it${because}`,
    async () => {
      const tabs = await openTabs();
      const older = await tabs.openTab();
      await older.run(OBSERVE);
      await older.run("peer.sync.start()");
      await older.rows(INSERT("a"));
      await older.run(WRITE_ON);
      const busy = await tabs.openTab();
      await busy.beginTransaction("never");
      const newer = await tabs.openTab({ build: "newer" });
      expect(await busy.run("ended")).toBe("store.busy");
      expect(await busy.run(COUNT_IN_TRANSACTION)).toBe(1);
      expect(await newer.rows(IDS)).toEqual(ids("a"));
      await older.until(
        `peer.presence.graph.localPeer.sdkVersion.endsWith("/${NEWER_VERSION}") && ${CONNECTED}`,
      );
      // The older one wrote all the time: no write is refused, or done twice.
      const written = await older.run("stopWriting()");
      const counted = await newer.rows("SELECT n FROM counters");
      expect(counted).toEqual([{ n: written }]);
      await newer.rows(INSERT("b"));
      await older.until("seen.at(-1)", ["a", "b"]);
      await older.rows(INSERT("c"));
      expect(await newer.rows(IDS)).toEqual(ids("a", "b", "c"));
      const late = await tabs.openTab();
      expect(await late.rows(IDS)).toEqual(ids("a", "b", "c"));
      await newer.page.close();
      await late.rows(INSERT("d"));
      await older.until("seen.at(-1)", ["a", "b", "c", "d"]);
      for (const tab of [older, busy, late]) expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: tabs of a build with an older protocol must reload${because}`,
    async () => {
      const tabs = await openTabs();
      const older = await tabs.openTab();
      await older.rows(INSERT("a"));
      const newer = await tabs.openTab({ build: "foreign" });
      expect(await newer.rows(IDS)).toEqual(ids("a"));
      await older.until("peer.isClosed");
      const refusal = [expect.stringMatching(/^store.in_use: .*reload this page/)];
      expect(await older.run("events")).toEqual(refusal);
      const late = await tabs.newTab();
      expect([await late.openPeer()]).toEqual(refusal);
      expect(await newer.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: a page of another origin runs the engine itself, and says so${because}`,
    async () => {
      const tabs = await openTabs();
      const tab = await tabs.openTab({ build: "elsewhere" });
      await tab.rows(INSERT("a"));
      const warned = [expect.stringMatching(/^warning: the engine runs in this page/)];
      await tab.until("events.length", 1);
      expect(await tab.run("events")).toEqual(warned);
      const second = await tabs.newTab("elsewhere");
      expect(await second.openPeer()).toMatch(/^store.in_use: /);
      // Also after a reload, and after close.
      await tab.reload();
      expect(await tab.rows(IDS)).toEqual(ids("a"));
      await tab.run("peer.close()");
      expect(await second.openPeer()).toBe("opened");
      expect(await second.rows(`SELECT _id FROM t WHERE regexp_like(_id, '^[a-c]$')`)).toEqual(
        ids("a"),
      );
      await second.run("peer.close()");
      expect(await second.openPeer()).toBe("opened");
    },
  );

  test.runIf(isHere)(
    `${name}: a copy of the worker on the own origin serves all tabs${because}`,
    async () => {
      const tabs = await openTabs();
      const workerUrl = `${tabs.siteUrl}usual/bigpeer-worker.js`;
      const open = { build: "elsewhere", options: { workerUrl } } as const;
      const [one, other] = [await tabs.openTab(open), await tabs.openTab(open)];
      await one.rows(INSERT("a"));
      expect(await other.rows(IDS)).toEqual(ids("a"));
      // One that would run the engine itself joins them.
      const third = await tabs.openTab({ build: "elsewhere" });
      expect(await third.rows(IDS)).toEqual(ids("a"));
      for (const tab of [one, other, third]) expect(await tab.run("events")).toEqual([]);
      const missing = { options: { workerUrl: `${tabs.siteUrl}none/worker.js` } };
      expect(await (await tabs.newTab()).openPeer(missing)).toMatch(/^config.invalid: the worker/);
    },
  );

  test.runIf(isHere)(
    `${name}: a loader that does not find the worker is config.invalid, each time${because}`,
    async () => {
      const tab = await (await openTabs()).newTab("engineless");
      for (let i = 0; i < 2; i++) {
        expect(await tab.openPeer()).toMatch(
          /^config.invalid: the worker of this peer cannot be loaded from .*\/engineless\/bigpeer-worker.js$/,
        );
      }
    },
  );

  test.runIf(isHere)(
    `${name}: behind a service worker that keeps the files, all tabs share one worker${because}`,
    async () => {
      const tabs = await openTabs({ "/usual/keep-files.js": KEEP_FILES });
      const first = await tabs.newTab();
      await first.run(`navigator.serviceWorker.register("keep-files.js")`);
      await first.run("navigator.serviceWorker.ready.then(() => undefined)");
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await one.rows(INSERT("a"));
      expect(await other.rows(IDS)).toEqual(ids("a"));
      expect(await other.run("navigator.serviceWorker.controller !== null")).toBe(true);
      for (const tab of [one, other]) expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: without IndexedDB the documents are in memory, and each tab is warned${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [
        await tabs.openTab({ build: "unstored" }),
        await tabs.openTab({ build: "unstored" }),
      ];
      await one.rows(INSERT("a"));
      expect(await other.rows(IDS)).toEqual(ids("a"));
      for (const tab of [one, other]) {
        await tab.until("events.length", 1);
        expect(await tab.run("events")).toEqual([
          "warning: the documents are kept in memory only: storage is forbidden",
        ]);
      }
      await one.page.close();
      await other.reload();
      expect(await other.rows(IDS)).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: erasing refuses waiting writes, and ends the peer of all tabs${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await one.rows(INSERT("a"));
      expect(await one.run("peer.erase().catch(({ code }) => code)")).toBe("store.pending");
      expect(await one.rows(IDS)).toEqual(ids("a"));
      await one.run("peer.erase({ force: true })");
      expect(await one.openPeer()).toBe("opened");
      expect(await one.rows(IDS)).toEqual([]);
      await other.until("peer.isClosed");
      expect(await other.run("events")).toEqual([expect.stringMatching(/^store.closed: .*erased/)]);
      expect(await other.openPeer()).toBe("opened");
    },
  );

  test.runIf(isHere)(
    `${name}: a database that is deleted begins again, with a warning${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, other] = [await tabs.openTab(), await tabs.openTab()];
      await one.rows(INSERT("a"));
      await other.run(OBSERVE);
      await other.run("peer.sync.start()");
      await one.run(`new Promise((resolve, reject) => {
      const deleting = indexedDB.deleteDatabase("${tabs.database}");
      deleting.onsuccess = () => resolve();
      deleting.onerror = () => reject(deleting.error);
    })`);
      for (const tab of [one, other]) {
        await tab.until("events.length", 1);
        expect(await tab.run("events")).toEqual([expect.stringMatching(/^warning: .*was deleted/)]);
      }
      await one.rows(INSERT("b"));
      expect(await one.rows(IDS)).toEqual(ids("b"));
      await other.until("seen.at(-1)", ["b"]);
      await other.until(CONNECTED);
    },
  );

  test.runIf(isHere)(
    `${name}: a page that comes back in the history works on${because}`,
    async () => {
      const tabs = await openTabs();
      const [tab, other] = [await tabs.openTab(), await tabs.openTab()];
      await tab.run(OBSERVE);
      await tab.rows(INSERT("a"));
      await tab.run(
        `addEventListener("pageshow", ({ persisted }) => { window.isBack = persisted; })`,
      );
      await tab.page.goto(`${tabs.siteUrl}blank/`);
      await other.rows(INSERT("b"));
      await tab.page.goBack();
      const isKept = await tab.run("window.isBack === true");
      // Firefox does not keep such a page, and loads it again.
      if (name === "chromium") expect(isKept).toBe(true);
      if (isKept === false) {
        expect(await tab.openPeer()).toBe("opened");
        await tab.run(OBSERVE);
      }
      await tab.until("seen.at(-1)", ["a", "b"]);
      await tab.rows(INSERT("c"));
      expect(await other.rows(IDS)).toEqual(ids("a", "b", "c"));
      // The same as an event, for the browser that loads it again.
      await tab.run(`void dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
      await tab.rows(INSERT("d"));
      await tab.until("seen.at(-1)", ["a", "b", "c", "d"]);
      await other.rows(INSERT("e"));
      await tab.until("seen.at(-1)", ["a", "b", "c", "d", "e"]);
      expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(`${name}: a private window keeps documents, or warns${because}`, async () => {
    const prefs = { "browser.privatebrowsing.autostart": true };
    const browser = await (name === "chromium"
      ? sharedBrowser(name)
      : openForTest(name, { prefs }));
    const tabs = await PeerTabs.open((url) =>
      name === "chromium" ? browser.openPrivatePage(url) : browser.openPage(url),
    );
    const tab = await tabs.openTab();
    await tab.rows(INSERT("a"));
    await tab.page.reload();
    expect(await tab.openPeer()).toBe("opened");
    const found = [await tab.rows(IDS), await tab.run("events")];
    const inMemory = [expect.stringContaining("kept in memory only")];
    expect([
      [ids("a"), []],
      [[], inMemory],
    ]).toContainEqual(found);
  });

  test.runIf(isChromium)(
    `${name}: after the worker was killed, everything goes on${because}`,
    async () => {
      const tabs = await openTabs();
      const [tab, other] = [await tabs.openTab(), await tabs.openTab()];
      await tab.run(OBSERVE);
      await tab.run(`(() => {
      window.all = peer.sync.registerSubscription("SELECT * FROM t");
      peer.presence.setPeerMetadata({ mood: "good" });
      peer.sync.start();
    })()`);
      await tab.rows(INSERT("a"));
      await tab.run("all.whenReady()");
      await other.beginTransaction("never");
      const writer = await tabs.server.peer();
      writer.sync.start();
      await killWorker(tab);
      expect(await other.run("ended")).toBe("store.write_failed");
      await rowsAgain(tab, `${INSERT("b")} ON ID CONFLICT DO NOTHING`);
      await writer.store.execute(INSERT("c"));
      await tab.until("seen.at(-1)", ["a", "b", "c"]);
      await tab.run("all.whenReady()");
      expect(await tab.run("[all.status, peer.presence.peerMetadata]")).toEqual([
        "ready",
        { mood: "good" },
      ]);
      await tab.until(UPLOADED);
      expect(await tabs.atServer(IDS)).toEqual(ids("a", "b", "c"));
      expect(await other.rows(IDS)).toEqual(ids("a", "b", "c"));
      // What a tab has stopped stays stopped.
      await other.run("peer.sync.stop()");
      await tab.until("peer.sync.isActive", false);
      await killWorker(tab);
      await rowsAgain(tab, `${INSERT("d")} ON ID CONFLICT DO NOTHING`);
      expect(await rowsAgain(other, IDS)).toEqual(ids("a", "b", "c", "d"));
      expect(await tab.run("peer.sync.isActive")).toBe(false);
      for (const each of [tab, other]) expect(await each.run("events")).toEqual([]);
    },
  );

  test.runIf(isChromium)(
    `${name}: the transaction of a tab that crashes is rolled back at once${because}`,
    async () => {
      const tabs = await openTabs();
      const [one, crashed, other] = [
        await tabs.openTab(),
        await tabs.openTab(),
        await tabs.openTab(),
      ];
      await other.run(OBSERVE);
      await crashed.beginTransaction("a");
      const waiting = one.run(COUNT_IN_TRANSACTION);
      const crashedMs = performance.now();
      await crash(crashed);
      expect(await waiting).toBe(0);
      // A frozen tab would have 5 s.
      expect(performance.now() - crashedMs).toBeLessThan(4_000);
      await one.rows(INSERT("b"));
      await other.until("seen.at(-1)", ["b"]);
      for (const tab of [one, other]) expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isChromium)(
    `${name}: a frozen tab loses its transaction after 5 s, and is not waited for${because}`,
    async () => {
      const tabs = await openTabs();
      await provide(tabs.server, 3600);
      const [one, other] = [
        await tabs.openTab({ login: LOGIN }),
        await tabs.openTab({ login: LOGIN }),
      ];
      await other.run(OBSERVE);
      await other.beginTransaction("a");
      await setFrozen(other, true);
      const frozenMs = performance.now();
      // The frozen tab would be asked for its login first.
      await one.run("peer.sync.start()");
      expect(await one.run(COUNT_IN_TRANSACTION)).toBe(0);
      expect(performance.now() - frozenMs).toBeGreaterThan(4_000);
      await one.until(CONNECTED);
      expect(await one.run("logins")).toBe(1);
      await one.rows(INSERT("b"));
      await setFrozen(other, false);
      expect(await other.run("ended")).toBe("query.timeout");
      await other.until("seen.at(-1)", ["b"]);
      expect(await other.run("events")).toEqual([]);
    },
  );
}
