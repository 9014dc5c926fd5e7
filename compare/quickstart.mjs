/**
 * Runs a checkout of the public quick start of the reference SDK on Big Peer: its terminal app and its
 * web app, unchanged, with the import of the SDK aliased to `@bigpeer/peer/compat`.
 *
 * The terminal app passes if its own integration test does. The web app passes if it compiles, and if
 * real Chromium shows a task of the server, and the server gets one that is typed into the page.
 */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "../prove/availability/server-process.mjs";
import { npmCommand } from "../scripts/npm-command.mjs";
import { openBrowser, servePage } from "../scripts/open-browser.mjs";

const run = promisify(execFile);

const PACKAGES = fileURLToPath(new URL("../packages", import.meta.url));

/** The package of the reference SDK, which the apps import. */
const SDK = "@dittolive/ditto";

const SERVER_TASK = "a task of the server";
const PAGE_TASK = "a task of the page";
const WAIT_MS = 60_000;

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

export async function runQuickstart(checkout) {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-quickstart-"));
  const server = await startServer(join(folder, "server"));
  try {
    await execute(server, "INSERT INTO tasks DOCUMENTS (:task)", {
      task: { _id: "t1", title: SERVER_TASK, done: false, deleted: false },
    });
    const env = {
      DITTO_DATABASE_ID: server.appId,
      DITTO_SERVER_URL: server.dataUrl,
      DITTO_DEVELOPMENT_TOKEN: server.developmentToken,
      DITTO_CLOUD_TASK_TITLE: SERVER_TASK,
    };
    await runTerminal(await prepare(join(checkout, "javascript-tui"), folder), env);
    await runWeb(await prepare(join(checkout, "javascript-web"), folder), env, server);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A copy of an app whose import of the SDK finds Big Peer. The checkout stays as it is. */
async function prepare(app, folder) {
  if (!existsSync(join(app, "package.json"))) {
    throw new Error(`expected an app of the quick start at ${app}, found none`);
  }
  const copy = join(folder, basename(app));
  cpSync(app, copy, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
  const modules = join(copy, "node_modules");
  if (existsSync(join(app, "node_modules"))) linkAll(join(app, "node_modules"), modules);
  else await install(copy);
  rmSync(join(modules, "@dittolive"), { recursive: true, force: true });
  mkdirSync(join(modules, SDK), { recursive: true });
  const exports = { ".": { types: "./index.d.ts", default: "./index.js" } };
  const manifest = { name: SDK, type: "module", exports };
  writeFileSync(join(modules, SDK, "package.json"), JSON.stringify(manifest));
  for (const name of ["index.js", "index.d.ts"]) {
    writeFileSync(join(modules, SDK, name), 'export * from "@bigpeer/peer/compat";\n');
  }
  mkdirSync(join(modules, "@bigpeer"), { recursive: true });
  for (const name of ["protocol", "engine", "node", "peer"]) {
    symlinkSync(join(PACKAGES, name), join(modules, "@bigpeer", name), "junction");
  }
  return copy;
}

/** The installed packages of the checkout, without the SDK. */
function linkAll(from, to) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name !== "@dittolive") symlinkSync(join(from, name), join(to, name), "junction");
  }
}

async function install(copy) {
  const path = join(copy, "package.json");
  const { dependencies, ...manifest } = JSON.parse(readFileSync(path, "utf8"));
  const { [SDK]: _sdk, ...others } = dependencies;
  writeFileSync(path, JSON.stringify({ ...manifest, dependencies: others }));
  console.log(`${basename(copy)}: installing its packages`);
  const words = ["install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
  const [command, parameters] = npmCommand(words);
  await run(command, parameters, { cwd: copy });
}

/** Runs a program of the packages of an app. */
async function runIn(copy, env, name, ...words) {
  const program = join(copy, "node_modules", ".bin", name);
  try {
    return await run(program, words, { cwd: copy, env: { ...process.env, ...env } });
  } catch (error) {
    const said = `${error.stdout}${error.stderr}`;
    throw new Error(`${basename(copy)}: ${name} failed:\n${said}`, { cause: error });
  }
}

async function runTerminal(copy, env) {
  await runIn(copy, env, "babel", "--out-dir=dist", "source");
  const script = join(copy, "tests", "integration_test.js");
  const options = { cwd: copy, env: { ...process.env, ...env }, timeout: WAIT_MS };
  const { stdout } = await run(process.execPath, [script], options).catch((error) => {
    const said = `${error.stdout}${error.stderr}`;
    throw new Error(`its integration test failed:\n${said}`, { cause: error });
  });
  console.log(`javascript-tui: ${stdout.trim().split("\n").at(-1)}`);
}

async function runWeb(copy, env, server) {
  await runIn(copy, env, "tsc", "-b");
  console.log("javascript-web: tsc -b passed");
  await runIn(copy, env, "vite", "build", "--logLevel", "error");
  const site = await servePage("", { files: filesBelow(join(copy, "dist")) });
  const browser = await openBrowser("chromium");
  try {
    const page = await browser.openPage(site.url);
    await page.waitForFunction(shows(SERVER_TASK), { timeout: WAIT_MS });
    console.log(`javascript-web: the page shows "${SERVER_TASK}"`);
    await page.evaluate(typing(PAGE_TASK));
    await page.waitForFunction(shows(PAGE_TASK), { timeout: WAIT_MS });
    await until(async () => {
      const { items } = await execute(server, "SELECT title FROM tasks");
      return items.some(({ title }) => title === PAGE_TASK);
    });
    console.log(`javascript-web: the server has "${PAGE_TASK}"`);
  } finally {
    await browser.close();
    await site.close();
  }
}

/** Whether the page shows a text. */
function shows(text) {
  return `document.body.innerText.includes(${JSON.stringify(text)})`;
}

/** Types a title into the last field, which is that of a new task, and clicks the button beside it. */
function typing(title) {
  return `(async () => {
    const input = [...document.querySelectorAll("input:not([type=checkbox])")].at(-1);
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
    set.call(input, ${JSON.stringify(title)});
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(resolve));
    input.parentElement.querySelector("button").click();
  })()`;
}

/** The files of a site by their paths, as servePage takes them. */
function filesBelow(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const served = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    const type = TYPES[extname(name)] ?? "application/octet-stream";
    return [path.slice(folder.length).replaceAll("\\", "/"), [type, readFileSync(path)]];
  });
  const all = Object.fromEntries(served);
  return { ...all, "/": all["/index.html"] };
}

async function execute({ dataUrl, apiKey }, statement, args = {}) {
  const response = await fetch(`${dataUrl}/api/v4/store/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ statement, args }),
  });
  if (!response.ok) throw new Error(`${statement}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function until(check) {
  const end = Date.now() + WAIT_MS;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`expected within ${WAIT_MS / 1000} s that ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
