/**
 * The screenshots of examples/tasks-web, and the icons of its manifest: a server of its own, two
 * people, and the built app.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { removeFolder } from "../remove-folder.mjs";
import { installTasksWeb } from "../tasks-web.mjs";
import { saveImage } from "./save-image.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const APP = join(ROOT, "examples", "tasks-web");

const DESKTOP = { width: 860, height: 760, deviceScaleFactor: 1.5 };
const MOBILE = { width: 400, height: 760, deviceScaleFactor: 1.5 };

const TASKS = [
  { title: "Book the hall for Saturday", votes: 3, by: "Jade Heron" },
  { title: "Order 40 chairs", votes: 1, by: "Amber Fox" },
  { title: "Photo of the poster", votes: 5, by: "Jade Heron", hasPhoto: true },
  { title: "Ask Mia for the projector", votes: 2, by: "Plum Otter" },
  { title: "Print the programme", votes: 0, by: "Amber Fox", isDone: true },
];

const WRITE = `async ({ tasks, photo }) => {
  const { openPeer } = await import("/sdk/bigpeer.js");
  const { appId, apiKey: token, dataUrl: url } = await (await fetch("/quickstart.json")).json();
  const peer = await openPeer({ appId, url, token, memory: true, deviceName: "Jade Heron" });
  peer.sync.start();
  const bytes = Uint8Array.from(atob(photo), (letter) => letter.charCodeAt(0));
  const token2 = await peer.attachments.create(bytes, { name: "poster.png" });
  for (const [i, { hasPhoto, ...task }] of tasks.entries()) {
    const document = { isDone: false, ...task, createdAt: 1e12 - i, ...(hasPhoto && { photo: token2 }) };
    await peer.store.execute(
      "INSERT INTO COLLECTION tasks (votes COUNTER, photo ATTACHMENT) DOCUMENTS (:document)",
      { document },
    );
  }
  window.peer = peer;
}`;

/** Takes all pictures with an open browser. */
export async function shootTasksWeb(browser) {
  const data = mkdtempSync(join(tmpdir(), "bigpeer-screenshots-"));
  const site = join(data, "site");
  mkdirSync(site);
  const words = [join(ROOT, "scripts/start.mjs"), "--public", site];
  const env = { ...process.env, BIGPEER_PORT: "0", BIGPEER_MANAGEMENT_PORT: "0" };
  const server = spawn(process.execPath, [...words, "--data-dir", join(data, "data")], {
    env,
    stdio: "ignore",
  });
  try {
    const quickstart = join(data, "data", "quickstart.json");
    while (!existsSync(quickstart)) await setTimeout(50);
    const vite = await installTasksWeb();
    const build = [vite, "build", "--outDir", site, "--emptyOutDir"];
    await promisify(execFile)(process.execPath, build, {
      cwd: APP,
      env: { ...process.env, BIGPEER_QUICKSTART: quickstart },
    });
    const { dataUrl } = JSON.parse(readFileSync(quickstart, "utf8"));
    writeFileSync(join(site, "quickstart.json"), readFileSync(quickstart));
    await makeIcons(browser);
    await makeScreenshots(browser, dataUrl);
  } finally {
    server.kill();
    await removeFolder(data);
  }
}

/** The icons of the manifest, from the one that is drawn. */
async function makeIcons(browser) {
  for (const size of [192, 512]) {
    const svg = readFileSync(join(APP, "public", "icon.svg"), "utf8");
    const page = await browser.openPage("about:blank");
    await page.setViewport({ width: size, height: size });
    // A maskable icon has no corners of its own: the system cuts them.
    const drawn = size === 512 ? svg.replace(' rx="112"', "") : svg;
    await page.setContent(`<style>body{margin:0}svg{display:block}</style>${drawn}`);
    await page.screenshot({
      path: join(APP, "public", `icon-${size}.png`),
      omitBackground: true,
      optimizeForSpeed: false,
    });
    await page.close();
  }
}

async function poster(browser) {
  const page = await browser.openPage("about:blank");
  await page.setViewport({ width: 240, height: 240 });
  await page.setContent(`<body style="margin:0;height:100vh;display:grid;place-items:center;
    background:linear-gradient(135deg,#f97316,#db2777);color:#fff;font:800 46px system-ui;
    text-align:center;line-height:1">Summer<br>Fair</body>`);
  const image = await page.screenshot({ encoding: "base64" });
  await page.close();
  return image;
}

async function makeScreenshots(browser, url) {
  const other = await browser.openPrivatePage(`${url}/quickstart.json`);
  await other.evaluate(
    `(${WRITE})(${JSON.stringify({ tasks: TASKS, photo: await poster(browser) })})`,
  );
  const page = await browser.openPage(`${url}/quickstart.json`);
  await page.evaluate(`localStorage.setItem("tasks-web:name", "Amber Fox")`);
  await page.goto(url);
  await page.waitForFunction(
    `document.querySelectorAll(".task").length === ${TASKS.length}
      && document.querySelector(".sync").textContent === "Synced"
      && document.querySelector("img.photo")?.naturalWidth > 0
      && document.querySelectorAll(".avatar").length > 1`,
  );
  await take(page, "tasks-web-light", DESKTOP, "light");
  await take(page, "tasks-web-mobile", MOBILE, "dark");
  await page.setViewport(DESKTOP);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await showMerge(page);
  const place = await page.$(".merge");
  await saveImage("tasks-web-merge", (options) => place.screenshot(options));
}

/** Two devices that were offline and are about to merge. */
async function showMerge(page) {
  await page.evaluate(`document.querySelector(".merge > .primary").click()`);
  await page.waitForFunction(`document.querySelectorAll(".device form").length === 2`);
  await page.waitForFunction(
    `[...document.querySelectorAll(".device-note")].every((note) => note.textContent === "Nothing waits")
      && [...document.querySelectorAll(".device output")].every((one) => one.textContent === "Buy coffee")`,
  );
  await page.evaluate(
    `for (const one of document.querySelectorAll(".device .switch input")) one.click()`,
  );
  await page.waitForFunction(
    `[...document.querySelectorAll(".switch span")].every((one) => one.textContent === "Offline")`,
  );
  await page.evaluate(`for (const [i, one] of document.querySelectorAll(".device").entries()) {
    one.querySelector("form").requestSubmit();
    for (let vote = 0; vote < 2 + i; vote++) one.querySelector(".vote").click();
  }`);
  await page.waitForFunction(`document.querySelector(".device:last-child .vote").textContent.includes("3")
    && document.querySelector(".device .vote").textContent.includes("2")`);
}

async function take(page, name, viewport, scheme) {
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await saveImage(name, (options) => page.screenshot(options));
}
