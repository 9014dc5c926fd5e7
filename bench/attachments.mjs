/**
 * Attachments through sync beside bare HTTP: a small peer uploads a content, another one fetches it; and
 * a program sends the same bytes to a server of node:http that writes them into a file, and gets them
 * back into a file. Both sync their files. Rounds alternate, and medians are compared.
 *
 *   --size MB       size of the content (default 200)
 *   --rounds N      default 9
 */
import { randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openPeer } from "@bigpeer/peer";
import { startServer } from "../prove/availability/server-process.mjs";
import { figure, median, row, verdict } from "./sync/table.mjs";

const RATIO_MIN = 0.7;
const INSERT = "INSERT INTO COLLECTION files (content ATTACHMENT) DOCUMENTS (:file)";
const ALL = "SELECT * FROM COLLECTION files (content ATTACHMENT) WHERE _id = :id";

const { values } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    size: { type: "string", default: "200" },
    rounds: { type: "string", default: "9" },
  },
});
const size = Number(values.size) * 1_000_000;
const rounds = Number(values.rounds);
const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));

/** A server that does nothing else than to keep one file. */
async function startBare() {
  const path = join(folder, "bare");
  const serve = async (asked, answer) => {
    if (asked.method === "PUT") {
      await pipeline(asked, createWriteStream(path));
      await sync(path);
      answer.end();
    } else await pipeline(createReadStream(path), answer);
  };
  const server = createServer((asked, answer) => void serve(asked, answer));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: server.address().port };
}

async function sync(path) {
  const file = await open(path, "r+");
  await file.sync();
  await file.close();
}

async function bareUpload(port, path) {
  const sending = request({ port, method: "PUT" });
  const answered = new Promise((resolve, reject) => {
    sending.on("response", (answer) => answer.resume().on("end", resolve));
    sending.on("error", reject);
  });
  await pipeline(createReadStream(path), sending);
  await answered;
}

async function bareDownload(port, path) {
  const asked = request({ port, method: "GET" }).end();
  const answer = await new Promise((resolve, reject) => {
    asked.on("response", resolve);
    asked.on("error", reject);
  });
  await pipeline(answer, createWriteStream(path));
  await sync(path);
}

/** Megabytes a second. */
async function rateOf(work) {
  const begin = performance.now();
  await work();
  return size / 1000 / (performance.now() - begin);
}

async function until(test) {
  for (;;) {
    const found = await test();
    if (found) return found;
    await wait(2);
  }
}

const server = await startServer(join(folder, "server"), {
  flags: ["--attachment-size-max", String(2 * size)],
});
const { appId, apiKey: token, dataUrl: url } = server;
const bare = await startBare();
const sender = await openPeer({ appId, url, token, folder: join(folder, "sender") });
const receiver = await openPeer({ appId, url, token, folder: join(folder, "receiver") });
receiver.sync.registerSubscription("SELECT * FROM files");
for (const peer of [sender, receiver]) peer.sync.start();

const rates = { up: [], down: [], bareUp: [], bareDown: [] };
try {
  for (let round = 0; round < rounds; round++) {
    const path = join(folder, "content");
    const file = createWriteStream(path);
    for (let left = size; left > 0; left -= 1_000_000) file.write(randomBytes(1_000_000));
    await new Promise((resolve) => file.end(resolve));
    rates.bareUp.push(await rateOf(() => bareUpload(bare.port, path)));
    const content = await sender.attachments.create(path);
    rates.up.push(
      await rateOf(async () => {
        await sender.store.execute(INSERT, { file: { _id: round, content } });
        await until(() => sender.sync.status.pendingCount === 0);
      }),
    );
    rates.bareDown.push(await rateOf(() => bareDownload(bare.port, join(folder, "copy"))));
    const [item] = await until(async () => {
      const { items } = await receiver.store.execute(ALL, { id: round });
      return items.length > 0 && items;
    });
    rates.down.push(await rateOf(() => receiver.attachments.fetch(item.content)));
  }
} finally {
  await sender.close();
  await receiver.close();
  bare.server.close();
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
}

for (const [way, ours, theirs] of [
  ["upload", rates.up, rates.bareUp],
  ["download", rates.down, rates.bareDown],
]) {
  const ratio = median(ours) / median(theirs);
  row(`${String(way)} of ${values.size} MB, MB/s`, [figure(median(ours))]);
  row("  bare HTTP", [figure(median(theirs))]);
  verdict(`at least ${RATIO_MIN} of bare HTTP (${ratio.toFixed(2)})`, ratio >= RATIO_MIN);
}
