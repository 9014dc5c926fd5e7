/**
 * The SDK behind a proxy that serves the whole server below a path of its own, in real browsers: a page
 * finds all files of the SDK there, has a worker, and syncs.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { PeerTab } from "../support/peer-tab.ts";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";
import { startRealServer } from "../support/real-server.ts";

const PREFIX = "/sync";

const PAGE = `<!doctype html><title>page</title><script type="module">
  import { openPeer } from "${PREFIX}/sdk/bigpeer.js"; window.openPeer = openPeer;
</script>`;

const sharedBrowser = sharedBrowsers();

/** Passes on what is below the prefix, without the prefix. Returns its address. */
async function strippingProxy(upstream: string): Promise<string> {
  const forward = ({ url = "", method, headers }: IncomingMessage) =>
    request(`${upstream}${url.slice(PREFIX.length)}`, { method, headers });
  const server = createServer((incoming, response) => {
    if (incoming.url?.startsWith(`${PREFIX}/`) !== true) {
      response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
      return;
    }
    const outgoing = forward(incoming);
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on("upgrade", (incoming, socket) => {
    const outgoing = forward(incoming).end();
    outgoing.on("upgrade", ({ rawHeaders }, upstreamSocket) => {
      const lines = ["HTTP/1.1 101 Switching Protocols"];
      for (let i = 0; i < rawHeaders.length; i += 2) {
        lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
      }
      socket.write(`${lines.join("\r\n")}\r\n\r\n`);
      upstreamSocket.on("error", () => socket.destroy());
      socket.on("error", () => upstreamSocket.destroy());
      socket.pipe(upstreamSocket).pipe(socket);
    });
    outgoing.on("error", () => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const { name, absence } of browsers) {
  const because = absence === undefined ? "" : ` (left out: ${absence})`;

  test.runIf(absence === undefined)(
    `${name}: behind a proxy that strips a path, tabs share a worker and sync${because}`,
    async () => {
      const real = await startRealServer();
      const origin = await strippingProxy(real.running.url);
      const browser = await sharedBrowser(name);
      const openTab = async (): Promise<PeerTab> => {
        const page = await browser.openPage(`${origin}/`);
        onTestFinished(() => page.close().catch(() => {}));
        const tab = new PeerTab(page, real);
        await tab.openOrThrow({ options: { url: `${origin}${PREFIX}` } });
        return tab;
      };
      const [one, other] = [await openTab(), await openTab()];
      await one.rows("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
      await one.run("peer.sync.start()");
      await other.until("peer.sync.status.state + peer.sync.status.pendingCount", "connected0");
      // Of a file that is loaded on use.
      const found = await other.rows("SELECT _id FROM t WHERE regexp_like(_id, '^a$')");
      expect(found).toEqual([{ _id: "a" }]);
      // Without a worker, the second tab would be refused, and the first one warned.
      for (const tab of [one, other]) expect(await tab.run("events")).toEqual([]);
    },
  );
}
