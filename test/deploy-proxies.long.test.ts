/**
 * The configurations of nginx and Caddy in deploy/, with the real programs: HTTP, a small peer, a
 * large attachment and the address of the client pass through, and a peer returns after a restart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleScript, type Script } from "../packages/node/test/support/script.ts";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "../packages/server/test/support/bigpeer-process.ts";
import { logLines } from "../packages/server/test/support/log-lines.ts";
import { testProgram } from "./support/debian-programs.ts";
import { ROOT } from "./support/repository.ts";

const nginx = await testProgram("nginx");
const caddy = await testProgram("caddy");

const CERTIFICATES = join(ROOT, "packages/server/test/support");
const CLIENT = join(ROOT, "test/support/proxied-client.mjs");

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

interface Proxy {
  readonly url: string;
  /** File with the certificate that signs that of the proxy. */
  readonly ca: string;
}

type StartProxy = (upstream: string) => Promise<Proxy>;

/** Ends with the test. */
function start(path: string, words: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(path, words, { env, stdio: ["ignore", "inherit", "pipe"] });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(child, "close");
  onTestFinished(async ({ task }) => {
    child.kill("SIGTERM");
    await ended;
    if (task.result?.state === "fail") process.stderr.write(said);
  });
  return child;
}

async function whenListening(port: number, child: ChildProcess): Promise<void> {
  await vi.waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.destroy();
  });
}

function replaced(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((result, [from, to]) => {
    expect(result).toContain(from);
    return result.replaceAll(from, to);
  }, text);
}

/** The configuration as it is, but for ports, certificate and upstream. */
const startNginx: StartProxy = async (upstream) => {
  const folder = temporaryFolder();
  const [port, plainPort] = [await freePort(), await freePort()];
  const live = "/etc/letsencrypt/live/bigpeer.example.com";
  const text = replaced(readFileSync(join(ROOT, "deploy/nginx.conf"), "utf8"), [
    ["    listen [::]:80;\n", ""],
    ["    listen [::]:443 ssl;\n", ""],
    ["listen 80;", `listen 127.0.0.1:${plainPort};`],
    ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
    [`${live}/fullchain.pem`, join(CERTIFICATES, "tls-certificate.pem")],
    [`${live}/privkey.pem`, join(CERTIFICATES, "tls-key.pem")],
    ["bigpeer.example.com", "localhost"],
    ["server 127.0.0.1:8080;", `server ${upstream};`],
  ]);
  for (const name of ["body", "proxy", "fastcgi", "uwsgi", "scgi"]) mkdirSync(join(folder, name));
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${name === "client_body" ? "body" : name};`,
  );
  const whole = [
    `${process.getuid?.() === 0 ? "user root;" : ""} pid nginx.pid; error_log stderr;`,
    `events {} http { access_log off; ${paths.join(" ")}`,
    text,
    "}",
  ].join("\n");
  writeFileSync(join(folder, "nginx.conf"), whole);
  const words = ["-p", folder, "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;"];
  await whenListening(port, start(nginx.path, words, process.env));
  const plain = await fetch(`http://127.0.0.1:${plainPort}/livez`, { redirect: "manual" });
  expect(plain.status).toBe(301);
  return { url: `https://localhost:${port}`, ca: join(CERTIFICATES, "tls-certificate.pem") };
};

/** The configuration as it is, behind options that keep Caddy inside a folder. */
const startCaddy: StartProxy = async (upstream) => {
  const folder = temporaryFolder();
  const port = await freePort();
  const options = `{
    admin off
    auto_https disable_redirects
    skip_install_trust
    storage file_system ${folder}
  }`;
  const config = join(folder, "Caddyfile");
  writeFileSync(config, `${options}\n${readFileSync(join(ROOT, "deploy/Caddyfile"), "utf8")}`);
  const url = `https://localhost:${port}`;
  const env = { ...process.env, HOME: folder, BIGPEER_DOMAIN: url, BIGPEER_UPSTREAM: upstream };
  const words = ["run", "--config", config, "--adapter", "caddyfile"];
  await whenListening(port, start(caddy.path, words, env));
  return { url, ca: join(folder, "pki/authorities/local/root.crt") };
};

/** The lines of JSON that the client prints, in the order of its parts. */
class Client {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor({ url, ca }: Proxy, { appId, apiKey }: { appId: string; apiKey: string }) {
    this.#child = spawn(process.execPath, [CLIENT, url, appId, apiKey], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: ca },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("expected an output");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    const ended = once(this.#child, "close");
    onTestFinished(async () => {
      this.#child.kill("SIGKILL");
      await ended;
    });
  }

  async next(): Promise<Record<string, unknown>> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("expected a line of the client, it ended");
    return JSON.parse(value) as Record<string, unknown>;
  }

  goOn(): void {
    this.#child.stdin?.write("\n");
  }
}

/** What a client and a peer saw, part by part. */
async function useThrough(startProxy: StartProxy): Promise<unknown[]> {
  const dataDir = temporaryFolder();
  const port = await freePort();
  const words = ["--data-dir", dataDir, "--port", String(port), "--management-port", "off"];
  const settings = [...words, "--trusted-proxies", "127.0.0.1", "--log-level", "debug"];
  const server = new BigpeerProcess(script, settings);
  await server.url();
  const proxy = await startProxy(`127.0.0.1:${port}`);
  const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
  const client = new Client(proxy, quickstart);
  const parts: unknown[] = [];
  for (let i = 0; i < 4; i++) parts.push(await client.next());
  const { requestId } = await client.next();
  server.kill("SIGTERM");
  const { code } = await server.ended;
  // Its log is whole now.
  const line = logLines(server.stderr).find((each) => each["requestId"] === requestId);
  parts.push({ part: "address", remoteAddress: line?.["remoteAddress"] });
  parts.push({ part: "stopped", code });
  await new BigpeerProcess(script, settings).url();
  client.goOn();
  parts.push(await client.next());
  return parts;
}

const USED = [
  { part: "http", status: 200 },
  { part: "paths", readyz: 200, metrics: 404 },
  { part: "peer" },
  { part: "attachment", upload: 200, download: 200, isSame: true },
  // The address of the client, not that of the proxy, and not the one that the client claims.
  { part: "address", remoteAddress: "127.0.0.2" },
  { part: "stopped", code: 0 },
  { part: "returned" },
];

test.runIf(nginx.isPresent)("clients and peers use a server through nginx", async () => {
  expect(await useThrough(startNginx)).toEqual(USED);
});

test.runIf(caddy.isPresent)("clients and peers use a server through Caddy", async () => {
  expect(await useThrough(startCaddy)).toEqual(USED);
});
