/**
 * The screenshots of six pages of the console, with the data of a small shop.
 */
import { setTimeout } from "node:timers/promises";
import { openSampleShop } from "./sample-shop.mjs";
import { saveImage } from "./save-image.mjs";

const VIEWPORT = { width: 1200, height: 760, deviceScaleFactor: 1.5 };
/** The charts of the overview begin with the server. */
const TRAFFIC_MS = 180_000;
const SETTLED_MS = 700;

/** Takes all pictures with an open browser. */
export async function shootConsole(browser) {
  const shop = await openSampleShop(await photoOf(browser));
  try {
    const begun = Date.now();
    const page = await signIn(browser, shop.consoleUrl);
    const console = new ConsolePages(page);
    await console.shootData();
    await console.shootStatements();
    await console.shootLive();
    await console.shootAccess();
    await console.shootReplication();
    await setTimeout(Math.max(0, TRAFFIC_MS - (Date.now() - begun)));
    await console.shootOverview();
  } finally {
    await shop.close();
  }
}

/** An attachment for the products. */
async function photoOf(browser) {
  const page = await browser.openPage("about:blank");
  await page.setViewport({ width: 320, height: 200 });
  await page.setContent(`<body style="margin:0;height:100vh;display:grid;place-items:center;
    background:linear-gradient(135deg,#7c4a2d,#e0a458)"><div style="width:130px;height:130px;
    border:14px solid #fffaf2;border-radius:50%;background:radial-gradient(#5a2f17 40%,#a8672f 72%)">`);
  const image = await page.screenshot({ type: "png" });
  await page.close();
  return image;
}

async function signIn(browser, url) {
  const page = await browser.openPrivatePage("about:blank");
  await page.setViewport(VIEWPORT);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.goto(url);
  await page.locator("main h1").wait();
  return page;
}

class ConsolePages {
  #page;

  constructor(page) {
    this.#page = page;
  }

  async shootData() {
    const id = encodeURIComponent(JSON.stringify("p2"));
    await this.#open(`/data?app=shop&collection=products&id=${id}&columns=name,kind,price,stock`);
    await this.#click("button", "Preview");
    await this.#page.waitForFunction(
      `document.querySelector(".attachment-image")?.naturalWidth > 0`,
    );
    await this.#save("console-data");
  }

  async shootStatements() {
    await this.#open("/statements?app=shop");
    const editor = `document.querySelector(".statement-editor-place")?.shadowRoot?.querySelector(".cm-content")`;
    await this.#page.waitForFunction(`${editor} != null`);
    await this.#page.evaluate(`${editor}.focus()`);
    await this.#page.keyboard.type(
      "SELECT state, COUNT(*) AS orders, SUM(total) AS total\nFROM orders\nWHERE placedAt > '2026-03-01'\nGROUP BY state ORDER BY total DESC",
    );
    await this.#page.keyboard.press("Escape");
    await this.#click("button", "Profile");
    await this.#page.waitForFunction(`document.querySelector(".badge.hot") !== null`);
    await this.#page.evaluate("document.activeElement.blur()");
    await this.#save("console-statements");
  }

  async shootLive() {
    await this.#page.evaluate(`localStorage.setItem("bigpeer.console.theme", '"dark"')`);
    await this.#open("/live?app=shop");
    await this.#page.waitForFunction(
      `document.querySelectorAll(".change-table tbody tr").length >= 17`,
    );
    await this.#save("console-live");
    await this.#page.evaluate(`localStorage.removeItem("bigpeer.console.theme")`);
  }

  async shootAccess() {
    await this.#open("/access?app=shop&tab=keys");
    await this.#click("button", "New key");
    await this.#fill("textbox", "Name", "courier");
    await this.#fill("textbox", "Description (optional)", "Sees what is on its way");
    await this.#fill("combobox", "Read 1: collection", "orders");
    await this.#fill("textbox", "Read 1: query", "state == 'sent' && total > 10");
    await this.#page.waitForFunction(`document.body.innerText.includes("would be visible")`);
    await this.#save("console-access");
  }

  async shootReplication() {
    await this.#open("/replication?app=shop");
    await this.#page.waitForFunction(`document.querySelectorAll(".state.ok").length >= 3`);
    await this.#save("console-replication");
  }

  async shootOverview() {
    await this.#open("/?app=shop");
    await this.#page.waitForFunction(`document.querySelectorAll(".uplot canvas").length >= 6`);
    await this.#save("console-overview");
  }

  async #open(path) {
    await this.#page.goto(new URL(path, this.#page.url()).href);
    await this.#page.locator("main h1").wait();
  }

  #click(role, name) {
    return this.#page.locator(`::-p-aria([name="${name}"][role="${role}"])`).click();
  }

  #fill(role, name, text) {
    return this.#page.locator(`::-p-aria([name="${name}"][role="${role}"])`).fill(text);
  }

  async #save(name) {
    await setTimeout(SETTLED_MS);
    await saveImage(name, (options) => this.#page.screenshot(options));
  }
}
