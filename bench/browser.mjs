/**
 * Databases for apps in a real browser: the whole browser peer beside PouchDB, RxDB and Triplit, with
 * the same documents. Opening until a query has returned all documents, memory, commits one at a
 * time at equal durability, and the first download from the contestant's server.
 *
 * Rounds alternate, and medians are compared, because the load of the machine varies.
 *
 *   --browser NAME     chromium (default) or firefox
 *   --documents N,N    default 10000,100000; the download is measured with the first number
 *   --only a,b         some of peer, pouchdb, rxdb, triplit, storage
 *   --parts a,b        some of open, heap, commit, download
 *   --rounds N         default 5
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBrowser } from "../scripts/open-browser.mjs";
import { CONTESTANTS, prepare } from "./browser/contestants.mjs";
import { Measurement } from "./browser/measure.mjs";
import { stopAll } from "./sync/process.mjs";
import { figure, median, row, spread, verdict } from "./sync/table.mjs";

/** Milliseconds until a query has returned all documents, by their number. */
const OPEN_MS_MAX = { 10_000: 250, 100_000: 1200 };
const HEAP_MB_MAX = { 10_000: 80 };
const COMMIT_P50_MS_MAX = 2;

const { values } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    browser: { type: "string", default: "chromium" },
    documents: { type: "string", default: "10000,100000" },
    only: { type: "string", default: "peer,pouchdb,rxdb,triplit" },
    parts: { type: "string", default: "open,heap,commit,download" },
    rounds: { type: "string", default: "5" },
  },
});
const rounds = Number(values.rounds);
const parts = values.parts.split(",");

/** Those that take part, each with its measurement. One that fails does not go on. */
class Field {
  #taking;

  constructor(taking) {
    this.#taking = new Set(taking);
  }

  /** Calls `work` for all contestants in turn, `times` times. Returns the results of each. */
  async alternate(times, work) {
    const results = new Map();
    for (let round = 0; round < times; round++) {
      for (const each of this.#taking) {
        const { name, title } = each.contestant;
        try {
          const result = await work(each, round);
          if (result === undefined) continue;
          results.set(name, [...(results.get(name) ?? []), result]);
        } catch (error) {
          console.log(`${title} does not go on: ${error.message.split("\n")[0]}`);
          if (name === "peer") process.exitCode = 1;
          this.#taking.delete(each);
        }
      }
    }
    return results;
  }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
  const browser = await openBrowser(values.browser);
  try {
    console.log(`${await browser.version()}, ${rounds} rounds`);
    const counts = values.documents.split(",").map(Number);
    for (const documents of counts) {
      await compare(browser, { documents, folder, isFirst: documents === counts[0] });
    }
  } finally {
    await browser.close();
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(browser, { documents, folder, isFirst }) {
  const taking = [];
  try {
    for (const name of values.only.split(",")) {
      const contestant = await prepare(name, { documents, folder: join(folder, `${documents}`) });
      taking.push({ contestant, measurement: new Measurement(browser, contestant, documents) });
    }
    const field = new Field(taking);
    await field.alternate(1, ({ measurement }) => measurement.fill());
    if (parts.includes("open")) await compareOpening(field, documents);
    if (parts.includes("heap")) await compareHeaps(field, documents);
    if (parts.includes("commit")) await compareCommits(field, documents);
    if (isFirst && parts.includes("download")) await compareDownloads(field, documents);
  } finally {
    for (const { contestant } of taking) await contestant.close();
  }
}

async function compareOpening(field, documents) {
  const results = await field.alternate(rounds, ({ measurement }) => measurement.open());
  row(`\nopen, ${figure(documents)} documents`, ["ms", "least–most", "÷ ours"]);
  const found = medians(results, (ms) => ms);
  for (const [name, ms] of found) {
    row(titleOf(name), [figure(ms), spread(results.get(name)), ratioOf(found, name)]);
  }
  const openMax = OPEN_MS_MAX[documents];
  if (openMax !== undefined) verdict(`at most ${openMax} ms`, found.get("peer") <= openMax);
  verdict("faster than all others", isLeast(found));
}

async function compareHeaps(field, documents) {
  const results = await field.alternate(1, ({ measurement }) => measurement.heap());
  row(`\nheap after that, ${figure(documents)} documents`, ["MB", "÷ ours"]);
  const found = medians(results, (megabytes) => megabytes);
  for (const [name, megabytes] of found) {
    row(titleOf(name), [figure(megabytes, 1), ratioOf(found, name)]);
  }
  const heapMax = HEAP_MB_MAX[documents];
  if (heapMax !== undefined) verdict(`at most ${heapMax} MB`, found.get("peer") <= heapMax);
  verdict("less than all others", isLeast(found));
}

async function compareCommits(field, documents) {
  for (const durability of ["strict", "default"]) {
    const results = await field.alternate(rounds, ({ contestant, measurement }) =>
      contestant.durabilities.includes(durability) ? measurement.commit(durability) : undefined,
    );
    const columns = ["commits/s", "least–most", "÷ ours", "p50 ms", "p99 ms"];
    row(`\ncommits, ${durability}, ${figure(documents)} documents`, columns);
    const found = ["perSecond", "p50", "p99"].map((of) => medians(results, (each) => each[of]));
    const [rates, p50, p99] = found;
    for (const [name, rate] of rates) {
      const all = spread(results.get(name).map(({ perSecond }) => perSecond));
      row(titleOf(name), [
        figure(rate),
        all,
        ratioOf(rates, name),
        figure(p50.get(name), 2),
        figure(p99.get(name), 2),
      ]);
    }
    if (durability !== "strict") continue;
    verdict(`p50 at most ${COMMIT_P50_MS_MAX} ms`, p50.get("peer") <= COMMIT_P50_MS_MAX);
    verdict("lower p50 than all others", isLeast(p50));
  }
}

async function compareDownloads(field, documents) {
  const results = await field.alternate(rounds, ({ contestant, measurement }, round) =>
    contestant.canDownload ? measurement.download(round) : undefined,
  );
  row(`\nfirst download, ${figure(documents)} documents`, ["ms", "least–most", "÷ ours"]);
  const found = medians(results, (ms) => ms);
  for (const [name, ms] of found) {
    row(titleOf(name), [figure(ms), spread(results.get(name)), ratioOf(found, name)]);
  }
  verdict("faster than all others", isLeast(found));
}

function medians(results, of) {
  return new Map([...results].map(([name, all]) => [name, median(all.map(of))]));
}

/** Whether the peer has the smallest figure. */
function isLeast(stats) {
  return [...stats.values()].every((each) => stats.get("peer") <= each);
}

/** How many times the figure of the peer it is. */
function ratioOf(stats, name) {
  return figure(stats.get(name) / stats.get("peer"), 2);
}

function titleOf(name) {
  return `  ${CONTESTANTS[name].title}`;
}

await main();
