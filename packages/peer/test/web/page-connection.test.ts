/**
 * The connection of a worker to its pages when the peer goes to another worker or begins again: what
 * becomes of open transactions. Real browsers show the rest (tabs.long.test.ts).
 */

import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import {
  type CallName,
  PAGE_PROTOCOL,
  type PageMessage,
  type PageOptions,
  type WorkerContent,
  type WorkerPost,
} from "../../src/web/messages.ts";
import type { IndexedDb } from "../../src/web/storage/index.ts";
import type { WebPort } from "../../src/web/web-globals.ts";
import { connectPage } from "../../src/web/worker/page-connection.ts";
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
  patternsUrl: "http://127.0.0.1:9/patterns.js",
  explainUrl: "http://127.0.0.1:9/explain.js",
  attachmentsUrl: "http://127.0.0.1:9/attachments.js",
};

const DATABASE = `bigpeer:${OPTIONS.appId}:default`;

const NEWER = { url: "/newer/worker.js", version: "9.0.0", protocol: PAGE_PROTOCOL };

let db: IndexedDb;
let host: WorkerHost;

beforeEach(() => {
  db = new SimulatedDisk().start();
  vi.stubGlobal("indexedDB", db.indexedDB);
  vi.stubGlobal("IDBKeyRange", db.IDBKeyRange);
  // The worker has the lock on the database. Pages keep theirs.
  const request = (name: string, _options: object, held: () => Promise<void>): Promise<void> =>
    name.startsWith("bigpeer-page:") ? new Promise(() => {}) : held();
  vi.stubGlobal("navigator", { locks: { request } });
  host = new WorkerHost("/worker.js");
});

afterEach(() => vi.unstubAllGlobals());

/** The other end of a connection. It collects what the worker sends. */
class RawPage {
  readonly heard: WorkerContent[] = [];
  readonly #post: (message: PageMessage) => void;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    onTestFinished(() => port1.close());
    this.#post = (message) => port2.postMessage(message);
    port2.on("message", (post: WorkerPost) => this.heard.push(...[post].flat()));
    connectPage(port1 as unknown as WebPort, host);
    this.#post({
      kind: "open",
      protocol: PAGE_PROTOCOL,
      pageId: `bigpeer-page:${crypto.randomUUID()}`,
      options: OPTIONS,
    });
  }

  call(id: number, name: CallName, ...args: readonly unknown[]): void {
    this.#post({ kind: "call", id, name, args });
  }

  leave(): void {
    this.#post({ kind: "leave" });
  }

  /** The first message of a kind. */
  first<Kind extends WorkerContent["kind"]>(
    kind: Kind,
  ): Promise<Extract<WorkerContent, { kind: Kind }>> {
    const isMeant = (each: WorkerContent): each is Extract<WorkerContent, { kind: Kind }> =>
      each.kind === kind;
    return vi.waitFor(() => this.heard.find(isMeant) ?? Promise.reject(new Error(`no ${kind}`)));
  }
}

/** Two pages: the first one is inside a transaction, and that of the second one waits for it. */
async function pagesInTransactions(): Promise<[RawPage, RawPage]> {
  const [one, other] = [new RawPage(), new RawPage()];
  onTestFinished(() => {
    for (const page of [one, other]) page.leave();
  });
  await Promise.all([one, other].map((page) => page.first("opened")));
  one.call(1, "runTransaction", 1);
  await one.first("question");
  other.call(1, "runTransaction", 1);
  one.call(2, "executeIn", 1, "INSERT INTO t DOCUMENTS ({'_id': 'a'})", undefined);
  await one.first("outcome");
  for (const page of [one, other]) page.heard.length = 0;
  return [one, other];
}

/** A worker of a newer version asks for the database. */
function takeOver(): void {
  const channel = new BroadcastChannel(DATABASE);
  onTestFinished(() => channel.close());
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is not a window.
  channel.postMessage({ kind: "stepDown", next: NEWER });
}

test("a newer version that takes over rolls back open transactions, and says so", async () => {
  const pages = await pagesInTransactions();
  takeOver();
  for (const page of pages) {
    expect(await page.first("moved")).toMatchObject({ url: NEWER.url });
    expect(page.heard.map(({ kind }) => kind).filter((kind) => kind !== "state")).toEqual([
      "outcome",
      "moved",
    ]);
    expect(await page.first("outcome")).toMatchObject({
      id: 1,
      outcome: {
        kind: "threw",
        error: { code: "store.busy", message: expect.stringContaining("begin it again") },
      },
    });
  }
});

test("a transaction that is open when the database is deleted rejects with that cause", async () => {
  const pages = await pagesInTransactions();
  db.indexedDB.deleteDatabase(DATABASE);
  for (const page of pages) {
    await page.first("restart");
    expect(await page.first("outcome")).toMatchObject({
      id: 1,
      outcome: {
        kind: "threw",
        error: { code: "store.closed", message: expect.stringContaining("was deleted") },
      },
    });
  }
});

test("a peer that cannot be closed properly is left to the next worker all the same", async () => {
  const page = new RawPage();
  await page.first("opened");
  const { peer } = await host.attach({ ...closedPage(), options: OPTIONS });
  vi.spyOn(peer, "close").mockRejectedValue(new Error("the browser cannot write"));
  takeOver();
  expect(await page.first("moved")).toMatchObject({ url: NEWER.url });
});

/** A page of which nothing is heard. */
function closedPage(): Omit<Parameters<WorkerHost["attach"]>[0], "options"> {
  const nothing = (): void => {};
  const ask = (): Promise<never> => Promise.reject(new Error("the page has no functions"));
  return {
    isClosed: false,
    ask,
    emit: nothing,
    move: nothing,
    suspend: nothing,
    restart: nothing,
    end: nothing,
  };
}
