/**
 * The example examples/tasks-web in real Chromium: built as a user builds it, used with and without
 * a connection, beside another device.
 *
 * Where the browser or the packages of the example cannot be had, the test is left out and says so;
 * in CI that is a failure.
 */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { startRealServer } from "../packages/peer/test/support/real-server.ts";
import { until } from "../packages/peer/test/support/turns.ts";
import { findBrowser } from "../scripts/browser.mjs";
import { type OpenPage, openBrowser } from "../scripts/open-browser.mjs";
import { installTasksWeb } from "../scripts/tasks-web.mjs";
import { userEnvironment } from "./support/packed-packages.ts";
import { ROOT } from "./support/repository.ts";

const run = promisify(execFile);

const found = await findTools();
if (typeof found === "string") {
  process.stderr.write(`the test of examples/tasks-web is left out: ${found}\n`);
  if (process.env["CI"] !== undefined) throw new Error(found);
}

/** The program of Vite, or why something cannot be had. */
async function findTools(): Promise<{ readonly vite: string } | string> {
  const { path, reason = "there is no Chromium" } = await findBrowser("chromium");
  if (path === undefined) return reason;
  try {
    return { vite: await installTasksWeb() };
  } catch (error) {
    return `its packages cannot be installed: ${(error as Error).message}`;
  }
}

/** Builds the app into a folder, for a server that is named as apps of Ditto name it. */
async function build(outDir: string, env: Readonly<Record<string, string>>): Promise<void> {
  if (typeof found === "string") throw new Error(found);
  const words = [found.vite, "build", "--outDir", outDir, "--emptyOutDir"];
  const cwd = join(ROOT, "examples/tasks-web");
  await run(process.execPath, words, { cwd, env: { ...userEnvironment(), ...env } });
}

const TITLES = `[...document.querySelectorAll(".task-title")].map(({ value }) => value).join()`;
const SYNC = `document.querySelector(".sync")?.textContent`;

async function add(page: OpenPage, title: string): Promise<void> {
  await page.evaluate(`(() => {
    const input = document.querySelector("#new-title");
    input.value = ${JSON.stringify(title)};
    input.form.requestSubmit();
  })()`);
}

/** Asks from outside: a page may have slow timers. */
async function shows(page: OpenPage, expression: string, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await page.evaluate(expression)).toEqual(expected));
}

test.runIf(typeof found !== "string")(
  "the task list is kept for offline use, and another device gets what was added offline",
  async () => {
    const publicDir = temporaryFolder();
    mkdirSync(publicDir, { recursive: true });
    const server = await startRealServer({ publicDir });
    const { content, running } = server;
    await build(publicDir, {
      DITTO_DATABASE_ID: content.appId,
      DITTO_SERVER_URL: running.url,
      DITTO_DEVELOPMENT_TOKEN: content.developmentToken ?? "",
    });
    const browser = await openBrowser("chromium");
    onTestFinished(() => browser.close());
    const page = await browser.openPage(running.url);
    await shows(page, `document.querySelector("#new-title") !== null`, true);
    await add(page, "Tea");
    await shows(page, TITLES, "Tea");
    await shows(page, SYNC, "Synced");
    await page.evaluate(`navigator.serviceWorker.ready.then(() => undefined)`);

    const { dataDir } = server;
    const { port } = new URL(running.url);
    await running.close();
    await page.reload();
    await shows(page, TITLES, "Tea");
    await add(page, "Milk");
    await shows(page, TITLES, "Milk,Tea");
    await shows(page, SYNC, "Offline, 1 change waits");
    expect(page.console.filter((line) => line.startsWith("uncaught"))).toEqual([]);

    const again = await startRealServer({ publicDir, dataDir, port: Number(port) });
    const other = await again.peer({ deviceName: "till" });
    other.sync.registerSubscription("SELECT * FROM tasks");
    other.sync.start();
    await until(async () => {
      const { items } = await other.store.execute("SELECT title FROM tasks ORDER BY title");
      return JSON.stringify(items) === '[{"title":"Milk"},{"title":"Tea"}]';
    });
    await shows(page, SYNC, "Synced");
    await shows(page, `document.querySelectorAll(".avatar").length`, 2);
    await other.store.execute("UPDATE tasks SET title = 'Oat milk' WHERE title = 'Milk'");
    await shows(page, TITLES, "Oat milk,Tea");
  },
);
