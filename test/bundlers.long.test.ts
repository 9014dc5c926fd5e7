/**
 * The app of docs/browser.md in real Chromium: without a build step, and built by Vite and esbuild from
 * the packed package, as a user does. Each time it writes, is reloaded, and reads.
 *
 * Where the browser, a bundler or a package cannot be had, the tests are left out and say so; in CI
 * that is a failure.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { blocksOf, pageOf } from "../packages/peer/test/support/pages.ts";
import { type RealServer, startRealServer } from "../packages/peer/test/support/real-server.ts";
import { findBrowser } from "../scripts/browser.mjs";
import { findBundlers } from "../scripts/bundlers.mjs";
import { type OpenBrowser, type OpenPage, openBrowser } from "../scripts/open-browser.mjs";
import {
  installedProject,
  type Packed,
  packBuilt,
  pathsOf,
  userEnvironment,
} from "./support/packed-packages.ts";

const run = promisify(execFile);

const PEER_PACKAGES = ["@bigpeer/protocol", "@bigpeer/engine", "@bigpeer/peer"];
const ONLY_IN_BROWSER = " (only in this browser)";

/** What the documented app lacks for a test. */
const FOR_TEST = "\nwindow.peer = peer;\n";

interface Tools {
  readonly vite: string;
  readonly esbuild: string;
  readonly packed: Packed;
  /** A folder with the packages of the peer in its node_modules. */
  readonly project: string;
}

const found = await findTools();
if (typeof found === "string") {
  process.stderr.write(`tests of bundlers are left out: ${found}\n`);
  if (process.env["CI"] !== undefined) throw new Error(found);
}
const isThere = typeof found !== "string";

/** Or why they cannot be had. */
async function findTools(): Promise<Tools | string> {
  const { path, reason } = await findBrowser("chromium");
  if (path === undefined) return reason ?? "there is no Chromium";
  const { vite = "", esbuild = "", reason: lack } = await findBundlers();
  if (lack !== undefined) return lack;
  const packed = await packBuilt(PEER_PACKAGES);
  try {
    return { vite, esbuild, packed, project: await installedProject(pathsOf(packed)) };
  } catch (error) {
    packed.remove();
    return `the packages of the peer cannot be installed: ${(error as Error).message}`;
  }
}

function tools(): Tools {
  if (typeof found === "string") throw new Error(found);
  return found;
}

let browser: OpenBrowser;

beforeAll(async () => {
  if (typeof found !== "string") browser = await openBrowser("chromium");
});

afterAll(async () => {
  await browser?.close();
  if (typeof found === "string") return;
  found.packed.remove();
  rmSync(found.project, { recursive: true, force: true });
});

/** The files of the documented app, with an import of the package. */
function writeApp(folder: string): void {
  const [html = ""] = blocksOf("docs/browser.md", "html");
  const [script = ""] = blocksOf("docs/browser.md", "js");
  expect(script).toContain('"/sdk/bigpeer.js"');
  writeFileSync(join(folder, "index.html"), html);
  writeFileSync(
    join(folder, "app.js"),
    script.replace('"/sdk/bigpeer.js"', '"@bigpeer/peer"') + FOR_TEST,
  );
}

/** A folder below the project, with the app in it. */
function newFolder(): string {
  const folder = mkdtempSync(join(tools().project, "app-"));
  writeApp(folder);
  return folder;
}

/** Starts a server that serves a folder; the folder gets the key, as the page says. */
async function serve(publicDir: string): Promise<RealServer> {
  mkdirSync(publicDir, { recursive: true });
  const server = await startRealServer({ publicDir });
  writeFileSync(join(publicDir, "quickstart.json"), JSON.stringify(server.content));
  // Browsers ask for it and complain.
  writeFileSync(join(publicDir, "favicon.ico"), "");
  return server;
}

const rows = "[...document.querySelectorAll('li')].map((row) => row.textContent)";

/** Adds a task, reloads, and finds it; statements whose code is loaded on use work, too. */
async function useApp(url: string, server: RealServer): Promise<OpenPage> {
  const page = await browser.openPage(url);
  await page.waitForFunction("window.peer");
  await page.evaluate(`(() => {
    document.querySelector("input").value = "Tea";
    document.querySelector("form").requestSubmit();
  })()`);
  await page.waitForFunction(`${rows}.join() === "Tea"`);
  const other = await server.peer();
  const tasks = other.sync.registerSubscription("SELECT * FROM tasks");
  other.sync.start();
  await tasks.whenReady();
  const { items } = await other.store.execute("SELECT title FROM tasks");
  expect(items).toEqual([{ title: "Tea" }]);
  await page.reload();
  await page.waitForFunction(`${rows}.join() === "Tea"`);
  const select = "SELECT title FROM tasks WHERE regexp_like(title, '^T.a$')";
  expect(await itemsIn(page, select)).toEqual([{ title: "Tea" }]);
  expect(await itemsIn(page, `EXPLAIN ${select}`)).toHaveLength(1);
  return page;
}

/** What the page complained about; Vite says that it has connected. */
function faultsOf(page: OpenPage): string[] {
  return page.console.filter((line) => !line.startsWith("[vite]"));
}

function itemsIn(page: OpenPage, statement: string): Promise<unknown> {
  return page.evaluate(`peer.store.execute("${statement}").then(({ items }) => items)`);
}

test.runIf(isThere)(
  "without a build step, under a policy that allows nothing of others",
  async () => {
    const folder = temporaryFolder();
    const server = await serve(folder);
    const [html = ""] = blocksOf("docs/browser.md", "html");
    const [script = ""] = blocksOf("docs/browser.md", "js");
    const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'self'" />`;
    writeFileSync(join(folder, "index.html"), html.replace("<title>", `${policy}<title>`));
    writeFileSync(join(folder, "app.js"), script + FOR_TEST);
    const page = await useApp(server.running.url, server);
    expect(faultsOf(page)).toEqual([]);
    await server.running.close();
    await page.evaluate(`peer.store.execute("INSERT INTO tasks DOCUMENTS ({'title': 'Milk'})")`);
    await page.waitForFunction(`${rows}.join() === "Milk${ONLY_IN_BROWSER},Tea"`);
  },
);

test.runIf(isThere)("built by Vite, served by --public", async () => {
  const folder = newFolder();
  await run(process.execPath, [tools().vite, "build"], { cwd: folder, env: userEnvironment() });
  const assets = readdirSync(join(folder, "dist", "assets")).join();
  expect(assets).toMatch(/bigpeer-loader-.+\.js/);
  expect(assets).toMatch(/bigpeer-worker-.+\.js/);
  expect(assets).toMatch(/bigpeer-patterns-.+\.js/);
  expect(assets).toMatch(/bigpeer-explain-.+\.js/);
  expect(assets).toMatch(/bigpeer-attachments-.+\.js/);
  const server = await serve(join(folder, "dist"));
  expect(faultsOf(await useApp(server.running.url, server))).toEqual([]);
});

test.runIf(isThere)("with the development server of Vite", async () => {
  const folder = tools().project;
  writeApp(folder);
  const server = await serve(join(folder, "public"));
  const dev = spawn(process.execPath, [tools().vite, "--host", "127.0.0.1"], {
    cwd: folder,
    env: { ...userEnvironment(), NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    const ended = once(dev, "exit");
    dev.kill();
    await ended;
  });
  expect(faultsOf(await useApp(await urlFrom(dev.stdout), server))).toEqual([]);
});

/** The address that a development server prints. */
async function urlFrom(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const url = /http:\/\/[\d.]+:\d+\//.exec(line)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error("expected the address of the development server");
}

test.runIf(isThere)("built by esbuild with the documented line", async () => {
  const folder = newFolder();
  const [, words = ""] = /^ *esbuild (app\.js .*)$/m.exec(pageOf("docs/browser.md")) ?? [];
  await run(tools().esbuild, words.split(" "), { cwd: folder, env: userEnvironment() });
  const dist = join(folder, "dist");
  expect(existsSync(join(dist, "bigpeer-loader.js"))).toBe(true);
  expect(existsSync(join(dist, "bigpeer-worker.js"))).toBe(true);
  cpSync(join(folder, "index.html"), join(dist, "index.html"));
  const server = await serve(dist);
  expect(faultsOf(await useApp(server.running.url, server))).toEqual([]);
});
