/**
 * The client as one script: small, without dependencies, and without anything that browsers lack.
 */

import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleClient } from "./support/bundle.ts";
import { RunningServer } from "./support/running-server.ts";

const SIZE_MAX = 8 * 1024;

test("it has at most 8 KB with gzip, and imports nothing", async () => {
  const code = await bundleClient("es");
  expect(gzipSync(code).length).toBeLessThanOrEqual(SIZE_MAX);
  expect(code).not.toMatch(/\bimport\b|\brequire\(|\bBuffer\b|\bprocess\b|node:/);
});

test("it runs with what browsers have", async () => {
  const server = await RunningServer.start();
  const code = await bundleClient("iife");
  const web = {
    AbortController,
    Blob,
    clearTimeout,
    crypto,
    fetch,
    FormData,
    Headers,
    setTimeout,
    URL,
    URLSearchParams,
  };
  const context = createContext({ ...web, url: server.url, key: server.key });
  const work = `
    const client = new bigpeer.BigPeerClient({ url, key });
    client.execute("INSERT INTO cars DOCUMENTS ({'_id': 'c1'})")
      .then(() => client.attachments.upload("hello"))
      .then(({ id }) => client.attachments.download(id))
      .then(({ length }) => client.count({ collection: "cars", query: "true" })
        .then(({ count }) => JSON.stringify({ count, length })));`;
  const found = (await runInContext(`${code}\n;${work}`, context)) as string;
  expect(JSON.parse(found)).toEqual({ count: 1, length: 5 });
});
