import { expect, test } from "vitest";
import { testHost } from "../../node/test/support/store-host.ts";
import { startServer } from "../../server/src/server.ts";
import { DataApi } from "../../server/test/support/data-api.ts";
import { testConfig } from "../../server/test/support/test-config.ts";
import type { Change } from "../src/changes.ts";
import { BigPeerClient } from "../src/client.ts";
import { BigPeerError } from "../src/error.ts";

async function openClient(): Promise<{ api: DataApi; client: BigPeerClient; cuts: () => void }> {
  const config = testConfig();
  const api = new DataApi(await startServer(config, testHost()), config);
  const bodies = new Set<AbortController>();
  const client = new BigPeerClient({
    url: api.server.url,
    key: api.quickstart.apiKey,
    fetch: async (url, init) => {
      const cut = new AbortController();
      bodies.add(cut);
      const signal = AbortSignal.any([cut.signal, ...(init?.signal ? [init.signal] : [])]);
      return fetch(url, { ...init, signal });
    },
  });
  const cuts = (): void => {
    for (const cut of bodies) cut.abort();
    bodies.clear();
  };
  return { api, client, cuts };
}

test("changes begin with the rows and go on, also after the connection was cut", async () => {
  const { api, client, cuts } = await openClient();
  await api.upsert("cars", { a: { n: 1 } });
  const got: [string, unknown][] = [];
  for await (const change of client.changes({ collection: "cars", initial: true })) {
    got.push([change.type, change.id]);
    if (change.id === "a") {
      cuts();
      await api.upsert("cars", { b: { n: 2 } });
    }
    if (change.id === "b") {
      cuts();
      await api.upsert("cars", { c: { n: 3 } });
    }
    if (change.id === "c") break;
  }
  expect(got).toEqual([
    ["insert", "a"],
    ["insert", "b"],
    ["insert", "c"],
  ]);
  await api.server.close();
});

test("changes take a filter with arguments, and continue after a cursor", async () => {
  const { api, client } = await openClient();
  await api.upsert("cars", { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } });
  const options = { collection: "cars", query: "n > :n", args: { n: 1 } };
  let first: Change | undefined;
  for await (const change of client.changes({ ...options, since: "0" })) {
    first = change;
    break;
  }
  expect(first).toMatchObject({ type: "insert", id: "b", document: { _id: "b", n: 2 } });
  for await (const change of client.changes({ ...options, since: first?.cursor })) {
    expect(change.id).toBe("c");
    break;
  }
  await api.server.close();
});

test("a signal ends the loop with its reason", async () => {
  const { api, client } = await openClient();
  const ending = new AbortController();
  const reason = new Error("enough");
  const loop = (async () => {
    for await (const _ of client.changes({ signal: ending.signal, since: "0" }))
      ending.abort(reason);
  })();
  await api.upsert("cars", { a: { n: 1 } });
  await expect(loop).rejects.toBe(reason);
  await api.server.close();
});

test("what no new attempt can mend is thrown with its code", async () => {
  const { api, client } = await openClient();
  const codeOf = async (options: Parameters<BigPeerClient["changes"]>[0]): Promise<unknown> => {
    try {
      for await (const _ of client.changes(options)) break;
    } catch (error) {
      if (!(error instanceof BigPeerError)) return error;
      const { code, status, oldest } = error;
      return oldest === undefined ? [code, status] : [code, status, oldest];
    }
    return undefined;
  };
  const [code, status, oldest] = (await codeOf({ since: `${"0".repeat(32)}.1` })) as unknown[];
  expect([code, status]).toEqual(["changes.gone", 410]);
  await api.upsert("cars", { a: { n: 1 } });
  for await (const change of client.changes({ since: String(oldest) })) {
    expect(change.id).toBe("a");
    break;
  }
  expect(await codeOf({ since: "x" })).toEqual(["changes.cursor", 400]);
  expect(await codeOf({ query: "n >" })).toEqual(["query.syntax", 400]);
  await api.server.close();
});

test("onLost gets the reason of each lost connection, and may end the loop", async () => {
  const { api, client, cuts } = await openClient();
  await api.upsert("cars", { a: { n: 1 } });
  const reasons: string[] = [];
  const onLost = ({ code }: BigPeerError): void => {
    reasons.push(code);
    if (reasons.length === 2) throw new Error("enough");
  };
  const loop = async (): Promise<void> => {
    for await (const _ of client.changes({ initial: true, onLost, onCursor: cuts })) continue;
  };
  await expect(loop()).rejects.toThrow("enough");
  expect(reasons).toEqual(["client.network", "client.network"]);
  await api.server.close();
});
