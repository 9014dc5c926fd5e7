/**
 * A client and a small peer that use a server through a proxy with HTTPS, as a process of its own:
 * Node reads NODE_EXTRA_CA_CERTS once. It prints a line of JSON after each part. For the last part
 * it waits for a line on standard input.
 *
 * node proxied-client.mjs URL APP_ID API_KEY
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { openPeer } from "@bigpeer/peer";

const ATTACHMENT_SIZE = 20_000_000;
const RETRY_MS = 100;

const [url = "", appId = "", apiKey = ""] = process.argv.slice(2);
const authorization = `Bearer ${apiKey}`;

function report(part) {
  process.stdout.write(`${JSON.stringify(part)}\n`);
}

async function execute(statement, args = {}) {
  const response = await fetch(`${url}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ statement, args }),
  });
  const text = await response.text();
  return { status: response.status, items: response.ok ? JSON.parse(text).items : [] };
}

async function statusOf(path) {
  return (await fetch(url + path)).status;
}

/** Resolves when a local query of the peer has this document. */
function seen(peer, id) {
  return new Promise((resolve) => {
    peer.store.registerObserver("SELECT * FROM cars WHERE _id = :id", { id }, ({ items }) => {
      if (items.length > 0) resolve();
    });
  });
}

/** Repeats until it returns true. */
async function until(work) {
  while (!(await work().catch(() => false))) await setTimeout(RETRY_MS);
}

async function useAttachment() {
  const bytes = randomBytes(ATTACHMENT_SIZE);
  const form = new FormData();
  form.append("file", new Blob([bytes]), "a.bin");
  const upload = `${url}/api/v4/attachments/upload`;
  const sent = await fetch(upload, { method: "POST", headers: { authorization }, body: form });
  const id = createHash("sha256").update(bytes).digest("base64url");
  const back = await fetch(`${url}/api/v4/attachments/${id}`, { headers: { authorization } });
  const isSame = Buffer.from(await back.arrayBuffer()).equals(bytes);
  report({ part: "attachment", upload: sent.status, download: back.status, isSame });
}

/** From another address of this machine, with an address that is not its own in the header. */
async function comeFromElsewhere() {
  const { port } = new URL(url);
  const headers = { host: `localhost:${port}`, "x-forwarded-for": "203.0.113.9" };
  const to = { host: "127.0.0.1", port, servername: "localhost", localAddress: "127.0.0.2" };
  const asked = request({ ...to, path: "/livez", headers }).end();
  const [answer] = await once(asked, "response");
  answer.resume();
  report({ part: "address", requestId: answer.headers["x-request-id"] });
}

const written = await execute("INSERT INTO cars DOCUMENTS ({'_id': 'http'})");
report({ part: "http", status: written.status });
report({ part: "paths", readyz: await statusOf("/readyz"), metrics: await statusOf("/metrics") });

const peer = await openPeer({ appId, url, token: apiKey, memory: true });
peer.on("error", (error) => process.stderr.write(`${error.message}\n`));
const cars = peer.sync.registerSubscription("SELECT * FROM cars");
const fromHttp = seen(peer, "http");
peer.sync.start();
await cars.whenReady();
await fromHttp;
await peer.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'peer'})");
await until(async () => {
  return (await execute("SELECT * FROM cars WHERE _id = 'peer'")).items.length === 1;
});
report({ part: "peer" });

await useAttachment();
await comeFromElsewhere();

// The server is restarted meanwhile.
await once(createInterface({ input: process.stdin }), "line");
const again = seen(peer, "again");
await until(async () => {
  const { status } = await execute(
    "INSERT INTO cars DOCUMENTS ({'_id': 'again'}) ON ID CONFLICT DO NOTHING",
  );
  return status === 200;
});
await again;
report({ part: "returned" });
await peer.close();
process.exit(0);
