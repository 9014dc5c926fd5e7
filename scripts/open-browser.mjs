/**
 * Real browsers for long tests, proofs and benchmarks: starts Chromium or Firefox without a window,
 * opens pages, and kills all of its processes at once.
 *
 * puppeteer-core drives both: Chromium by its DevTools protocol, Firefox by WebDriver BiDi. It and
 * the bundler have a lock file of their own in scripts/browser-drivers, and are installed on use.
 */
import { once } from "node:events";
import { mkdtempSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findBrowser } from "./browser.mjs";
import { withLock } from "./folder-lock.mjs";
import { installPackages } from "./npm-packages.mjs";
import { removeFolder } from "./remove-folder.mjs";

const DRIVERS = fileURLToPath(new URL("browser-drivers", import.meta.url));

/** Starting a browser on a busy machine takes long. */
const START_MS_MAX = 120_000;

const RESTORE_POLL_MS = 20;
const RESTORE_POLLS = 500;

const BROWSERS = {
  // The pages are our own; the sandbox of Chromium does not work for root and in containers.
  chromium: {
    browser: "chrome",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--expose-gc"],
  },
  firefox: { browser: "firefox", args: [] },
};

/**
 * `profile` is a folder that a later browser continues; without it, the profile is a new one and is
 * removed at the end. `prefs` are settings of Firefox.
 */
export async function openBrowser(name, { profile, prefs = {} } = {}) {
  const { path, reason } = await findBrowser(name);
  if (path === undefined) throw new Error(reason);
  const puppeteer = await loadDriver("puppeteer-core");
  const folder = profile ?? mkdtempSync(join(tmpdir(), `bigpeer-${name}-`));
  const browser = await puppeteer.launch({
    ...BROWSERS[name],
    executablePath: path,
    userDataDir: folder,
    extraPrefsFirefox: prefs,
    headless: true,
    timeout: START_MS_MAX,
    protocolTimeout: 0,
  });
  return new OpenBrowser(name, browser, { folder, isOwn: profile === undefined });
}

class OpenBrowser {
  #browser;
  #profile;

  constructor(name, browser, profile) {
    this.name = name;
    this.#browser = browser;
    this.#profile = profile;
  }

  /** For instance `Chrome/156.0.8078.79`. */
  version() {
    return this.#browser.version();
  }

  /** Opens a page. `console` has all that it printed, and its uncaught errors. */
  async openPage(url) {
    return this.#visit(await this.#browser.newPage(), url);
  }

  /** The same in a new private window. In Firefox, a setting makes all windows private. */
  async openPrivatePage(url) {
    const context = await this.#browser.createBrowserContext();
    return this.#visit(await context.newPage(), url);
  }

  async #visit(page, url) {
    const lines = [];
    page.on("console", (message) => lines.push(message.text()));
    page.on("pageerror", (error) => lines.push(`uncaught ${String(error)}`));
    await page.goto(url);
    return Object.assign(page, { console: lines });
  }

  /** The shared workers that run, as targets of the DevTools protocol; in Chromium alone. */
  sharedWorkers() {
    return this.#browser.targets().filter((target) => target.type() === "shared_worker");
  }

  async close() {
    await this.#browser.close();
    await this.#removeFolder();
  }

  /** SIGKILL for the browser and all processes that it started. */
  async kill() {
    const main = this.#browser.process();
    const isEnded = main.exitCode !== null || main.signalCode !== null;
    const exit = isEnded ? Promise.resolve() : once(main, "exit");
    killGroup(main.pid);
    await exit;
    await this.#browser.disconnect();
    await settingsRestored(this.#profile.folder);
    await this.#removeFolder();
  }

  async #removeFolder() {
    const { folder, isOwn } = this.#profile;
    if (isOwn) await removeFolder(folder);
  }
}

/** After the end of Firefox, the driver puts back settings that it saved. The next start needs them. */
async function settingsRestored(folder) {
  for (let i = 0; i < RESTORE_POLLS; i++) {
    if (!readdirSync(folder).some((name) => name.endsWith(".puppeteer"))) return;
    await setTimeout(RESTORE_POLL_MS);
  }
}

/** Both browsers lead a process group, and their processes stay in it. */
function killGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * One script for a page, with all that the file imports: the sources of our packages, and packages
 * in `modules`, a folder node_modules.
 */
export async function bundlePage(file, { alias = {}, minify = false, modules } = {}) {
  const { build } = await loadDriver("esbuild");
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    minify,
    format: "esm",
    target: "es2023",
    conditions: ["source"],
    alias,
    nodePaths: modules === undefined ? [] : [modules],
    // esbuild looks for what takes the place of a package from this folder: not the repository's own.
    absWorkingDir: modules === undefined ? undefined : dirname(modules),
    define: { global: "globalThis" },
    logLevel: "error",
  });
  return outputFiles[0].text;
}

/**
 * Serves files of a page on 127.0.0.1: by their paths, each `[type, text]`. A page with the script
 * `/page.js` is at `/`. `onMessage` gets the body of each POST, for instance what a page reports.
 */
export async function servePage(
  script,
  { files = {}, onMessage = () => {}, cacheControl = "no-cache" } = {},
) {
  const html = '<!doctype html><title>page</title><script type="module" src="/page.js"></script>';
  const all = { "/": ["text/html", html], "/page.js": ["text/javascript", script], ...files };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "POST") onMessage(Buffer.concat(chunks).toString());
      const { pathname } = new URL(request.url ?? "", "http://page");
      const [type, text] = all[pathname] ?? ["text/plain", ""];
      response.writeHead(200, { "content-type": type, "cache-control": cacheControl }).end(text);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The script of axe, which finds faults of accessibility. A page evaluates it and then has `axe`. */
export async function axeScript() {
  return (await loadDriver("axe-core")).source;
}

let installing;

async function loadDriver(name) {
  installing ??= withLock(DRIVERS, (lock) =>
    installPackages(DRIVERS, lock, "the drivers of browsers"),
  );
  await installing;
  return createRequire(join(DRIVERS, "package.json"))(name);
}
