/**
 * The client in a real browser: a page of another origin calls a server, and reports what it found.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { findChromium } from "../../../scripts/browser.mjs";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { bundleClient } from "./support/bundle.ts";
import { CuttingProxy, type Fate } from "./support/cutting-proxy.ts";
import { RunningServer } from "./support/running-server.ts";

const found = await findChromium();
const reason = found.path === undefined ? ` (left out: ${found.reason ?? "no Chromium"})` : "";

/** What the page does; `parameters` are in its address. */
const SCRIPT = `
import { BigPeerClient, BigPeerError } from "./client.js";

async function work({ url, proxyUrl, key }) {
  const client = new BigPeerClient({ url: proxyUrl, key, readYourWrites: true });
  const big = 2n ** 60n + 1n;
  await client.execute("INSERT INTO cars DOCUMENTS (:car)", { car: { _id: "c1", big } });
  const { items } = await client.execute("SELECT big FROM cars");
  const { id, len } = await client.attachments.upload(new Blob(["hello"]));
  const bytes = await client.attachments.download(id, { start: 1, end: 3 });
  const error = await new BigPeerClient({ url, key }).execute("SELECT * FORM cars").catch((e) => e);
  return {
    big: String(items[0].big),
    len,
    part: new TextDecoder().decode(bytes),
    error: [error instanceof BigPeerError, error.code, typeof error.requestId],
  };
}

const parameters = Object.fromEntries(new URLSearchParams(location.search));
const result = await work(parameters).catch((error) => ({ failed: String(error) }));
await fetch("/result", { method: "POST", body: JSON.stringify(result) });
`;

/** Serves the page, opens it, and resolves with what it sends back. */
async function resultOfPage(parameters: Record<string, string>): Promise<unknown> {
  const client = await bundleClient("es");
  const files: Record<string, readonly [type: string, text: string]> = {
    "/": ["text/html", '<!doctype html><script type="module" src="page.js"></script>'],
    "/page.js": ["text/javascript", SCRIPT],
    "/client.js": ["text/javascript", client],
  };
  const listener = createServer();
  await once(listener.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const result = new Promise<unknown>((resolve) => {
    listener.on("request", (request, response) => {
      const path = new URL(request.url ?? "", "http://page").pathname;
      const [type, text] = files[path] ?? ["text/plain", ""];
      response.setHeader("content-type", type);
      response.end(text);
      if (path !== "/result") return;
      let body = "";
      request.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      request.on("end", () => resolve(JSON.parse(body)));
    });
  });
  const { port } = listener.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/?${new URLSearchParams(parameters).toString()}`;
  const words = ["--headless", "--no-sandbox", `--user-data-dir=${temporaryFolder()}`, address];
  const browser = spawn(found.path ?? "", words, { stdio: "ignore" });
  onTestFinished(async () => {
    browser.kill();
    await once(browser, "exit");
  });
  return result;
}

test.runIf(found.path !== undefined)(
  `a page writes, reads, and repeats what was lost${reason}`,
  async () => {
    const server = await RunningServer.start();
    const proxy = await CuttingProxy.open(server.url);
    let count = 0;
    // Also preflights are lost.
    proxy.fate = (): Fate => (count++ % 3 === 0 ? "cut" : "pass");
    const { url, key } = server;
    expect(await resultOfPage({ url, proxyUrl: proxy.url, key })).toEqual({
      big: "1152921504606846977",
      len: 5,
      part: "el",
      error: [true, "query.syntax", "string"],
    });
    expect(proxy.lost).toBeGreaterThan(1);
  },
);
