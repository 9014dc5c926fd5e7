/**
 * A peer on the host of browsers, in Node: the same peer, with the parts that a browser has.
 */

import { PatternCompiler } from "@bigpeer/engine/pattern";
import { mayUseExplainer, mayUsePatterns } from "@bigpeer/engine/query";
import { expect, onTestFinished, test, vi } from "vitest";
import { openMemory } from "../../src/host/memory-place.ts";
import { checkCommon } from "../../src/options.ts";
import { Peer } from "../../src/peer.ts";
import { LazyCode, type LazyParts } from "../../src/web/lazy-code.ts";
import { PagedMemory } from "../../src/web/storage/paged-memory.ts";
import { type WebGlobals, webHost } from "../../src/web/web-host.ts";
import { BrowserSocket } from "../support/browser-socket.ts";
import { openLocalStore } from "../support/open-local-store.ts";
import { insert, whenTasks } from "../support/peer-status.ts";
import { startRealServer } from "../support/real-server.ts";
import { until } from "../support/turns.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
const DEVICE = { os: "linux", deviceName: "Firefox on Linux" };
const GLOBALS: WebGlobals = { WebSocket: BrowserSocket };

/** Code that cannot be loaded, unless it is given. */
function partsOf(given: Partial<LazyParts> = {}): LazyParts {
  const load = (): Promise<never> => Promise.reject(new Error("there is no such file"));
  return {
    patterns: new LazyCode({ name: "patterns", isNeeded: mayUsePatterns, load }),
    explainer: new LazyCode({ name: "EXPLAIN", isNeeded: mayUseExplainer, load }),
    attachments: new LazyCode({ name: "attachments", isNeeded: () => true, load }),
    ...given,
  };
}

interface Opened {
  readonly peer: Peer;
  readonly loads: () => number;
}

async function open(
  options = { appId: APP, url: "http://127.0.0.1:9", token: "t" },
): Promise<Opened> {
  let loads = 0;
  const load = async (): Promise<PatternCompiler> => {
    loads++;
    return new PatternCompiler();
  };
  const patterns = new LazyCode({ name: "patterns", isNeeded: mayUsePatterns, load });
  const host = webHost(partsOf({ patterns }), DEVICE, GLOBALS);
  const checked = checkCommon(options, ["appId", "url", "token"], host);
  const peer = await Peer.open(checked, host, (place) => openMemory(new PagedMemory(), place));
  onTestFinished(() => peer.close());
  return { peer, loads: () => loads };
}

test("a peer on the host of browsers syncs with a server, and says where it runs", async () => {
  const server = await startRealServer();
  const { appId, apiKey: token } = server.content;
  const { peer } = await open({ appId, url: server.running.url, token });
  const other = await server.peer();
  for (const each of [peer, other]) {
    each.sync.registerSubscription("SELECT * FROM tasks");
    each.sync.start();
  }
  await insert(peer, "a");
  await insert(other, "b");
  await Promise.all([whenTasks(peer, ["a", "b"]), whenTasks(other, ["a", "b"])]);
  const { os, deviceName, sdkVersion } = peer.presence.graph.localPeer;
  expect({ os, deviceName }).toEqual(DEVICE);
  expect(sdkVersion).toMatch(/^bigpeer-browser\//);
});

test("statements, transactions and observers load patterns first, and only if they need them", async () => {
  const { peer, loads } = await open();
  const seen: unknown[] = [];
  await insert(peer, "a");
  await insert(peer, "b");
  expect(loads()).toBe(0);
  const query = "SELECT _id FROM tasks WHERE regexp_like(_id, '^[ac]$')";
  peer.store.registerObserver(query, ({ items }) => seen.push(items));
  const inside = await peer.store.transaction(async (tx) => {
    // Not awaited one by one: the second must not overtake the first.
    const reading = tx.execute(query);
    await tx.execute("INSERT INTO tasks DOCUMENTS ({'_id': 'c'})");
    return (await reading).items;
  });
  expect(inside).toEqual([{ _id: "a" }]);
  expect((await peer.store.execute(query)).items).toEqual([{ _id: "a" }, { _id: "c" }]);
  await until(() => seen.length >= 2);
  expect(seen.at(-1)).toEqual([{ _id: "a" }, { _id: "c" }]);
  expect(loads()).toBe(1);
});

test("a subscription and a broken query need no patterns", async () => {
  const { peer, loads } = await open();
  const query = "SELECT * FROM tasks WHERE _id SIMILAR TO 'a%'";
  expect(peer.sync.registerSubscription(query).status).toBe("waiting");
  const errors: Error[] = [];
  peer.on("error", (error) => errors.push(error));
  peer.store.registerObserver("SELECT FROM regexp_like", () => undefined);
  await until(() => errors.length === 1);
  expect(errors[0]).toMatchObject({ code: "query.syntax" });
  expect(loads()).toBe(1);
});

test("a transaction that is begun at once inside another one is refused", async () => {
  const { peer } = await open();
  const nested = peer.store.transaction(() => peer.store.transaction(async () => "inner"));
  await expect(nested).rejects.toMatchObject({ code: "store.busy" });
  // Beside each other they take turns.
  const both = [1, 2].map((n) => peer.store.transaction(async () => n));
  expect(await Promise.all(both)).toEqual([1, 2]);
});

test("a transaction that awaits another one unseen is ended with a hint", async () => {
  const { local } = await openLocalStore({
    host: webHost(partsOf(), DEVICE, GLOBALS),
    transactionMsMax: 20,
  });
  const inner: Promise<string>[] = [];
  const outer = local.transaction(async (tx) => {
    await tx.execute("SELECT * FROM tasks");
    inner.push(local.transaction(async () => "inner"));
    return inner[0];
  });
  await expect(outer).rejects.toMatchObject({
    code: "query.timeout",
    hint: "if it awaits another transaction, use execute of the open transaction instead",
  });
  expect(await inner[0]).toBe("inner");
});

test("what no listener receives goes to the console", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const host = webHost(partsOf(), DEVICE, GLOBALS);
  host.warn("look");
  expect(warn.mock.calls).toEqual([["look"]]);
});

test("random bytes, hashes and pauses come from what every browser has", async () => {
  const { platform, after } = webHost(partsOf(), DEVICE, GLOBALS);
  expect(platform.random(8)).toHaveLength(8);
  expect(platform.random(8)).not.toEqual(platform.random(8));
  expect(platform.sha256(new Uint8Array())[0]).toBe(0xe3);
  const order: string[] = [];
  const paused = platform.pause().then(() => order.push("pause"));
  await Promise.resolve().then(() => order.push("promise"));
  await paused;
  expect(order).toEqual(["promise", "pause"]);
  const cancel = after(0, () => order.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => void after(1, resolve));
  expect(order).toHaveLength(2);
});
