/**
 * The host of a worker on a simulated IndexedDB: what its pages get when something fails. Real
 * browsers show the rest (tabs.long.test.ts).
 */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { PageOptions } from "../../src/web/messages.ts";
import type { IndexedDb } from "../../src/web/storage/index.ts";
import type { AttachedPage } from "../../src/web/worker/attached-page.ts";
import { WorkerHost } from "../../src/web/worker/worker-host.ts";
import { SimulatedDisk } from "../support/simulated-indexed-db.ts";

const OPTIONS: PageOptions = {
  appId: "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e",
  url: "http://127.0.0.1:9",
  name: "default",
  token: "t",
  deviceName: "Firefox on Linux",
  os: "linux",
  metadata: undefined,
  remote: "read",
  isInMemory: false,
  openedAtMs: 1,
  attachmentBytesMax: undefined,
  patternsUrl: "http://127.0.0.1:9/patterns.js",
  explainUrl: "http://127.0.0.1:9/explain.js",
  attachmentsUrl: "http://127.0.0.1:9/attachments.js",
};

const IDS = "SELECT _id FROM t";

let db: IndexedDb;

beforeEach(() => {
  db = new SimulatedDisk().start();
  vi.stubGlobal("indexedDB", db.indexedDB);
  vi.stubGlobal("IDBKeyRange", db.IDBKeyRange);
  // There is one worker, so each lock is free.
  const request = (_name: string, _options: object, held: () => Promise<void>): Promise<void> =>
    held();
  vi.stubGlobal("navigator", { locks: { request } });
});

afterEach(() => vi.unstubAllGlobals());

/** A page that writes down what it is told. */
class WatchedPage implements AttachedPage {
  readonly isClosed = false;
  readonly heard: string[] = [];
  readonly options: PageOptions;

  constructor(options: Partial<PageOptions> = {}) {
    this.options = { ...OPTIONS, ...options };
  }

  ask(): Promise<never> {
    return Promise.reject(new Error("the page has no functions"));
  }

  emit(name: string, details: unknown): void {
    if (name === "warning") this.heard.push(`warning: ${String(details)}`);
  }

  move(url: string | undefined): void {
    this.heard.push(`move to ${url}`);
  }

  suspend(): void {
    this.heard.push("suspend");
  }

  restart(): void {
    this.heard.push("restart");
  }

  end(): void {
    this.heard.push("end");
  }
}

function newHost(documentsMax?: number): WorkerHost {
  return new WorkerHost("http://127.0.0.1:9/worker.js", documentsMax);
}

test("if erasing fails, the pages open the peer again, with its documents", async () => {
  const host = newHost();
  const [page, other] = [new WatchedPage(), new WatchedPage()];
  const { peer } = await host.attach(page);
  await host.attach(other);
  await peer.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
  const remove = vi.spyOn(db.indexedDB, "deleteDatabase").mockImplementation(() => {
    throw new Error("the browser cannot delete it");
  });
  await expect(host.erase(page, true)).rejects.toThrow("the browser cannot delete it");
  expect([page.heard, other.heard]).toEqual([
    ["suspend", "restart"],
    ["suspend", "restart"],
  ]);
  remove.mockRestore();
  const again = await host.attach(page);
  onTestFinished(() => host.detach(page));
  expect((await again.peer.store.execute(IDS)).items).toEqual([{ _id: "a" }]);
});

test("erasing is refused while writes wait, and nothing else happens", async () => {
  const host = newHost();
  const page = new WatchedPage();
  const { peer } = await host.attach(page);
  onTestFinished(() => host.detach(page));
  await peer.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
  await expect(host.erase(page, false)).rejects.toMatchObject({ code: "store.pending" });
  expect(page.heard).toEqual([]);
  expect((await peer.store.execute(IDS)).items).toEqual([{ _id: "a" }]);
});

test("a page that opens a peer with too many documents is warned", async () => {
  const host = newHost(2);
  const [page, other] = [new WatchedPage(), new WatchedPage()];
  const { peer, warnings } = await host.attach(page);
  onTestFinished(() => host.detach(page));
  await peer.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'}), ({'_id': 'b'})");
  expect([warnings, (await host.attach(other)).warnings]).toEqual([[], []]);
  await peer.store.execute("INSERT INTO u DOCUMENTS ({'_id': 'a'})");
  expect((await host.attach(other)).warnings).toEqual([
    "the browser holds 3 documents in memory: subscribe to fewer, or EVICT some",
  ]);
  await host.detach(other);
});

test("a page that is gone before its peer is open keeps no peer open", async () => {
  const host = newHost();
  const page = new WatchedPage();
  const opening = host.attach(page);
  const gone = host.detach(page);
  const { peer } = await opening;
  await gone;
  expect(peer.isClosed).toBe(true);
});
