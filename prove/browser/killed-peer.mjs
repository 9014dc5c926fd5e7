/**
 * Kills a real browser at random times while two tabs write to their peer, which syncs with a real
 * server. Checks after each kill that no acknowledged write is lost and none is applied in part, and
 * at the end that the server has every write exactly once.
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openBrowser, servePage } from "../../scripts/open-browser.mjs";
import { removeFolder } from "../../scripts/remove-folder.mjs";
import { startServer } from "../availability/server-process.mjs";
import { PeerHistory, ROW_EVERY } from "./peer-history.mjs";

const PAGE = new URL("peer-page.mjs", import.meta.url);
const SDK_FILES = ["bigpeer.js", "bigpeer-loader.js", "bigpeer-worker.js", "bigpeer-patterns.js"];

/** A kill comes after this time at the latest, counted from the first acknowledged write. */
const KILL_MS_MAX = 1500;

/** This share of the kills comes while the page opens its peer. */
const EARLY_SHARE = 0.2;
const EARLY_MS_MAX = 400;

/** Time between documents that another client writes. */
const NEWS_MS = 50;

/**
 * One profile and one server for all kills. Returns `{ kills, steps, acknowledged, uploaded, failures }`:
 * the steps that were found, how many of them were acknowledged before a kill, and how many were on the
 * server before the last start. `report` is called with a line for each kill.
 */
export async function killPeer(name, { kills, random, report = () => {} }) {
  const run = await KilledPeer.open(name, report);
  try {
    for (let kill = 1; kill <= kills && !run.hasFailed; kill++) {
      const isEarly = random() < EARLY_SHARE;
      await run.writeUntilKilled(kill, isEarly ? undefined : random() * KILL_MS_MAX, random());
    }
    if (!run.hasFailed) await run.finish();
    return run.result;
  } finally {
    await run.close();
  }
}

class KilledPeer {
  #name;
  #report;
  #folder = mkdtempSync(join(tmpdir(), "bigpeer-killed-peer-"));
  #history = new PeerHistory();
  #onAcknowledged = () => {};
  #server;
  #site;
  #news = 0;
  #uploaded = 0;
  #kills = 0;

  static async open(name, report) {
    const run = new KilledPeer();
    run.#name = name;
    run.#report = report;
    run.#server = await startServer(join(run.#folder, "server"));
    run.#site = await servePage(readFileSync(PAGE, "utf8"), {
      files: await run.#sdk(),
      onMessage: (text) => run.#reported(JSON.parse(text)),
    });
    return run;
  }

  get hasFailed() {
    return this.#history.failures.length > 0;
  }

  get result() {
    const { steps, acknowledged, failures } = this.#history;
    return { kills: this.#kills, steps, acknowledged, uploaded: this.#uploaded, failures };
  }

  /** Without `afterMs`, the kill comes while the peer is opened. */
  async writeUntilKilled(kill, afterMs, chance) {
    const browser = await this.#openBrowser();
    try {
      const page = await browser.openPage(this.#site.url);
      if (afterMs === undefined) {
        void this.#open(page).catch(() => {});
        await wait(chance * EARLY_MS_MAX);
      } else {
        await this.#open(page);
        await this.#check(page);
        await this.#write(browser, page, kill, afterMs);
      }
    } finally {
      await browser.kill();
    }
    this.#kills++;
    this.#report(`${this.#name} kill ${kill}: ${this.#describe(afterMs)}`);
  }

  /** Uploads what waits, and compares the peer with the server. */
  async finish() {
    this.#uploaded = this.#history.countOf((await this.#atServer()).steps);
    const browser = await this.#openBrowser();
    try {
      const page = await browser.openPage(this.#site.url);
      await this.#open(page);
      await this.#check(page);
      await page.evaluate("peerPage.start()");
      const news = await page.evaluate("peerPage.finish()");
      this.#history.compareNews(news, this.#news);
      this.#history.compareServer(await this.#atServer());
    } finally {
      await browser.close();
    }
  }

  async close() {
    await this.#site.close();
    await this.#server.stop();
    if (!this.hasFailed) await removeFolder(this.#folder);
    else this.#report(`the folder of the browser and of the server is kept: ${this.#folder}`);
  }

  #openBrowser() {
    return openBrowser(this.#name, { profile: join(this.#folder, "profile") });
  }

  #open(page) {
    const { appId, apiKey: token, dataUrl: url } = this.#server;
    return page.evaluate(`peerPage.open(${JSON.stringify({ appId, token, url })})`);
  }

  /** Before the sync starts: what the peer has by itself. */
  async #check(page) {
    this.#history.compare(await page.evaluate("peerPage.read()"));
  }

  async #write(browser, page, kill, afterMs) {
    const other = await browser.openPage(this.#site.url);
    await this.#open(other);
    const begun = new Promise((resolve) => {
      this.#onAcknowledged = resolve;
    });
    const ended = [page, other].map((each, index) => {
      const words = index === 0 ? `"${kill} a", ${ROW_EVERY}` : `"${kill} b"`;
      return each.evaluate(`peerPage.write(${words})`).then(
        () => "the page stopped writing",
        (error) => `${String(error)} ${each.console.join("; ")}`,
      );
    });
    await page.evaluate("peerPage.start()");
    const early = await Promise.race([begun, ...ended]);
    if (early !== undefined) throw new Error(early);
    const isOver = wait(afterMs, true);
    while ((await Promise.race([isOver, wait(NEWS_MS)])) !== true) await this.#writeNews();
  }

  #reported(message) {
    this.#history.reported(message);
    if (message.acknowledged !== undefined) this.#onAcknowledged();
  }

  #describe(afterMs) {
    const { steps, acknowledged, last } = this.#history;
    const when =
      afterMs === undefined ? "while it opened" : `${afterMs.toFixed(0)} ms after a write`;
    return `${when}; ${acknowledged} writes acknowledged so far, ${steps} found by the check before, ${last} waited`;
  }

  /** A document of another client, which the peer subscribes to. */
  async #writeNews() {
    const document = { _id: `news ${this.#news}` };
    await this.#execute("INSERT INTO news DOCUMENTS (:document)", { document });
    this.#news++;
  }

  async #atServer() {
    const [steps, rows] = [
      await this.#execute("SELECT _id, n FROM steps"),
      await this.#execute("SELECT _id FROM rows"),
    ];
    return {
      steps: Object.fromEntries(steps.map(({ _id, n }) => [_id, n ?? 0])),
      rows: rows.map(({ _id }) => _id),
    };
  }

  async #execute(statement, args = {}) {
    const response = await fetch(`${this.#server.dataUrl}/api/v4/store/execute`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#server.apiKey}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ statement, args }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${statement}: ${JSON.stringify(answer)}`);
    return answer.items;
  }

  /** The SDK as the server serves it, on the origin of the page: a worker needs that. */
  async #sdk() {
    const files = {};
    for (const file of SDK_FILES) {
      const response = await fetch(`${this.#server.dataUrl}/sdk/${file}`);
      if (!response.ok) throw new Error(`/sdk/${file}: ${response.status}`);
      files[`/sdk/${file}`] = ["text/javascript", await response.text()];
    }
    return files;
  }
}
