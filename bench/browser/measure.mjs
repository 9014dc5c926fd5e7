/**
 * Measures one contestant in one browser, once: opening, commits, the first download, memory. Each
 * measurement has a page of its own, and times are taken inside the page.
 */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { quantile } from "../sync/table.mjs";
import { expectedOf } from "./documents.mjs";

const COMMITS = 300;
/** Commits before those that count. */
const FIRST_COMMITS = 50;

/** A contestant that takes longer for one step does not take part. */
const STEP_MS_MAX = 900_000;

/** How long a page stays open after the first download. */
const SETTLE_MS = 4_000;

const POLL_MS = 20;

/** Runs in the page: how long a call takes, and what it returns. */
const TIMED = `globalThis.timed = async (call) => {
  const start = performance.now();
  const result = await call();
  return { ms: performance.now() - start, result };
};`;

const COMMIT_ALL = `async (count, first, rounds) => {
  for (let round = 0; round < first; round++) await contestant.commit(round, count);
  const times = [];
  const start = performance.now();
  for (let round = first; round < first + rounds; round++) {
    const { ms } = await timed(() => contestant.commit(round, count));
    times.push(ms);
  }
  return { times, totalMs: performance.now() - start };
}`;

export class Measurement {
  #browser;
  #contestant;
  #documents;

  constructor(browser, contestant, documents) {
    this.#browser = browser;
    this.#contestant = contestant;
    this.#documents = documents;
  }

  /** Puts all documents into the database that is opened later: a download, as in an app. */
  async fill() {
    const { canDownload } = this.#contestant;
    await this.#inPage({}, async (page, given) => {
      const download = `contestant.download(${given})`;
      await this.#run(page, canDownload ? download : `contestant.fill(${this.#documents})`);
      this.#check(await this.#run(page, "contestant.readAll()"));
      await setTimeout(SETTLE_MS);
    });
  }

  /** Milliseconds until a query has returned all documents to the page. */
  async open() {
    return this.#inPage({ isClosed: true }, async (page, given) => {
      const call = `timed(async () => {
        await contestant.open(${given});
        return contestant.readAll();
      })`;
      const { ms, result } = await this.#run(page, call);
      this.#check(result);
      return ms;
    });
  }

  /** The memory that is held after that, in MB. */
  async heap() {
    // Of another address: DevTools would stop the next worker of this one at its start.
    const workerUrl = `/bigpeer-worker.js?${randomUUID()}`;
    return this.#inPage({ workerUrl }, async (page) => {
      this.#check(await this.#run(page, "contestant.readAll()"));
      return this.#heapOf(page);
    });
  }

  async commit(durability) {
    const { times, totalMs } = await this.#inPage({ durability }, async (page) => {
      this.#check(await this.#run(page, "contestant.readAll()"));
      const call = `(${COMMIT_ALL})(${this.#documents}, ${FIRST_COMMITS}, ${COMMITS})`;
      return this.#run(page, call);
    });
    return {
      perSecond: (times.length * 1000) / totalMs,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
    };
  }

  /** Into an empty database, until it has all documents. */
  async download(round) {
    return this.#inPage({ name: `download-${round}` }, async (page, given) => {
      const { ms } = await this.#run(page, `timed(() => contestant.download(${given}))`);
      this.#check(await this.#run(page, "contestant.readAll()"));
      return ms;
    });
  }

  /** `isClosed`: `work` opens the database. */
  async #inPage({ name = "bench", durability = "default", workerUrl, isClosed = false }, work) {
    const { siteUrl, given } = this.#contestant;
    const database = name === "bench" ? `bench-${this.#documents}` : name;
    const all = JSON.stringify({ ...given, name: database, durability, workerUrl });
    const page = await this.#browser.openPage(siteUrl);
    try {
      await page.waitForFunction("globalThis.contestant");
      await page.evaluate(TIMED);
      if (!isClosed) await this.#run(page, `contestant.open(${all})`);
      const result = await work(page, all);
      await this.#run(page, "contestant.close()");
      return result;
    } finally {
      await page.close();
      while (this.#browser.sharedWorkers().length > 0) await setTimeout(POLL_MS);
    }
  }

  async #run(page, expression) {
    const late = new AbortController();
    const tooLong = setTimeout(STEP_MS_MAX, undefined, { signal: late.signal }).then(() => {
      throw new Error(
        `${expression.split("\n")[0]} took more than ${STEP_MS_MAX / 60_000} minutes`,
      );
    });
    try {
      return await Promise.race([page.evaluate(expression), tooLong]);
    } finally {
      late.abort();
      tooLong.catch(() => {});
    }
  }

  #check({ count, sum }) {
    const expected = expectedOf(this.#documents);
    if (count === expected.count && sum === expected.sum) return;
    throw new Error(`expected ${expected.count} documents with their values, found ${count}`);
  }

  /** Objects and buffers of the page and its worker, after a collection. Firefox does not say. */
  async #heapOf(page) {
    if (this.#browser.name !== "chromium") return undefined;
    const workers = this.#browser.sharedWorkers();
    const sessions = await Promise.all([page, ...workers].map((each) => each.createCDPSession()));
    const sizes = [];
    for (const session of sessions) {
      await session.send("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
      sizes.push(usedSize + backingStorageSize);
    }
    return sizes.reduce((sum, size) => sum + size, 0) / 1e6;
  }
}
