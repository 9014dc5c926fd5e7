/**
 * Attachments in real browsers: contents of all kinds, offline and after reloads, to another peer and
 * back, with progress, prefetch, a bound and an end.
 */

import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { CuttingProxy } from "../support/cutting-proxy.ts";
import { type PeerTab, PeerTabs } from "../support/peer-tab.ts";
import { browsers, sharedBrowsers } from "../support/real-browsers.ts";
import { until } from "../support/turns.ts";

const INSERT = "INSERT INTO COLLECTION files (content ATTACHMENT) DOCUMENTS (:file)";
const ALL = "SELECT * FROM COLLECTION files (content ATTACHMENT) ORDER BY _id";
const UPLOADED = "peer.sync.status.state === 'connected' && peer.sync.status.pendingCount === 0";

/** Several pieces, and not a whole number of them. */
const SIZE = 5_000_001;

/** In the page: bytes by a seed, their digest, and a document with an attachment. */
const HELPERS = `
  window.bytesOf = (seed, size) => Uint8Array.from({ length: size }, (_, i) => (seed * 31 + i * 7 + (i >> 8)) % 256);
  window.digestOf = async (bytes) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  window.insert = (_id, content) => peer.store.execute("${INSERT}", { file: { _id, content } });
  window.tokenOf = async (_id) => (await peer.store.execute("${ALL}")).items.find((item) => item._id === _id).content;
`;

function bytesOf(seed: number, size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (seed * 31 + i * 7 + (i >> 8)) % 256);
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const sharedBrowser = sharedBrowsers();

for (const { name, absence } of browsers) {
  const because = absence === undefined ? "" : ` (left out: ${absence})`;
  const isHere = absence === undefined;

  const openTabs = async (): Promise<PeerTabs> => {
    const browser = await sharedBrowser(name);
    return PeerTabs.open((url) => browser.openPage(url));
  };

  const help = async (tab: PeerTab): Promise<PeerTab> => {
    await tab.run(`(() => {${HELPERS}})()`);
    return tab;
  };

  test.runIf(isHere)(
    `${name}: a content that was created offline is there after a reload, and arrives whole at another peer${because}`,
    async () => {
      const tabs = await openTabs();
      const proxy = await CuttingProxy.open(1);
      onTestFinished(() => proxy.close());
      const offline = { options: { url: proxy.url } };
      const tab = await help(await tabs.openTab(offline));
      await tab.run("peer.sync.start()");
      const token = await tab.run(
        `peer.attachments.create(new Blob([bytesOf(1, ${SIZE})]), { name: "photo.jpg" })
          .then(async (token) => { await insert("a", token); return token; })`,
      );
      const expected = bytesOf(1, SIZE);
      const id = createHash("sha256").update(expected).digest("base64url");
      expect(token).toEqual({ id, len: SIZE, metadata: { name: "photo.jpg" } });
      await tab.reload(offline);
      await help(tab);
      expect(
        await tab.run(
          `tokenOf("a").then((token) => peer.attachments.fetch(token)).then((found) => found.bytes()).then(digestOf)`,
        ),
      ).toBe(digestOf(expected));

      const other = await tabs.server.peer();
      other.sync.registerSubscription("SELECT * FROM files");
      other.sync.start();
      proxy.moveTo(Number(new URL(tabs.server.running.url).port));
      await tab.run("peer.sync.start()");
      await tab.until(UPLOADED);
      let found: unknown;
      await until(async () => {
        [found] = (await other.store.execute(ALL)).items;
        return found !== undefined;
      });
      const { content } = found as {
        readonly content: { readonly id: string; readonly len: number };
      };
      const fetched = await other.attachments.fetch(content);
      expect(digestOf(await fetched.bytes())).toBe(digestOf(expected));
      expect(fetched.metadata).toEqual({ name: "photo.jpg" });
      expect(await tab.run("events")).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: a page fetches the content of another peer with progress, and again without a connection${because}`,
    async () => {
      const tabs = await openTabs();
      const other = await tabs.server.peer();
      const content = await other.attachments.create(bytesOf(2, SIZE), { name: "b" });
      await other.store.execute(INSERT, { file: { _id: "b", content } });
      other.sync.start();
      const tab = await help(await tabs.openTab());
      await tab.run(`peer.sync.registerSubscription("SELECT * FROM files"); peer.sync.start()`);
      await tab.until(`peer.store.execute("${ALL}").then(({ items }) => items.length)`, 1);
      const read = `(async () => {
        const progress = [];
        const found = await peer.attachments.fetch(await tokenOf("b"), {
          onProgress: ({ received, total }) => progress.push([received, total]),
        });
        const chunks = [];
        const reader = found.stream().getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          chunks.push(value);
        }
        const digest = await digestOf(await new Blob(chunks).arrayBuffer());
        return { digest, last: progress.at(-1), size: found.size, metadata: found.metadata };
      })()`;
      const expected = {
        digest: digestOf(bytesOf(2, SIZE)),
        last: [SIZE, SIZE],
        size: SIZE,
        metadata: { name: "b" },
      };
      expect(await tab.run(read)).toEqual(expected);
      await tab.run("peer.sync.stop()");
      expect(await tab.run(read)).toEqual(expected);
    },
  );

  test.runIf(isHere)(
    `${name}: bytes, buffers, blobs and streams are contents; a text, a wrong token and an aborted fetch are refused${because}`,
    async () => {
      const tabs = await openTabs();
      const tab = await help(await tabs.openTab());
      const outcome = await tab.run(`(async () => {
        const { attachments } = peer;
        const bytes = bytesOf(3, 100_000);
        const stream = () => new ReadableStream({
          start(controller) {
            for (let i = 0; i < bytes.length; i += 30_000) controller.enqueue(bytes.slice(i, i + 30_000));
            controller.close();
          },
        });
        const ids = [];
        for (const content of [bytes, bytes.buffer, new Blob([bytes]), stream()]) {
          ids.push((await attachments.create(content)).id);
        }
        const broken = new ReadableStream({ pull(controller) { controller.error(new Error("broken")); } });
        const errors = [];
        const waiting = new AbortController();
        const absent = { id: "x".repeat(43), len: 3 };
        setTimeout(() => waiting.abort(new Error("given up")), 100);
        for (const work of [
          () => attachments.create("text"),
          () => attachments.create(broken),
          () => attachments.create(bytes, { size: 3 }),
          () => attachments.fetch({ id: "short", len: 3 }),
          () => attachments.fetch(absent, { signal: waiting.signal }),
        ]) errors.push(await work().then(() => "done", (error) => error.code ?? error.message));
        return { sameIds: new Set(ids).size === 1, errors };
      })()`);
      expect(outcome).toEqual({
        sameIds: true,
        errors: ["config.invalid", "broken", "config.invalid", "attachment.invalid", "given up"],
      });
    },
  );

  test.runIf(isHere)(
    `${name}: a subscription with prefetch brings contents along, for use without a connection${because}`,
    async () => {
      const tabs = await openTabs();
      const other = await tabs.server.peer();
      const content = await other.attachments.create(bytesOf(4, 200_000));
      await other.store.execute(INSERT, { file: { _id: "p", content } });
      other.sync.start();
      const tab = await help(await tabs.openTab());
      await tab.run(
        `peer.sync.registerSubscription("SELECT * FROM files", {}, { prefetch: true }); peer.sync.start()`,
      );
      await tab.until(
        `peer.store.execute("SELECT * FROM system:data_sync_info").then(({ items }) => items[0].attachments?.stored_bytes)`,
        200_000,
      );
      await tab.run("peer.sync.stop()");
      expect(
        await tab.run(
          `tokenOf("p").then((token) => peer.attachments.fetch(token)).then((found) => found.bytes()).then(digestOf)`,
        ),
      ).toBe(digestOf(bytesOf(4, 200_000)));
      expect(
        await tab.run(
          `(() => { try { peer.sync.registerSubscription("SELECT * FROM files", {}, { fetch: 1 }); } catch (error) { return error.code; } })()`,
        ),
      ).toBe("config.invalid");
    },
  );

  test.runIf(isHere)(
    `${name}: beyond the bound of the app a content is store.full; erase removes contents${because}`,
    async () => {
      const tabs = await openTabs();
      const tab = await help(await tabs.openTab({ options: { attachmentBytesMax: 1_000_000 } }));
      const create = (size: number): string =>
        `peer.attachments.create(bytesOf(5, ${size})).then(({ len }) => len, ({ code }) => code)`;
      expect(await tab.run(create(1_000_001))).toBe("store.full");
      expect(await tab.run(create(900_000))).toBe(900_000);
      await tab.run("peer.erase()");
      const databases = "indexedDB.databases().then((all) => all.map(({ name }) => name))";
      expect(await tab.run(databases)).toEqual([]);
      await tab.openOrThrow({ options: { memory: true } });
      expect(await tab.run(create(900_001))).toBe(900_001);
      expect(await tab.run(databases)).toEqual([]);
    },
  );

  test.runIf(isHere)(
    `${name}: a stream of 200 MB goes through the page, to the server and back, piece by piece${because}`,
    async () => {
      const tabs = await openTabs();
      const tab = await help(await tabs.openTab());
      await tab.run("peer.sync.start()");
      const [count, size] = [200, 1_000_000];
      await tab.run(`(async () => {
        let i = 0;
        const stream = new ReadableStream({
          pull(controller) {
            if (i === ${count}) controller.close();
            else controller.enqueue(new Uint8Array(${size}).fill(i++));
          },
        });
        await insert("large", await peer.attachments.create(stream));
      })()`);
      await tab.until(UPLOADED);
      const second = await help(await tabs.openTab({ options: { name: "second" } }));
      await second.run(`peer.sync.registerSubscription("SELECT * FROM files"); peer.sync.start()`);
      await second.until(`peer.store.execute("${ALL}").then(({ items }) => items.length)`, 1);
      const sums = await second.run(`(async () => {
        const found = await peer.attachments.fetch(await tokenOf("large"));
        const reader = found.stream().getReader();
        let [at, wrong] = [0, 0];
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return { at, wrong };
          for (let i = 0; i < value.length; i += 997) {
            if (value[i] !== Math.floor((at + i) / ${size}) % 256) wrong++;
          }
          at += value.length;
        }
      })()`);
      expect(sums).toEqual({ at: count * size, wrong: 0 });
    },
  );
}
