/**
 * The nats-server that tests and examples of a cluster use: it is taken from Debian on first use, and
 * can sync before it acknowledges. In CI a missing one fails here.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { findNatsServer } from "../scripts/nats-server.mjs";

const CONFIG = `
host: 127.0.0.1
port: -1
http: "127.0.0.1:-1"
jetstream { store_dir: "store", sync_interval: always }
ports_file_dir: "."
`;

test("a nats-server of 2.12 or newer is found or unpacked, and syncs before it acknowledges", async () => {
  const { path, version = "", reason } = await findNatsServer();
  expect(reason).toBeUndefined();
  expect(Number(version.split(".")[1])).toBeGreaterThanOrEqual(12);
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-nats-"));
  writeFileSync(join(folder, "nats.conf"), CONFIG);
  const server = spawn(path ?? "", ["-c", "nats.conf"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(server, "exit");
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await exited;
    rmSync(folder, { recursive: true });
  });
  let log = "";
  server.stderr.on("data", (text: Buffer) => {
    log += text.toString();
  });
  while (!log.includes("Server is ready")) await setTimeout(20);
  const monitor = /Starting http monitor on (\S+)/.exec(log)?.[1] ?? "";
  const state = (await (await fetch(`http://${monitor}/varz`)).json()) as {
    readonly jetstream: { readonly config: { readonly sync_always?: boolean } };
  };
  expect(state.jetstream.config.sync_always).toBe(true);
});

test("a program that NATS_SERVER names wrongly is refused with its path", async () => {
  expect(await findNatsServer({ NATS_SERVER: "/bin/false" })).toEqual({
    reason: "NATS_SERVER is no nats-server: /bin/false",
  });
});

test("where there is none, it is unpacked into the cache, checked by the signature of Debian", async () => {
  const empty = mkdtempSync(join(tmpdir(), "bigpeer-nats-"));
  onTestFinished(() => rmSync(empty, { recursive: true }));
  const { path, reason } = await findNatsServer({ PATH: "", XDG_CACHE_HOME: empty });
  expect(reason).toBeUndefined();
  expect(path).toContain(empty);
});
