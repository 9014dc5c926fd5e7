/**
 * The program as a process of its own: what it prints, how it is used, how it ends.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { bundleScript, type Script } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { VERSION } from "../src/config/version.ts";
import { BigpeerProcess } from "./support/bigpeer-process.ts";
import { logLines } from "./support/log-lines.ts";

let script: Script;

beforeAll(async () => {
  script = await bundleScript("server/src/main");
});

afterAll(() => script.remove());

function run(words: readonly string[], env?: Record<string, string>): BigpeerProcess {
  return new BigpeerProcess(script, words, env);
}

function serve(dataDir: string, env?: Record<string, string>): BigpeerProcess {
  return run(["--data-dir", dataDir, "--port", "0"], env);
}

test("it prints its addresses, serves health, and SIGTERM ends it cleanly", async () => {
  const dataDir = join(temporaryFolder(), "new");
  const server = serve(dataDir);
  const url = await server.url();
  expect(server.stdout).toMatch(
    new RegExp(
      [
        `^Big Peer ${VERSION} is ready`,
        `  url    ${url}`,
        "  manage http://127.0.0.1:\\d+",
        `  data   ${dataDir}`,
        "  app    [0-9a-f-]{36} \\(default\\)",
        `  key    in ${join(dataDir, "quickstart.json")}`,
        `  console consoleUrl in ${join(dataDir, "quickstart.json")}`,
        `  stop   Ctrl-C, or kill ${server.pid}`,
        "",
        "Write a document, then read it back:",
        "",
        "curl .*",
        "",
        "curl .*\n$",
      ].join("\n"),
    ),
  );
  for (const path of ["live", "ready"]) {
    const response = await fetch(`${url}/health/${path}`);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 200,
      body: { status: path },
    });
  }
  server.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  const level = "info";
  expect(logLines(stderr)).toEqual([
    { level, time: expect.any(String), msg: "SIGTERM: closing" },
    { level, time: expect.any(String), msg: "closed" },
  ]);
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
});

test.runIf(isFullSize && process.platform === "linux")(
  "[K73] files of the process are accessible to their owner only, however it was started",
  async () => {
    const server = serve(temporaryFolder());
    await server.url();
    const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
    expect(/^Umask:\s+(\d+)$/m.exec(status)?.[1]).toBe("0077");
    server.kill("SIGTERM");
    await server.ended;
  },
);

/** Runs a line as a shell would that it was pasted into. */
async function paste(line: string): Promise<{ code: number | null; answer: unknown }> {
  const shell = spawn("sh", ["-c", line], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  shell.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const [code] = (await once(shell, "close")) as [number | null];
  return { code, answer: JSON.parse(text) };
}

test.runIf(isFullSize)(
  "[H16] the commands that the first start prints write a document and read it back",
  async () => {
    const dataDir = temporaryFolder();
    const server = serve(dataDir);
    await server.url();
    const lines = await vi.waitFor(() => {
      const found = server.stdout.match(/^curl .*$/gm) ?? [];
      expect(found).toHaveLength(2);
      return found;
    });
    // What is printed elsewhere than on a terminal is kept by others.
    const { apiKey } = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
    expect(server.stdout).not.toContain(apiKey);
    // They can be pasted more than once.
    for (let count = 1; count <= 2; count++) {
      expect(await paste(lines[0] ?? "")).toMatchObject({
        code: 0,
        answer: { queryType: "mutation", mutatedDocumentIds: [expect.any(String)], error: {} },
      });
      const task = { _id: expect.any(String), title: "Water the plants", isDone: false };
      expect(await paste(lines[1] ?? "")).toMatchObject({
        code: 0,
        answer: {
          queryType: "select",
          items: Array.from({ length: count }, () => task),
          error: {},
        },
      });
    }
  },
);

test.runIf(isFullSize)(
  "[H16] a later start prints where the key is, not the key, and the key still works",
  async () => {
    const dataDir = temporaryFolder();
    const path = join(dataDir, "quickstart.json");
    const first = serve(dataDir);
    const firstUrl = await first.url();
    const before = JSON.parse(readFileSync(path, "utf8"));
    expect(before.dataUrl).toBe(firstUrl);
    first.kill("SIGTERM");
    await first.ended;
    const second = serve(dataDir);
    const url = await second.url();
    expect(second.stdout).toContain(`\n  key    in ${path}\n`);
    const managementUrl = /manage (\S+)/.exec(second.stdout)?.[1];
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      ...before,
      dataUrl: url,
      managementUrl,
      consoleUrl: expect.stringMatching(new RegExp(`^${managementUrl}/#token=bpc_[\\w-]{43}$`)),
    });
    const response = await fetch(`${url}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${before.apiKey}`, "content-type": "application/json" },
      body: '{"statement":"SELECT * FROM tasks"}',
    });
    expect(response.status).toBe(200);
    second.kill("SIGTERM");
    const { stdout, stderr } = await second.ended;
    expect(stdout).not.toContain("curl");
    expect(stdout + stderr).not.toContain(before.apiKey);
  },
);

test.runIf(isFullSize)(
  "[H14] SIGTERM during a request: it is answered and durable, and the server ends cleanly",
  async () => {
    const dataDir = temporaryFolder();
    const server = serve(dataDir);
    const { port } = new URL(await server.url());
    const { apiKey } = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
    const statement = "INSERT INTO cars DOCUMENTS (:d)";
    const body = JSON.stringify({ statement, args: { d: { _id: "c1" } } });
    const socket = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    const head = [
      "POST /api/v4/store/execute HTTP/1.1",
      "Host: localhost",
      `Authorization: Bearer ${apiKey}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      // The answer to this says that the body is being read.
      "Expect: 100-continue",
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 20)}`);
    await vi.waitFor(() => expect(answer).toMatch(/^HTTP\/1.1 100 Continue/));
    server.kill("SIGTERM");
    await vi.waitFor(() => expect(server.stderr).toContain("SIGTERM: closing"));
    socket.write(body.slice(20));
    expect((await server.ended).code).toBe(0);
    expect(answer).toMatch(/HTTP\/1.1 200 OK[^]*"mutatedDocumentIds":\["c1"\]/);
    const again = serve(dataDir);
    const read = await fetch(`${await again.url()}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: '{"statement":"SELECT * FROM cars"}',
    });
    expect(await read.json()).toMatchObject({ items: [{ _id: "c1" }], transactionId: 1 });
  },
);

/** Listens on a port until the test ends or it is closed; 0: a free one. */
async function listenOn(port: number): Promise<Server> {
  const listener = createServer();
  onTestFinished(() => void listener.close());
  listener.listen(port, "127.0.0.1");
  await once(listener, "listening");
  return listener;
}

/** The first of three ports that are free, at least now. */
async function threeFreePorts(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const first = await listenOn(0);
    const { port } = first.address() as AddressInfo;
    const others = await Promise.allSettled([listenOn(port + 1), listenOn(port + 2)]);
    const found = others.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    for (const listener of [first, ...found]) listener.close();
    if (found.length === 2) return port;
  }
  throw new Error("expected three free ports in a row");
}

test.runIf(isFullSize)(
  "with --port N management is at N+1 and links at N+2; with 0 all are free ones, and all are printed",
  async () => {
    const env = {
      // As if it were not set: the environment of these tests has it.
      BIGPEER_MANAGEMENT_PORT: "",
      BIGPEER_REPLICATION_SECRET: "a-secret-of-all-big-peers",
    };
    for (const isFree of [false, true]) {
      const port = isFree ? 0 : await threeFreePorts();
      const server = run(["--data-dir", temporaryFolder(), "--port", String(port)], env);
      const data = new URL(await server.url());
      const manage = new URL(/^ {2}manage (\S+)$/m.exec(server.stdout)?.[1] ?? "");
      const links = new URL(/^ {2}links {2}(\S+)$/m.exec(server.stdout)?.[1] ?? "");
      const ports = [data, manage, links].map((url) => Number(url.port));
      if (isFree) expect(new Set(ports).size).toBe(3);
      else expect(ports).toEqual([port, port + 1, port + 2]);
      expect((await fetch(new URL("/health/ready", data))).status).toBe(200);
      const managed = await fetch(new URL("/api/v4/store/execute", manage), { method: "POST" });
      const where = `this is the management API; the data API is at ${data.origin}`;
      expect([managed.status, await managed.text()]).toEqual([404, expect.stringContaining(where)]);
      const socket = connect(Number(links.port), links.hostname);
      onTestFinished(() => void socket.destroy());
      await once(socket, "connect");
      server.kill("SIGTERM");
      expect((await server.ended).code).toBe(0);
    }
  },
);

test.runIf(isFullSize)("environment variables are equivalent to flags", async () => {
  const dataDir = temporaryFolder();
  const env = { BIGPEER_DATA_DIR: dataDir, BIGPEER_PORT: "0", BIGPEER_HOST: "localhost" };
  const server = run([], env);
  expect((await fetch(`${await server.url()}/health/ready`)).status).toBe(200);
  expect(server.stdout).toContain(`data   ${dataDir}\n`);
  server.kill("SIGINT");
  expect((await server.ended).code).toBe(0);
});

test.runIf(isFullSize)(
  "with a shutdown delay it serves until the delay or a second signal ends it, and is not ready",
  async () => {
    const dataDir = temporaryFolder();
    const server = run(["--data-dir", dataDir, "--port", "0", "--shutdown-delay", "3600"]);
    const url = await server.url();
    const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
    expect(await statusOf("/readyz")).toBe(200);
    server.kill("SIGTERM");
    await vi.waitFor(async () => expect(await statusOf("/readyz")).toBe(503));
    expect(await statusOf("/health/ready")).toBe(503);
    expect(await statusOf("/livez")).toBe(200);
    const { apiKey } = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
    const written = await fetch(`${url}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: `{"statement":"INSERT INTO cars DOCUMENTS ({'doors': 3})"}`,
    });
    expect(written.status).toBe(200);
    // Signals within a second count as one.
    await setTimeout(1_000);
    server.kill("SIGTERM");
    const { code, stderr } = await server.ended;
    expect(code).toBe(0);
    expect(logLines(stderr).map(({ msg }) => msg)).toEqual([
      "SIGTERM: serving for 3600 s more, while /readyz fails",
      "SIGTERM: closing",
      "closed",
    ]);
  },
);

test.runIf(isFullSize)("SIGUSR2 switches the log to debug, and back", async () => {
  const server = serve(temporaryFolder());
  const url = await server.url();
  const linesWith = (text: string): number => server.stderr.split(text).length - 1;
  server.kill("SIGUSR2");
  await vi.waitFor(() => expect(server.stderr).toContain("SIGUSR2: the log level is debug"));
  await fetch(`${url}/livez`);
  await vi.waitFor(() => expect(linesWith('"health_live"')).toBe(1));
  server.kill("SIGUSR2");
  await vi.waitFor(() => expect(server.stderr).toContain("SIGUSR2: the log level is info"));
  await fetch(`${url}/livez`);
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  expect(linesWith('"health_live"')).toBe(1);
});

test.runIf(isFullSize)("two SIGINTs within a second count as one", async () => {
  const server = serve(temporaryFolder());
  await server.url();
  server.kill("SIGINT");
  server.kill("SIGINT");
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  expect(logLines(stderr).at(-1)?.msg).toBe("closed");
});

test.runIf(isFullSize)(
  "a second start on the folder fails with a sentence that names the process that holds it",
  async () => {
    const dataDir = temporaryFolder();
    const server = serve(dataDir);
    const url = await server.url();
    const { code, stdout, stderr } = await serve(dataDir).ended;
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    const holder = `process ${server.pid} \\(${url}, since \\S+\\)`;
    expect(stderr).toMatch(new RegExp(`^bigpeer: the folder ${dataDir} is in use by ${holder}\n$`));
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  },
);

test.runIf(isFullSize)("a folder whose server was killed can be used at once", async () => {
  const dataDir = temporaryFolder();
  const killed = serve(dataDir);
  await killed.url();
  killed.kill("SIGKILL");
  await killed.ended;
  const server = serve(dataDir);
  await server.url();
  expect(server.stdout.split("\n")[3]).toBe(killed.stdout.split("\n")[3]);
  // It applied what the journals have, and says so.
  const lines = server.stderr.split("\n").filter((line) => line !== "");
  for (const line of lines) {
    expect(line).toMatch(/"level":"info".*(was not closed cleanly|has all \d+ writes)/);
  }
});

test.runIf(isFullSize)(
  "of several servers started at once on one new folder exactly one serves",
  async () => {
    for (let round = 0; round < 2; round++) {
      const dataDir = join(temporaryFolder(), "new");
      const servers = Array.from({ length: 4 }, () => serve(dataDir));
      const outcomes = await Promise.allSettled(servers.map((server) => server.url()));
      const winners = servers.filter((_, i) => outcomes[i]?.status === "fulfilled");
      expect(winners).toHaveLength(1);
      for (const server of servers) {
        if (server === winners[0]) continue;
        expect((await server.ended).stderr).toMatch(/is in use by process \d+/);
      }
      winners[0]?.kill("SIGTERM");
      expect((await winners[0]?.ended)?.code).toBe(0);
      expect(readdirSync(dataDir).toSorted()).toEqual([
        "apps",
        "format.json",
        "quickstart.json",
        "registry",
      ]);
      expect(readdirSync(join(dataDir, "apps"))).toHaveLength(1);
    }
  },
);

test.runIf(isFullSize)(
  "an unknown variable causes a warning with the nearest name, and the server starts",
  async () => {
    const server = serve(temporaryFolder(), { BIGPEER_HOTS: "0.0.0.0" });
    await server.url();
    const msg = expect.stringMatching(
      /^the variable BIGPEER_HOTS is not known .*; did you mean BIGPEER_HOST\?$/,
    );
    expect(logLines(server.stderr)).toEqual([{ level: "warn", time: expect.any(String), msg }]);
  },
);

test.runIf(isFullSize)("a port in use is reported in a sentence, without a stack", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const words = ["--data-dir", temporaryFolder(), "--port", String(port)];
  const { code, stderr } = await run(words).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^bigpeer: port ${port} of 127.0.0.1 is in use by .*\n$`));
});

test.runIf(isFullSize)(
  "a wrong flag or value exits with 2, is named, and help is suggested",
  async () => {
    const flag = await run(["--prot", "1"]).ended;
    expect(flag).toMatchObject({ code: 2, stdout: "" });
    const hint = "bigpeer --help shows all commands and settings";
    const expected = "--prot: expected a flag of start; did you mean --port?";
    expect(flag.stderr).toBe(`bigpeer: ${expected}\n${hint}\n`);
    const value = await run([], { BIGPEER_PORT: "many" }).ended;
    expect(value).toMatchObject({ code: 2, stdout: "" });
    const port = 'BIGPEER_PORT: expected a port from 0 to 65535, found "many"';
    expect(value.stderr).toBe(`bigpeer: ${port}\n${hint}\n`);
  },
);

test.runIf(isFullSize)("help and version go to standard output", async () => {
  expect(await run(["--version"]).ended).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
  const help = await run(["--help"]).ended;
  expect(help).toMatchObject({ code: 0, stderr: "" });
  expect(help.stdout).toMatch(/^Usage: bigpeer/);
});

test.runIf(isFullSize)(
  "backup, restore and verify work as commands, next to a running server",
  async () => {
    const parent = temporaryFolder();
    const data = join(parent, "data");
    const copy = join(parent, "copy");
    const restored = join(parent, "restored");
    await serve(data).url();
    expect(await run(["backup", "--data-dir", data, "--to", copy]).ended).toMatchObject({
      code: 0,
      stdout: `copied to ${copy}: registry, apps 1, 0.1 MB\n`,
    });
    expect(await run(["restore", "--from", copy, "--data-dir", restored]).ended).toMatchObject({
      code: 0,
      stdout: `copied to ${restored}: registry, apps 1, 0.1 MB\n`,
    });
    for (const dataDir of [data, copy, restored]) {
      const { code, stdout } = await run(["verify"], { BIGPEER_DATA_DIR: dataDir }).ended;
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /^registry: .*\napp [0-9a-f-]{36} \(default\): .*\nno problems found\n$/,
      );
    }
    expect(await run(["verify", "--data-dir", parent]).ended).toMatchObject({ code: 1 });
  },
);
