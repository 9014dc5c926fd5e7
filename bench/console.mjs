/**
 * Benchmark of the console with many documents: the first page of Data beside the same `find` of the
 * data API, the time until Chromium shows its rows, and what an open page costs an idle server.
 *
 * The server is a process of its own. `find` and the requests of the page alternate, and medians are
 * compared, because the load of the machine varies. `--documents N`, `--rounds N` and `--idle SECONDS`
 * change the size of the run; `--only requests`, `--only browser` and `--only idle` leave parts out.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openBrowser } from "../scripts/open-browser.mjs";
import { fieldsOf, idOf } from "./floor/cars.mjs";

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  // Names of benchmarks, which run.mjs parses.
  allowPositionals: true,
  options: {
    documents: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "40" },
    idle: { type: "string", default: "30" },
    only: { type: "string", default: "requests,browser,idle" },
  },
});
const DOCUMENTS = Number(options.documents);
const ROUNDS = Number(options.rounds);
const IDLE_MS = Number(options.idle) * 1000;
const PARTS = options.only.split(",");

/** JavaScript is several times slower at first. */
const WARM_ROUNDS = 200;
const WARM_ROUNDS_OF_SLOW = 2;
/** Pages that the browser opens, of which the median counts. */
const VISITS = 9;

const LOAD_BATCH = 1000;
const LOADERS = 4;
const START_MS_MAX = 20_000;
const SETTLE_MS = 5_000;
const TICKS_A_SECOND = 100;

const TARGETS = { ratio: 2, ms: 200, core: 0.005 };

const COLLECTION = "cars";
const BIG_PEER = "/namespace/default/bigPeer/big-peer";
/** The console reads one document more than a page has. */
const LIMIT = 51;

/** First pages. `find` reads as the data API does; the page runs a statement. */
const PAGES = [
  {
    title: "in the order of ids",
    find: { query: "true" },
    statement: `SELECT * FROM ${COLLECTION} ORDER BY _id LIMIT ${LIMIT}`,
  },
  {
    title: "with a filter on a field with an index",
    find: { query: "year == 2001", sort: [{ property: "_id", direction: "asc" }] },
    statement: `SELECT * FROM ${COLLECTION} WHERE year = 2001 ORDER BY _id LIMIT ${LIMIT}`,
  },
  {
    title: "sorted by a field with an index",
    find: { query: "true", sort: [{ property: "year", direction: "asc" }] },
    statement: `SELECT * FROM ${COLLECTION} ORDER BY year LIMIT ${LIMIT}`,
  },
  {
    title: "sorted by a field without an index",
    isSlow: true,
    find: { query: "true", sort: [{ property: "mileage", direction: "asc" }] },
    statement: `SELECT * FROM ${COLLECTION} ORDER BY mileage LIMIT ${LIMIT}`,
  },
];

class Server {
  #folder;
  #process;
  #quickstart;
  #cookie;

  /** Starts the process. `ready` must follow. */
  constructor(folder) {
    this.#folder = folder;
    const main = fileURLToPath(new URL("../packages/server/dist/main.js", import.meta.url));
    const ports = ["--port", "0", "--management-port", "0"];
    this.#process = fork(main, ["--data-dir", folder, ...ports], {
      execArgv: ["--max-semi-space-size=32"],
      env: { ...process.env, BIGPEER_LOG_LEVEL: "error" },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
  }

  async ready() {
    this.#quickstart = await quickstartOf(this.#folder);
    await this.#signIn();
  }

  get consoleUrl() {
    return this.#quickstart.consoleUrl;
  }

  get #managementUrl() {
    return new URL(this.consoleUrl).origin;
  }

  async #signIn() {
    const token = new URL(this.consoleUrl).hash.slice("#token=".length);
    const { headers } = await this.manage("POST", "/console/session", { token });
    [this.#cookie] = headers.get("set-cookie").split(";");
  }

  /** A request to the data API. */
  async data(path, body) {
    const { apiKey, dataUrl } = this.#quickstart;
    const response = await fetch(`${dataUrl}/api/v4/store/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return checked(response, path);
  }

  /** A request as a page of the console sends it. */
  async manage(method, path, body) {
    const origin = this.#managementUrl;
    const response = await fetch(origin + path, {
      method,
      headers: {
        "sec-fetch-site": "same-origin",
        ...(this.#cookie !== undefined && { cookie: this.#cookie }),
        ...(body !== undefined && { origin, "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { headers: response.headers, content: await checked(response, path) };
  }

  /** Processor time of all threads, in seconds; NaN where the system does not report it. */
  get cpuSeconds() {
    try {
      const [, fields] = readFileSync(`/proc/${this.#process.pid}/stat`, "utf8").split(") ");
      const [user, system] = fields.split(" ").slice(11, 13).map(Number);
      return (user + system) / TICKS_A_SECOND;
    } catch {
      return Number.NaN;
    }
  }

  async stop() {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await ended;
  }
}

async function quickstartOf(folder) {
  for (const end = performance.now() + START_MS_MAX; ; await setTimeout(50)) {
    try {
      const quickstart = JSON.parse(readFileSync(join(folder, "quickstart.json"), "utf8"));
      // The link to the console is added last.
      const { consoleUrl, dataUrl } = quickstart;
      const isReady = (await fetch(`${dataUrl}/health/ready`)).ok && consoleUrl !== undefined;
      if (isReady) return quickstart;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

async function checked(response, path) {
  const content = await response.json();
  if (response.ok) return content;
  throw new Error(`expected status 200 of ${path}, found ${JSON.stringify(content)}`);
}

async function load(server) {
  const start = performance.now();
  let next = 0;
  const loader = async () => {
    while (next < DOCUMENTS) {
      const from = next;
      next += LOAD_BATCH;
      const count = Math.min(LOAD_BATCH, DOCUMENTS - from);
      const commands = Array.from({ length: count }, (_, i) => {
        const id = idOf(from + i);
        return { method: "upsert", collection: COLLECTION, id, value: fieldsOf(from + i) };
      });
      await server.data("write", { commands });
    }
  };
  await Promise.all(Array.from({ length: LOADERS }, loader));
  await server.data("execute", { statement: `CREATE INDEX by_year ON ${COLLECTION} (year)` });
  while (await isBuilding(server)) await setTimeout(200);
  await setTimeout(SETTLE_MS);
  console.log(`${figure(DOCUMENTS)} documents and an index after ${seconds(start)} s`);
}

async function isBuilding(server) {
  const statement = "SELECT * FROM system:indexes WHERE state = 'building'";
  return (await server.data("execute", { statement })).items.length > 0;
}

function seconds(start) {
  return ((performance.now() - start) / 1000).toFixed(0);
}

/** The same page by `find`, by the statement of the console, and the list of collections. */
async function compareRequests(server) {
  for (const { title, find, statement, isSlow = false } of PAGES) {
    const execute = `${BIG_PEER}/app/default/store/execute`;
    const contestants = [
      {
        name: "find",
        ask: () => server.data("find", { collection: COLLECTION, ...find, limit: LIMIT }),
      },
      {
        name: "the page's statement",
        ask: () => server.manage("POST", execute, { statement }),
      },
      {
        name: "the page's list of collections",
        ask: () => server.manage("GET", `${BIG_PEER}/app/default/collection`),
      },
    ];
    await compare(title, isSlow ? contestants.slice(0, 2) : contestants, isSlow);
  }
}

async function compare(title, contestants, isSlow) {
  const results = contestants.map(() => ({ times: [], cpu: 0 }));
  const round = async (record) => {
    for (const [i, { ask }] of contestants.entries()) {
      const before = server.cpuSeconds;
      const start = performance.now();
      await ask();
      record(results[i], performance.now() - start, server.cpuSeconds - before);
    }
  };
  for (let i = 0; i < (isSlow ? WARM_ROUNDS_OF_SLOW : WARM_ROUNDS); i++) await round(() => {});
  const count = isSlow ? Math.ceil(ROUNDS / 8) : ROUNDS * 5;
  for (let i = 0; i < count; i++) {
    await round((result, ms, cpu) => {
      result.times.push(ms);
      result.cpu += cpu;
    });
  }
  console.log(`\nFirst page ${title}, ${count} rounds`);
  row("", ["p50 ms", "p90 ms", "CPU ms", "of find"]);
  const medians = results.map(({ times }) => quantile(times, 0.5));
  for (const [i, { name }] of contestants.entries()) {
    const { times, cpu } = results[i];
    row(`  ${name}`, [
      medians[i].toFixed(2),
      quantile(times, 0.9).toFixed(2),
      ((cpu * 1000) / count).toFixed(2),
      (medians[i] / medians[0]).toFixed(2),
    ]);
  }
  verdict(`at most ${TARGETS.ratio} times find`, medians[1] <= TARGETS.ratio * medians[0]);
  if (!isSlow) verdict(`under ${TARGETS.ms} ms`, medians[1] < TARGETS.ms);
}

/** When the rows are on the screen, in milliseconds after the page was opened. */
const WATCH = `(() => {
  window.untilRows = (from) => new Promise((resolve) => {
    const look = () => {
      const count = document.querySelectorAll(".document-table tbody tr").length;
      // The next frame has drawn them.
      if (count >= ${LIMIT - 1}) requestAnimationFrame(() => resolve(performance.now() - from));
      else requestAnimationFrame(look);
    };
    look();
  });
  window.shownAfter = window.untilRows(0);
})()`;

async function openConsole(browser, server) {
  const page = await browser.openPrivatePage("about:blank");
  await page.setViewport({ width: 1280, height: 800 });
  await page.evaluateOnNewDocument(WATCH);
  await page.goto(server.consoleUrl);
  await page.locator("main h1").wait();
  return page;
}

function addressOf(server, path) {
  return new URL(path, server.consoleUrl).href;
}

async function measureBrowser(browser, server) {
  const page = await openConsole(browser, server);
  const loads = [];
  const clicks = [];
  const requests = new Map();
  page.on("requestfinished", (request) => noteRequest(requests, request));
  for (let i = 0; i < VISITS; i++) {
    await page.goto(addressOf(server, `/data?app=default&collection=${COLLECTION}`));
    loads.push(await page.evaluate("window.shownAfter"));
    await page.goto(addressOf(server, "/data?app=default"));
    await page.locator(`main a ::-p-text(${COLLECTION})`).wait();
    clicks.push(
      await page.evaluate(`(() => {
        const links = [...document.querySelectorAll("main a")];
        const from = performance.now();
        links.find(({ textContent }) => textContent === "${COLLECTION}").click();
        return window.untilRows(from);
      })()`),
    );
  }
  await page.close();
  console.log(`\nRows on screen in Chromium, ${VISITS} visits`);
  row("", ["p50 ms", "least", "most"]);
  for (const [name, times] of [
    ["  the address of the collection is loaded", loads],
    ["  the collection is chosen on the page", clicks],
  ]) {
    const cells = [quantile(times, 0.5), quantile(times, 0), quantile(times, 1)];
    row(
      name,
      cells.map((ms) => ms.toFixed(0)),
    );
  }
  verdict(`under ${TARGETS.ms} ms, chosen`, quantile(clicks, 0.5) < TARGETS.ms);
  console.log("\nRequests of the page to the API, from request to end of answer");
  row("", ["count", "p50 ms", "most"]);
  for (const [name, times] of requests) {
    row(`  ${name}`, [
      String(times.length),
      quantile(times, 0.5).toFixed(1),
      Math.max(...times).toFixed(1),
    ]);
  }
}

function noteRequest(requests, request) {
  const { pathname } = new URL(request.url());
  if (!pathname.startsWith(BIG_PEER) && !pathname.startsWith("/console/")) return;
  const { statement = "" } = JSON.parse(request.postData() ?? "{}");
  const path = pathname.replace(BIG_PEER, "");
  const name = `${request.method()} ${path} ${statement}`.trim();
  const times = requests.get(name) ?? [];
  const { receiveHeadersEnd = 0, sendStart = 0 } = request.response()?.timing() ?? {};
  times.push(receiveHeadersEnd - sendStart);
  requests.set(name, times);
}

/** Processor time of the server with each page open, and without a page just before. */
async function measureIdle(browser, server) {
  const pages = [
    ["Overview", "/"],
    ["Data, a collection", `/data?app=default&collection=${COLLECTION}`],
    ["Data, its indexes", `/data?app=default&collection=${COLLECTION}&tab=indexes`],
    ["Live", `/live?app=default&collection=${COLLECTION}`],
    ["Devices", "/devices?app=default"],
    ["Access", "/access?app=default"],
    ["Replication", "/replication?app=default"],
    ["Operations", "/operations?app=default"],
  ];
  console.log(`\nProcessor time of the server in ${IDLE_MS / 1000} s, in % of one core`);
  row("", ["no page", "page", "more"]);
  for (const [name, path] of pages) {
    const without = await idleShare(server);
    const page = await openConsole(browser, server);
    await page.goto(addressOf(server, path));
    // An address without a page shows none, and would cost nothing.
    const [title] = name.split(",");
    await page.locator(`::-p-aria([name="${title}"][role="heading"])`).wait();
    await page.bringToFront();
    const share = await idleShare(server);
    await page.close();
    row(`  ${name}`, [percent(without), percent(share), percent(share - without)]);
    verdict(`under ${percent(TARGETS.core)} %`, share - without < TARGETS.core);
  }
}

/** Part of a core that the server uses while no one does anything. */
async function idleShare(server) {
  await setTimeout(SETTLE_MS);
  const before = server.cpuSeconds;
  const start = performance.now();
  await setTimeout(IDLE_MS);
  return ((server.cpuSeconds - before) * 1000) / (performance.now() - start);
}

function percent(share) {
  return (share * 100).toFixed(2);
}

function quantile(numbers, part) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function figure(number) {
  return Math.round(number).toLocaleString("en");
}

function row(name, cells) {
  console.log(name.padEnd(72) + cells.map((cell) => cell.padStart(9)).join(""));
}

function verdict(goal, isMet) {
  console.log(`  ${goal}: ${isMet ? "met" : "missed"}`);
}

const folder = mkdtempSync(join(tmpdir(), "bigpeer-bench-"));
const server = new Server(folder);
let browser;
try {
  await server.ready();
  await load(server);
  if (PARTS.includes("requests")) await compareRequests(server);
  if (PARTS.includes("browser") || PARTS.includes("idle")) browser = await openBrowser("chromium");
  if (PARTS.includes("browser")) await measureBrowser(browser, server);
  if (PARTS.includes("idle")) await measureIdle(browser, server);
} finally {
  await browser?.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
