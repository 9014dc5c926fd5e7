/**
 * The change feed in a real browser: a page of another origin follows it with EventSource and a
 * ticket that its own backend asks for, as docs/changes.md shows.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createRelay, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { findChromium } from "../../../scripts/browser.mjs";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { RunningServer } from "./support/running-server.ts";

const found = await findChromium();
const reason = found.path === undefined ? ` (left out: ${found.reason ?? "no Chromium"})` : "";

/** Reports each message; asks for another ticket when the stream is lost. */
const PAGE = `<!doctype html><script type="module">
const url = new URLSearchParams(location.search).get("url");
const report = (message) => fetch("/report", { method: "POST", body: JSON.stringify(message) });
async function follow(since) {
  const { ticket } = await (await fetch("/my-backend/ticket", { method: "POST" })).json();
  const query = new URLSearchParams({ collection: "orders", ticket, ...(since && { since }) });
  const events = new EventSource(url + "/api/v4/store/changes?" + query);
  let cursor = since;
  events.onmessage = ({ data, lastEventId }) => {
    cursor = lastEventId;
    void report({ ...JSON.parse(data), lastEventId });
  };
  events.onerror = () => {
    events.close();
    void report({ lost: true });
    setTimeout(() => follow(cursor), 50);
  };
}
await follow();
</script>`;

interface Reported {
  readonly marker?: string;
  readonly type?: string;
  readonly id?: string;
  readonly txnId?: number;
  readonly lost?: true;
  readonly reason?: string;
  readonly lastEventId?: string;
}

class Page {
  readonly #reports: Reported[] = [];
  #wake: (() => void) | undefined;

  /** Serves the page from an origin of its own, and opens it. */
  static async open({ url, key }: Pick<RunningServer, "url" | "key">): Promise<Page> {
    const page = new Page();
    const listener = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        void page.#answer(request.url ?? "", body, { url, key }).then(([type, text]) => {
          response.setHeader("content-type", type);
          response.end(text);
        });
      });
    });
    await once(listener.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      listener.closeAllConnections();
      listener.close();
    });
    const { port } = listener.address() as AddressInfo;
    const address = `http://127.0.0.1:${port}/?${new URLSearchParams({ url }).toString()}`;
    const words = ["--headless", "--no-sandbox", `--user-data-dir=${temporaryFolder()}`, address];
    const browser = spawn(found.path ?? "", words, { stdio: "ignore" });
    onTestFinished(async () => {
      browser.kill();
      await once(browser, "exit");
    });
    return page;
  }

  /** The backend of the page has the key, and the page never sees it. */
  async #answer(
    path: string,
    body: string,
    { url, key }: Pick<RunningServer, "url" | "key">,
  ): Promise<[type: string, text: string]> {
    if (path === "/report") {
      this.#reports.push(JSON.parse(body) as Reported);
      this.#wake?.();
      return ["text/plain", ""];
    }
    if (path !== "/my-backend/ticket") return ["text/html", PAGE];
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/api/v4/store/changes/ticket`, { method: "POST", headers });
    return ["application/json", await answer.text()];
  }

  /** The next message with these fields; drops those before it. */
  async next(wanted: Partial<Reported>): Promise<Reported> {
    for (;;) {
      const report = this.#reports.shift();
      if (report === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (
        Object.entries(wanted).every(([name, value]) => Object.is(Reflect.get(report, name), value))
      ) {
        return report;
      }
    }
  }
}

/** A TCP relay whose connections can be cut. */
async function openRelay(target: string): Promise<{ url: string; cut: () => void }> {
  const sockets = new Set<Socket>();
  const relay = createRelay((socket) => {
    const further = connect(Number(new URL(target).port), "127.0.0.1");
    for (const each of [socket, further]) {
      sockets.add(each);
      each.on("error", () => {});
      each.on("close", () => {
        sockets.delete(each);
        socket.destroy();
        further.destroy();
      });
    }
    socket.pipe(further).pipe(socket);
  });
  await once(relay.listen(0, "127.0.0.1"), "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    relay.close();
    cut();
  });
  return { url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`, cut };
}

test.runIf(found.path !== undefined)(
  `[C22] a page follows with EventSource and a ticket, and continues with another one${reason}`,
  async () => {
    const server = await RunningServer.start();
    const client = server.client();
    const relay = await openRelay(server.url);
    const page = await Page.open({ url: relay.url, key: server.key });
    await page.next({ marker: "ready" });
    const insert = "INSERT INTO orders DOCUMENTS (:order)";
    const { transactionId } = await client.execute(insert, { order: { _id: "o1" } });
    const first = await page.next({ type: "insert" });
    expect(first).toMatchObject({ id: "o1", txnId: transactionId });
    expect(first.lastEventId).toMatch(/^[0-9a-f]{32}\./);
    await page.next({ marker: "transaction" });
    relay.cut();
    await client.execute(insert, { order: { _id: "o2" } });
    await page.next({ lost: true });
    expect(await page.next({ type: "insert" })).toMatchObject({ id: "o2" });
  },
);
