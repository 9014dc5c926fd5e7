/**
 * A first download over real sockets that is cut half-way: the peer, also one that was closed meanwhile,
 * goes on where it was.
 */

import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize, sized } from "../../protocol/test/support/test-size.ts";
import type { Peer } from "../src/index.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { whenStatus } from "./support/peer-status.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

const COUNT = sized(2000, 4000);
const ALL = "SELECT * FROM cups";
/** Where nobody listens. */
const NOBODY = 9;

async function execute(
  { running, content }: RealServer,
  statement: string,
  args: object = {},
): Promise<void> {
  const response = await fetch(`${running.url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ statement, args }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

function nameOf(i: number): string {
  return `cup${String(i).padStart(6, "0")}`;
}

async function insertCups(server: RealServer): Promise<void> {
  for (let from = 0; from < COUNT; from += 1000) {
    const cups = Array.from({ length: 1000 }, (_, i) => {
      // Its mark is on the wire once for each time that it is sent.
      return { _id: nameOf(from + i), mark: `<${nameOf(from + i)}>`, text: "x".repeat(250) };
    });
    await execute(server, "INSERT INTO cups DOCUMENTS (:cups)", { cups });
  }
}

/** Counts the documents on the wire, and cuts it when there were so many. */
class SentCount {
  #before = "";
  count = 0;

  constructor(proxy: CuttingProxy, onSent: (count: number) => void) {
    proxy.onSaid = (text) => {
      // What was said last comes again at the beginning, unless the connection is another one.
      const known = text.startsWith(this.#before) ? this.#before.length : 0;
      for (const { index, 0: mark } of text.matchAll(/<cup[0-9]{6}>/gu)) {
        if (index + mark.length > known) this.count++;
      }
      this.#before = text.slice(-64);
      onSent(this.count);
    };
  }
}

async function countOf(peer: Peer): Promise<number> {
  const { items } = await peer.store.execute("SELECT count(*) AS n FROM cups");
  return Number(items[0]?.["n"]);
}

test.runIf(isFullSize)(
  "[S72] an interrupted first download continues where it was, also in the next process",
  async () => {
    const server = await startRealServer();
    await insertCups(server);
    const { port } = new URL(server.running.url);
    const proxy = await CuttingProxy.open(Number(port));
    onTestFinished(() => proxy.close());
    const folder = temporaryFolder();
    const first = await server.peer({ folder, url: proxy.url });
    const subscription = first.sync.registerSubscription(ALL);
    const before = new SentCount(proxy, (count) => {
      if (count < COUNT / 2) return;
      // The proxy leads to an address without a server.
      proxy.moveTo(NOBODY);
      proxy.cutAll();
    });
    first.sync.start();
    await whenStatus(first, ({ state }) => state === "offline");
    await until(async () => (await countOf(first)) > 0);
    expect(subscription.status).toBe("waiting");
    await first.close();

    const second = await server.peer({ folder, url: proxy.url });
    const held = await countOf(second);
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThan(COUNT);
    await execute(server, "DELETE FROM cups WHERE _id = :id", { id: nameOf(0) });
    await execute(server, "UPDATE cups SET text = 'new' WHERE _id = :id", { id: nameOf(1) });
    const after = new SentCount(proxy, () => undefined);
    proxy.moveTo(Number(port));
    second.sync.start();
    await second.sync.registerSubscription(ALL).whenReady();
    // The rest, and the one that was changed: nothing that was held comes again.
    expect(after.count).toBe(COUNT - held + 1);
    expect(before.count + after.count).toBeLessThan(1.5 * COUNT);
    expect(await countOf(second)).toBe(COUNT - 1);
    const { items } = await second.store.execute("SELECT _id FROM cups WHERE text = 'new'");
    expect(items).toEqual([{ _id: nameOf(1) }]);
  },
);
