/**
 * Followers under failures: a server, writers, readers and webhook receivers that are killed at
 * random, and a crowd of other readers of which some do not read.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Random } from "../../compare/random.mjs";
import { startServer } from "../availability/server-process.mjs";
import { TakenCheck } from "./taken-changes.mjs";

const READERS = 2;
const RECEIVERS = 2;
const WRITERS = 4;

/** Changes of one transaction. */
const BATCH = 50;

/** Documents of each owner. */
const DOCUMENTS = 10;

/** How far the writers may be ahead of the slowest follower: less than the log holds. */
const AHEAD_MAX = 20_000;

/** How long to wait for a next delivery. */
const DELIVERY_MS_MAX = 2_000;

/** How long nothing may arrive, on any machine. */
const STALL_MS_MAX = 300_000;

/** Returns `{ changes, seconds, writeSeconds, kills, repeats, memoryMb, failures }`. */
export async function follow(options, report = () => {}) {
  const run = new Followers(options, report);
  try {
    return await run.play();
  } finally {
    await run.close();
  }
}

class Followers {
  #options;
  #report;
  #random;
  #folder = mkdtempSync(join(tmpdir(), "bigpeer-changes-"));
  #server;
  #txnOf;
  #followers = [];
  #crowd;
  #written = 0;
  #next = 0;
  #kills = 0;
  #memoryMb = 0;
  #isOver = false;
  #failures = [];

  constructor(options, report) {
    this.#options = options;
    this.#report = report;
    this.#random = new Random(options.seed);
    this.#txnOf = new Float64Array(options.changes);
  }

  async play() {
    const begin = performance.now();
    this.#server = await startServer(join(this.#folder, "server"), { management: true });
    for (let i = 0; i < READERS; i++) this.#followers.push(this.#reader(i));
    for (let i = 0; i < RECEIVERS; i++) await this.#openReceiver(i);
    await this.#openCrowd();
    this.#report(`${this.#options.readers} readers are connected`);
    const faults = [this.#kill(), this.#watch()];
    await Promise.all(Array.from({ length: WRITERS }, () => this.#write()));
    this.#report(`${this.#written} changes are written`);
    await this.#untilTaken();
    this.#isOver = true;
    await Promise.all(faults);
    await this.#check();
    return {
      changes: this.#written,
      seconds: (performance.now() - begin) / 1000,
      kills: this.#kills,
      repeats: this.#followers.reduce((sum, { check }) => sum + check.repeats, 0),
      memoryMb: this.#memoryMb,
      failures: this.#failures,
    };
  }

  async close() {
    this.#isOver = true;
    for (const follower of this.#followers) await end(follower.child);
    if (this.#crowd !== undefined) await end(this.#crowd.child);
    await this.#server?.kill();
    if (this.#failures.length === 0) rmSync(this.#folder, { recursive: true, force: true });
    else this.#report(`see ${this.#folder}`);
  }

  #reader(i) {
    const { dataUrl: url, apiKey: key } = this.#server;
    const file = join(this.#folder, `reader-${i}.txt`);
    const start = () => startProcess("reader-process.mjs", { url, key, file });
    return createFollower(`reader ${i}`, file, start, this.#txnOf);
  }

  async #openReceiver(i) {
    const file = join(this.#folder, `receiver-${i}.txt`);
    let port = 0;
    const made = createFollower(
      `receiver ${i}`,
      file,
      () => startProcess("receiver-process.mjs", { port, file }),
      this.#txnOf,
    );
    made.isReceiver = true;
    this.#followers.push(made);
    const [line] = await once(createInterface(made.child.stdout), "line");
    port = Number(line);
    const url = `http://127.0.0.1:${port}/`;
    const body = { name: `receiver-${i}`, url, collection: "orders", allowPrivate: true };
    const { managementUrl } = this.#server;
    const answer = await fetch(
      `${managementUrl}/namespace/default/bigPeer/big-peer/app/default/webhook`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      },
    );
    if (!answer.ok) throw new Error(`expected a webhook, found ${await answer.text()}`);
  }

  async #openCrowd() {
    const { dataUrl: url, apiKey: key } = this.#server;
    const { readers, deaf } = this.#options;
    const child = startProcess("crowd-process.mjs", { url, key, readers, deaf });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    this.#crowd = { child, lines };
    const { done } = await lines.next();
    if (done === true) throw new Error("expected that the crowd connects");
  }

  /** Writes batches until all changes are written. A document is once in a batch. */
  async #write() {
    const { changes, readers, deaf, writeMs } = this.#options;
    const owners = readers - deaf;
    const ids = Math.max(BATCH, owners * DOCUMENTS);
    const endMs = performance.now() + writeMs;
    while (this.#next < changes && performance.now() < endMs && this.#failures.length === 0) {
      if (this.#next - this.#slowest > AHEAD_MAX) {
        await wait(20);
        continue;
      }
      const from = this.#next;
      const until = Math.min(from + BATCH, changes);
      this.#next = until;
      const documents = [];
      for (let number = from; number < until; number++) {
        const id = number % ids;
        documents.push({ _id: id, owner: id % owners, number });
      }
      const txnId = await this.#send(documents);
      this.#txnOf.fill(txnId, from, until);
      this.#written += until - from;
    }
  }

  async #send(documents) {
    const { dataUrl, apiKey } = this.#server;
    const answer = await fetch(`${dataUrl}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(insertOf(documents)),
    });
    if (!answer.ok) throw new Error(`expected 200, found ${answer.status}: ${await answer.text()}`);
    const { transactionId } = await answer.json();
    return transactionId;
  }

  get #slowest() {
    return Math.min(...this.#followers.map(({ check }) => check.count));
  }

  async #untilTaken() {
    let last = -1;
    let lastMs = performance.now();
    while (this.#slowest < this.#written && this.#failures.length === 0) {
      await wait(50);
      if (this.#slowest !== last) {
        last = this.#slowest;
        lastMs = performance.now();
      } else if (performance.now() - lastMs > STALL_MS_MAX) {
        for (const { name, check } of this.#followers) {
          if (check.count < this.#written)
            this.#failures.push(`${name} has ${check.count} changes`);
        }
      }
    }
  }

  async #check() {
    for (const { name, check } of this.#followers) {
      if (check.failure === undefined) check.checkTransactions(this.#written);
      if (check.failure !== undefined) this.#note(`${name}: ${check.failure}`);
    }
    if (this.#failures.length > 0) return;
    const expected = this.#countsOfOwners();
    const endMs = performance.now() + STALL_MS_MAX;
    for (;;) {
      const counts = await this.#askCrowd();
      const differing = counts.findIndex((count, owner) => count !== expected[owner]);
      if (differing === -1) return;
      const count = counts[differing];
      if (count > expected[differing] || performance.now() > endMs) {
        this.#note(`reader of ${differing} has ${count} changes, expected ${expected[differing]}`);
        return;
      }
      await wait(50);
    }
  }

  #countsOfOwners() {
    const { readers, deaf } = this.#options;
    const owners = readers - deaf;
    const ids = Math.max(BATCH, owners * DOCUMENTS);
    const counts = Array.from({ length: owners }, () => 0);
    for (let number = 0; number < this.#written; number++) counts[(number % ids) % owners]++;
    return counts;
  }

  async #askCrowd() {
    this.#crowd.child.stdin.write("\n");
    const { value = "" } = await this.#crowd.lines.next();
    return JSON.parse(value).counts;
  }

  #note(failure) {
    if (!this.#failures.includes(failure)) this.#failures.push(failure);
  }

  async #kill() {
    for (;;) {
      const until = performance.now() + this.#options.killMs * this.#random.between(0.5, 1.5);
      while (performance.now() < until && !this.#isOver) await wait(20);
      if (this.#isOver) return;
      // One that has taken nothing since its start would only be away for longer, on a slow machine.
      const running = this.#followers.filter(({ check, atStart }) => check.count > atStart);
      if (running.length === 0) continue;
      const chosen = this.#random.pick(running);
      if (chosen.isReceiver && this.#random.chance(0.5)) await endUnanswered(chosen.child);
      await end(chosen.child);
      chosen.poll();
      this.#kills++;
      chosen.atStart = chosen.check.count;
      chosen.child = chosen.start();
    }
  }

  /** Reads what the followers have, and the memory of the server. */
  async #watch() {
    while (!this.#isOver) {
      this.#memoryMb = Math.max(this.#memoryMb, this.#server.rssAnonMb);
      for (const { name, check, poll } of this.#followers) {
        poll();
        if (check.failure !== undefined) this.#note(`${name}: ${check.failure}`);
      }
      await wait(50);
    }
  }
}

/** A statement with all documents. */
function insertOf(documents) {
  const names = documents.map((_, i) => `(:d${i})`);
  const statement = `INSERT INTO orders DOCUMENTS ${names.join(", ")} ON ID CONFLICT DO UPDATE`;
  return { statement, args: Object.fromEntries(documents.map((one, i) => [`d${i}`, one])) };
}

function createFollower(name, file, start, txnOf) {
  const check = new TakenCheck(txnOf);
  let at = 0;
  const poll = () => {
    if (!existsSync(file)) return;
    const opened = openSync(file, "r");
    try {
      const { size } = fstatSync(opened);
      // A line that a kill has cut was removed.
      if (size < at) at = size;
      const bytes = Buffer.alloc(size - at);
      readSync(opened, bytes, 0, bytes.length, at);
      const whole = bytes.lastIndexOf(0x0a) + 1;
      at += whole;
      check.read(bytes.toString("latin1", 0, whole));
    } finally {
      closeSync(opened);
    }
  };
  return { name, check, start, poll, atStart: 0, child: start() };
}

function startProcess(script, options) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return spawn(process.execPath, [path, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
}

/** Ends a receiver when it has taken a delivery and has not answered. */
async function endUnanswered(child) {
  const ended = once(child, "exit");
  child.stdin.write("\n");
  await Promise.race([ended, wait(DELIVERY_MS_MAX)]);
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
