/**
 * Honest clients that use the server during an attack, from an address of their own: the prober of
 * `/health/live`, and the neighbour, another app whose writes, syncs and uploads of attachments
 * must continue.
 */
import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { decodeServerMessage, encodeMessage, SYNC_VERSION } from "@bigpeer/protocol";
import { RawClient } from "../../bench/sync/raw-client.mjs";

/** Attackers come from 127.0.0.1. */
export const HONEST_ADDRESS = "127.0.0.2";

const ANSWER_MS_MAX = 30_000;
const VISIT_PAUSE_MS = 700;
const WRITE_PAUSE_MS = 5;
const CONTENT_SIZE = 20_000;

/** One persistent connection. Resolves with status and content; rejects after a timeout. */
class Caller {
  constructor(port) {
    this.port = port;
    this.agent = new Agent({ keepAlive: true, maxSockets: 1 });
  }

  ask({ method = "GET", path, headers = {}, content, msMax = ANSWER_MS_MAX }) {
    return new Promise((resolve, reject) => {
      const sent = request({
        agent: this.agent,
        port: this.port,
        host: "127.0.0.1",
        localAddress: HONEST_ADDRESS,
        method,
        path,
        headers: content === undefined ? headers : { ...headers, "content-length": content.length },
        signal: AbortSignal.timeout(msMax),
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }),
        );
      });
      sent.end(content);
    });
  }

  async post(path, key, body) {
    const { status, text } = await this.ask({
      method: "POST",
      path,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      content: Buffer.from(JSON.stringify(body)),
    });
    if (status === 200) return JSON.parse(text);
    throw new Error(`${status} ${text.slice(0, 120)}`);
  }

  close() {
    this.agent.destroy();
  }
}

/** Probes `/health/live` on its own connection, which is open before the attack. */
export class Prober {
  constructor(port) {
    this.caller = new Caller(port);
  }

  /** Resolves when the connection is open. */
  async open() {
    await this.caller.ask({ path: "/health/live" });
  }

  /**
   * `count` probes, one after the other, a pause before each. It gives up when `missesMax` of them took
   * longer than `msMax` or had no answer.
   */
  async probe({ count, pauseMs, msMax, missesMax }) {
    const times = [];
    let failed = 0;
    let misses = 0;
    while (times.length + failed < count && misses < missesMax) {
      await setTimeout(pauseMs);
      const start = performance.now();
      const isLive = await this.caller.ask({ path: "/health/live" }).then(
        ({ status }) => status === 200,
        () => false,
      );
      const time = performance.now() - start;
      if (isLive) times.push(time);
      else failed++;
      if (!isLive || time > msMax) misses++;
    }
    this.caller.close();
    return { times, failed };
  }
}

/** Repeats `visit` until `signal`. Returns times of successes and reasons of failures. */
async function again(signal, pauseMs, visit) {
  const done = { times: [], failed: [] };
  while (!signal.aborted) {
    const start = performance.now();
    try {
      await visit();
      done.times.push(performance.now() - start);
    } catch (error) {
      done.failed.push(error.message);
    }
    await setTimeout(pauseMs);
  }
  return done;
}

/** Sends `hello`, subscribes, and waits until the subscription is complete. */
function syncOnce(port, key) {
  return new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(ANSWER_MS_MAX);
    let client;
    const end = (settle) => {
      client?.close();
      settle();
    };
    late.addEventListener("abort", () => end(() => reject(new Error("no answer"))));
    const onMessage = (bytes) => {
      const message = decodeServerMessage(bytes);
      if (message.t === "welcome") {
        const query = "SELECT * FROM jobs WHERE kind = :kind";
        client.send(encodeMessage({ t: "subscribe", id: 1, query, args: { kind: "none" } }));
      } else if (message.t === "complete") end(resolve);
      else if (message.t === "bye" || message.t === "unsubscribed") {
        end(() => reject(new Error(`${message.t} ${message.code}`)));
      }
    };
    const onClose = (reason) => reject(new Error(reason.slice(0, 60)));
    RawClient.open({ port, path: "/sync", onMessage, onClose, localAddress: HONEST_ADDRESS }).then(
      (opened) => {
        client = opened;
        if (late.aborted) client.close();
        else client.send(encodeMessage(helloOf(key, NEIGHBOUR_SITE)));
      },
      ({ message }) => reject(new Error(message.split("\n")[0])),
    );
  });
}

const NEIGHBOUR_SITE = "00000000000000aa";

export function helloOf(token, site, changes = {}) {
  const peer = { key: `prove-${site}`, deviceName: "prove", os: "none", sdk: "none", metadata: {} };
  return { t: "hello", version: SYNC_VERSION, token, site, peer, now: Date.now(), ...changes };
}

/** A form with one file whose content is new. */
function formOf() {
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n';
  return Buffer.concat([
    Buffer.from(head),
    randomBytes(CONTENT_SIZE),
    Buffer.from("\r\n--b--\r\n"),
  ]);
}

async function uploadOnce(caller, key) {
  const { status, text } = await caller.ask({
    method: "POST",
    path: "/api/v4/attachments/upload",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "multipart/form-data; boundary=b",
    },
    content: formOf(),
  });
  if (status !== 200) throw new Error(`${status} ${text.slice(0, 120)}`);
}

/** The other app. `acknowledged` counts its writes; the n-th of them is the document `j-n`. */
export class Neighbour {
  constructor(port, key) {
    this.port = port;
    this.key = key;
    this.writer = new Caller(port);
    this.uploader = new Caller(port);
    this.acknowledged = [];
    this.next = 0;
  }

  async write() {
    const number = this.next++;
    const commands = [
      { method: "upsert", collection: "jobs", id: `j-${number}`, value: { kind: "job", number } },
    ];
    await this.writer.post("/api/v4/store/write", this.key, { commands });
    this.acknowledged.push(number);
  }

  /** Does everything once, so that the app is open before the attack. */
  async warmUp() {
    for (let i = 0; i < 20; i++) await this.write();
    await syncOnce(this.port, this.key);
    await uploadOnce(this.uploader, this.key);
  }

  async workUntil(signal) {
    const [writes, syncs, uploads] = await Promise.all([
      again(signal, WRITE_PAUSE_MS, () => this.write()),
      again(signal, VISIT_PAUSE_MS, () => syncOnce(this.port, this.key)),
      again(signal, VISIT_PAUSE_MS, () => uploadOnce(this.uploader, this.key)),
    ]);
    return { writes, syncs, uploads };
  }

  close() {
    this.writer.close();
    this.uploader.close();
  }
}

/** Number of acknowledged writes that a server has lost. */
export async function countLost(port, key, acknowledged) {
  const caller = new Caller(port);
  const statement = "SELECT number FROM jobs";
  const { items } = await caller.post("/api/v4/store/execute", key, { statement });
  caller.close();
  const held = new Set(items.map(({ number }) => number));
  return acknowledged.filter((number) => !held.has(number)).length;
}

/** Whether the server can read and write in an app after the attack. */
export async function answersIn(port, key, collection) {
  const caller = new Caller(port);
  try {
    const document = { _id: "prove-after", kind: "after" };
    const write = `INSERT INTO ${collection} DOCUMENTS (:document) ON ID CONFLICT DO UPDATE`;
    const read = `SELECT * FROM ${collection} WHERE _id = 'prove-after'`;
    const execute = (statement, args) =>
      caller.post("/api/v4/store/execute", key, { statement, args });
    await execute(write, { document });
    return (await execute(read, {})).items.length === 1;
  } catch {
    return false;
  } finally {
    caller.close();
  }
}
