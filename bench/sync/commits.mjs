/**
 * Benchmark of a commit with many peers that each follow another document, against few peers. It
 * has 10,000 documents, each with its own holder, and upserts over all of them evenly. With 10,000
 * peers the server sends each commit to one of them, and with 10 peers to hardly any.
 *
 * It runs once in process, on the sync server of the engine with channels in memory, which is
 * exact. It also runs with a server process and real sockets, where the system allows so many.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Crowds } from "./crowds.mjs";
import { start } from "./process.mjs";
import { startBigPeer } from "./servers.mjs";
import { figure, median, range, row, verdict } from "./table.mjs";
import { fieldsOfHolder, idOfHolder } from "./turn.mjs";

const FEW = 10;
const FLIGHT = 64;
const PROCESSES = 4;
/** Open files that a server needs in addition to its connections. */
const OTHER_FILES = 500;
const GOAL = 1.5;
const WAIT_MS = 50;
const WAIT_MS_MAX = 30_000;

/** How many files a process may open. */
function filesMax() {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1]);
  } catch {
    return Number.NaN;
  }
}

/** Starts a server with `count` connections; upserts arrive over HTTP. */
export class OverSockets {
  /** `name`: the handshake of the clients. `targets`: how many of the documents are written. */
  static async open(folder, peers, documents, { name, targets = documents } = {}) {
    const made = new OverSockets();
    made.targets = targets;
    made.documents = documents;
    made.peers = peers;
    made.turn = documents;
    made.next = 0;
    // A client that subscribes to an empty collection causes no scan.
    made.server = await startBigPeer(join(folder, `commits-${peers}`));
    made.crowds = new Crowds(PROCESSES);
    if (name !== undefined) made.server.name = name;
    await made.crowds.grow(peers, made.server, "own");
    await made.server.fill(documents, (i) => ({ _id: idOfHolder(i), ...fieldsOfHolder(i, i) }));
    made.expected = peers;
    await made.#arrive();
    return made;
  }

  async round(flight, ms) {
    const { server } = this;
    const before = { at: performance.now(), cpu: server.child.cpuSeconds };
    let done = 0;
    const writer = async () => {
      while (performance.now() - before.at < ms) {
        this.next = (this.next + 7919) % this.targets;
        if (this.next < this.peers) this.expected++;
        await server.upsert(idOfHolder(this.next), fieldsOfHolder(this.next, this.turn++));
        done++;
      }
    };
    await Promise.all(Array.from({ length: flight }, writer));
    const elapsedMs = performance.now() - before.at;
    await this.#arrive();
    const cpuUs = ((server.child.cpuSeconds - before.cpu) * 1e6) / done;
    return { cpuUs, perSecond: (done * 1000) / elapsedMs };
  }

  /** Waits until all writes have arrived. */
  async #arrive() {
    for (const end = performance.now() + WAIT_MS_MAX; ; await setTimeout(WAIT_MS)) {
      const { writes } = await this.crowds.counted();
      if (writes === this.expected) return;
      if (performance.now() > end || writes > this.expected) {
        throw new Error(`expected ${this.expected} deliveries, found ${writes}`);
      }
    }
  }

  async close() {
    await this.crowds.stop();
    await this.server.child.stop();
  }
}

/** The same in one process, without sockets. */
class InProcess {
  static async open(folder, peers, documents) {
    const made = new InProcess();
    made.peers = peers;
    made.child = start("in-process.mjs");
    const place = join(folder, `in-process-${peers}`);
    const { joinUs } = await made.child.ask("open", { folder: place, peers, documents });
    console.log(
      `in process: ${figure(joinUs)} µs for each of ${figure(peers)} peers to follow what is empty yet`,
    );
    return made;
  }

  round(flight, ms) {
    return this.child.ask("round", { flight, ms });
  }

  async close() {
    await this.child.stop();
  }
}

/** Alternates the rounds of all servers. The first round does not count. */
export async function compareCosts(title, sides, { count, ms }) {
  let worst = 0;
  for (const flight of [1, FLIGHT]) {
    const results = sides.map(() => []);
    for (let round = 0; round <= count; round++) {
      for (const [i, side] of sides.entries()) {
        const result = await side.round(flight, ms);
        if (round > 0) results[i].push(result);
      }
    }
    const of = (i, name) => median(results[i].map((result) => result[name]));
    row(`${title}, ${flight} in flight`, ["peers", "a second", "CPU µs", "CPU ratio", "of rounds"]);
    for (const [i, { peers }] of sides.entries()) {
      const ratio = of(i, "cpuUs") / of(0, "cpuUs");
      worst = Math.max(worst, ratio);
      row("", [
        figure(peers),
        figure(of(i, "perSecond")),
        figure(of(i, "cpuUs"), 1),
        figure(ratio, 2),
        range(results[i].map(({ cpuUs }, round) => cpuUs / results[0][round].cpuUs)),
      ]);
    }
  }
  verdict(`at most ${GOAL} times the cost, by CPU`, worst <= GOAL);
}

async function measureBy(Side, title, { folder, many, takePart, given }) {
  const sides = [];
  await takePart("big peer", async () => {
    for (const peers of [FEW, many]) sides.push(await Side.open(folder, peers, many));
    await compareCosts(title, sides, given);
  });
  for (const side of sides) await side.close();
}

export async function measureCommits({ folder, quick, takePart }) {
  const many = quick ? 1_000 : 10_000;
  const given = quick ? { count: 1, ms: 500 } : { count: 5, ms: 2_000 };
  await measureBy(InProcess, "in process", { folder, many, takePart, given });
  if (filesMax() < many + OTHER_FILES) {
    console.log(`over sockets: left out, a process may open ${filesMax()} files`);
    return;
  }
  await measureBy(OverSockets, "over sockets", { folder, many, takePart, given });
}
