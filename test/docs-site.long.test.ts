/**
 * The documentation site as a reader meets it: built, served by a real server, and opened in a real
 * browser in both themes. Builds the site when it is not built.
 */
import { execFile } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bundleScript, type Script } from "../packages/node/test/support/script.ts";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "../packages/server/test/support/bigpeer-process.ts";
import { type Browser, browserAbsence, openBrowser, type Page } from "./support/browser.ts";
import { ROOT } from "./support/repository.ts";

const MANIFEST = join(ROOT, "packages/server/dist/docs-site/site.json");
const TOOLS = join(ROOT, "site/node_modules/playwright-core");

const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

let script: Script;

beforeAll(async () => {
  if (!existsSync(MANIFEST) || !existsSync(TOOLS)) {
    await promisify(execFile)(process.execPath, [join(ROOT, "scripts/docs.mjs"), "build"]);
  }
  script = await bundleScript("server/src/main");
}, 1_200_000);

afterAll(() => script?.remove());

function startServer(): Promise<string> {
  const folder = join(temporaryFolder(), "data");
  return new BigpeerProcess(script, ["serve", "--data-dir", folder, "--port", "0"]).url(60_000);
}

/** Addresses of all pages below `/docs/`. */
function listPages(): string[] {
  const { files } = JSON.parse(readFileSync(MANIFEST, "utf8")) as { files: string[] };
  const pages = files.filter((name) => name.endsWith(".html") && name !== "404.html");
  return pages.map((name) => name.replace(/(?:^|(?<=\/))index\.html$|\.html$/, ""));
}

/** A page in one theme, with what went wrong on it and what it asked of other servers. */
async function openPage(
  browser: Browser,
  colorScheme: Theme,
  origin: string,
): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext({ colorScheme });
  const faults: string[] = [];
  context.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && asked !== origin)
      faults.push(request.url());
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      faults.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.message}`));
  return { page, faults };
}

/** Waits until an expression has a value on the page. The page itself may not evaluate text. */
async function waitFor(page: Page, expression: string, value: unknown): Promise<void> {
  const check = async (): Promise<void> => {
    expect(await page.evaluate(expression), `${page.url()}: ${expression}`).toEqual(value);
  };
  await vi.waitFor(check, { timeout: 60_000, interval: 100 });
}

function countOf(selector: string): string {
  return `document.querySelectorAll(${JSON.stringify(selector)}).length`;
}

const reason = browserAbsence === undefined ? "" : ` (left out: ${browserAbsence})`;

test.runIf(browserAbsence === undefined)(
  `every page opens in both themes, without errors and without another server${reason}`,
  async () => {
    const url = await startServer();
    const browser = await openBrowser();
    const faults = await Promise.all(THEMES.map((theme) => openEveryPage(browser, theme, url)));
    expect(faults.flat()).toEqual([]);
  },
);

/** Returns the faults that its pages reported. */
async function openEveryPage(
  browser: Browser,
  theme: Theme,
  url: string,
): Promise<readonly string[]> {
  const { page, faults } = await openPage(browser, theme, url);
  const pages = listPages();
  expect(pages.length).toBeGreaterThan(30);
  for (const path of [...pages, "api"]) {
    const response = await page.goto(`${url}/docs/${path}`);
    expect(response?.status(), path).toBe(200);
    await page.waitForLoadState("networkidle");
    await waitFor(page, countOf(".diagram:not(:has(> svg))"), 0);
  }
  await page.goto(`${url}/docs/`);
  await waitFor(page, countOf("html.dark"), theme === "dark" ? 1 : 0);
  return faults;
}

test.runIf(browserAbsence === undefined)(
  `a diagram is drawn, and drawn again when the theme changes${reason}`,
  async () => {
    const url = await startServer();
    const { page, faults } = await openPage(await openBrowser(), "light", url);
    const source = readFileSync(join(ROOT, "docs/sync-protocol.md"), "utf8");
    const count = source.split("```mermaid").length - 1;
    expect(count).toBeGreaterThan(0);
    await page.goto(`${url}/docs/sync-protocol`);
    await waitFor(page, countOf(".diagram > svg[id$='-light']"), count);
    await page.click(".VPNavBarAppearance .VPSwitchAppearance");
    await waitFor(page, countOf(".diagram > svg[id$='-dark']"), count);
    expect(faults).toEqual([]);
  },
);

test.runIf(browserAbsence === undefined)(
  `the search finds a word, and leads to its place${reason}`,
  async () => {
    const url = await startServer();
    const { page, faults } = await openPage(await openBrowser(), "dark", url);
    await page.goto(`${url}/docs/`);
    await page.waitForLoadState("networkidle");
    await page.click(".DocSearch-Button");
    await page.fill(".search-input", "idempotency");
    const found = `document.querySelector(".results .result")?.textContent`;
    await waitFor(page, found, expect.stringMatching(/idempotency/i));
    await page.click(".results .result");
    await waitFor(page, countOf(".search-input"), 0);
    const place = `document.querySelector(location.hash || "body")?.textContent`;
    await waitFor(page, place, expect.stringMatching(/^idempotency/i));
    expect(faults).toEqual([]);
  },
);

/** A copy of what the build reads, with the tools of this clone. */
function copySources(): string {
  const folder = temporaryFolder();
  const left = new Set(["node_modules", "dist", "test", ".setup-lock"]);
  const filter = (path: string): boolean => !left.has(basename(path));
  for (const name of ["docs", "packages", "scripts", "site", "tsconfig.base.json"]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter });
  }
  cpSync(join(ROOT, "tsconfig.test.json"), join(folder, "tsconfig.test.json"));
  for (const name of ["site", "site/sdk-reference"]) {
    symlinkSync(join(ROOT, name, "node_modules"), join(folder, name, "node_modules"));
  }
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  }
  // The packages are those of the copy.
  rmSync(join(folder, "node_modules/@bigpeer"));
  mkdirSync(join(folder, "node_modules/@bigpeer"));
  for (const name of readdirSync(join(folder, "packages"))) {
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules/@bigpeer", name));
  }
  return folder;
}

test("a public symbol of the SDK without documentation fails the build", async () => {
  const folder = copySources();
  const entry = "packages/peer/src/index.ts";
  appendFileSync(join(folder, entry), "export interface Planted {}\n");
  const line = readFileSync(join(folder, entry), "utf8").split("\n").length - 1;
  const command = [join(folder, "scripts/docs.mjs"), "build"];
  const { code, stderr } = await promisify(execFile)(process.execPath, command).then(
    () => ({ code: 0, stderr: "" }),
    (error: { code: number; stderr: string }) => error,
  );
  expect(code).toBe(1);
  const lines = stderr.split("\n").filter((text) => text !== "");
  expect(lines).toEqual([
    "failed to build the site: failed to build the SDK reference:",
    `${entry}:${line}: Planted has no doc comment`,
    `${entry}:${line}: Planted has no @example`,
    `${entry}:1: Planted is not on one page of site/sdk-reference/pages.mjs`,
    "bigpeer: the documentation site was not built: see above.",
  ]);
  expect(existsSync(join(folder, "packages/server/dist/docs-site"))).toBe(false);
});

test("programs find each page as Markdown, and each link of it leads to a page", async () => {
  const url = `${await startServer()}/docs/`;
  const list = await (await fetch(`${url}llms.txt`)).text();
  expect(list).toMatch(/^# Big Peer\n\n> .+\n/);
  const places = [...list.matchAll(/^- \[.+\]\((\S+\.md)\): \S.*$/gm)].map(
    ([, path]) => path ?? "",
  );
  const pages = listPages().map((path) => `/docs/${path.replace(/(?<=\/)$/, "index")}.md`);
  expect(places.toSorted()).toEqual(pages.filter((path) => path !== "/docs/.md").toSorted());
  const targets = new Set<string>();
  for (const path of ["/docs/index.md", ...places]) {
    const page = await fetch(new URL(path, url));
    expect([page.status, page.headers.get("content-type")], path).toEqual([
      200,
      "text/markdown; charset=utf-8",
    ]);
    const text = (await page.text()).replaceAll(/^ *```[\s\S]*?^ *```|`[^`\n]*`/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (!/^https?:/.test(target)) targets.add(new URL(target, new URL(path, url)).href);
    }
  }
  expect(targets.size).toBeGreaterThan(20);
  for (const target of targets) expect((await fetch(target)).status, target).toBe(200);
  expect(places).toContain("/docs/sdk-reference/store.md");
  const full = await (await fetch(`${url}llms-full.txt`)).text();
  expect(full).toContain("# Sync protocol");
  expect(full).toContain("### PeerDocuments.execute()");
});
