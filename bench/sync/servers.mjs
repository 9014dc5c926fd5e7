/**
 * Servers that raw clients connect to, each in a process of its own: Big Peer with a data folder,
 * as users start it, and the other products.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { install } from "../rivals/install.mjs";
import { post } from "./post.mjs";
import { start } from "./process.mjs";
import { fieldsOfTurn, idOfTurn } from "./turn.mjs";

const START_MS_MAX = 20_000;
const FILL_BATCH = 1_000;
const SERVER = fileURLToPath(new URL("../../packages/server/package.json", import.meta.url));

/** Resolves when ready. `folder` must not exist. `flags` and `env` are further settings. */
export async function startBigPeer(folder, { flags = ["--management-port", "off"], env } = {}) {
  const child = start("../../packages/server/dist/main.js", {
    args: ["--data-dir", folder, "--port", "0", ...flags],
    collects: true,
    env: { BIGPEER_LOG_LEVEL: "warn", ...env },
  });
  const file = join(folder, "quickstart.json");
  for (const end = performance.now() + START_MS_MAX; ; await setTimeout(50)) {
    try {
      const { apiKey: token, dataUrl: url, ...rest } = JSON.parse(readFileSync(file, "utf8"));
      if ((await fetch(`${url}/health/ready`)).ok)
        return new BigPeer(child, { token, url, ...rest });
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

class BigPeer {
  constructor(child, { token, url, appId, managementUrl }) {
    this.name = "big peer";
    this.child = child;
    this.token = token;
    this.url = url;
    this.appId = appId;
    this.managementUrl = managementUrl;
    this.port = Number(new URL(url).port);
    this.path = "/sync";
    this.given = { token };
  }

  post(path, body) {
    return post({ port: this.port, path: `/api/v4/store/${path}`, token: this.token, body });
  }

  upsert(id, value) {
    return this.post("write", {
      commands: [{ method: "upsert", collection: "cars", id, value }],
    });
  }

  write(turn) {
    return this.upsert(idOfTurn(turn), fieldsOfTurn(turn));
  }

  /** Writes `count` documents, created by number. */
  async fill(count, documentOf) {
    for (let i = 0; i < count; i += FILL_BATCH) {
      const size = Math.min(FILL_BATCH, count - i);
      const documents = Array.from({ length: size }, (_, j) => documentOf(i + j));
      await this.post("execute", {
        statement: "INSERT INTO cars DOCUMENTS (:documents)",
        args: { documents },
      });
    }
  }
}

/** The version of `ws` that Big Peer uses. */
export async function installWs() {
  const found = createRequire(SERVER)
    .resolve.paths("ws")
    .find((path) => existsSync(`${path}/ws`));
  return found === undefined ? install("ws@8.22.2") : SERVER;
}

export async function startBare() {
  const from = await installWs();
  const child = start("bare-ws.mjs", { args: [JSON.stringify({ from })], collects: true });
  const { port } = await child.ask("listen");
  const write = (turn) => post({ port, path: "/", body: bodyOf(turn) });
  return { name: "bare", child, port, path: "/", given: {}, write };
}

export async function startHocuspocus() {
  const from = await install(
    "@hocuspocus/server@4.7.0",
    "@hocuspocus/provider@4.7.0",
    "yjs@13.6.33",
  );
  const child = start("hocuspocus.mjs", { args: [JSON.stringify({ from })], collects: true });
  const { port, writePort } = await child.ask("listen");
  const write = (turn) => post({ port: writePort, path: "/", body: bodyOf(turn) });
  return { name: "hocuspocus", child, port, path: "/", given: { from }, write };
}

/** A server on `node:http` alone, for Server-Sent Events. */
export async function startBareEvents() {
  const child = start("../changes/bare-events.mjs", { collects: true });
  const { port } = await child.ask("listen");
  const write = (turn) => post({ port, path: "/", body: bodyOf(turn) });
  return { name: "bare events", child, port, path: "/", given: {}, write };
}

function bodyOf(turn) {
  return { id: idOfTurn(turn), value: fieldsOfTurn(turn) };
}
