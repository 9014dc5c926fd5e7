/**
 * Benchmark of a fan-out: deliveries a second of one write to many subscribers, and the processor
 * time of the server for each. All clients stay connected while the rounds of all servers
 * alternate.
 *
 * A write is complete when each client has it. In the sequential case, each write waits for the one
 * before; otherwise several are in flight. A delivery is one write at one client. A server may put
 * several writes into one message.
 */
import { join } from "node:path";
import { Crowds } from "./crowds.mjs";
import { startBare, startBigPeer, startHocuspocus } from "./servers.mjs";
import { figure, median, range, row, spread, verdict } from "./table.mjs";
import { fieldsOfTurn, idOfTurn, TARGETS } from "./turn.mjs";

const PROCESSES = 2;
const FLIGHT = 16;
const WRITE_MS_MAX = 30_000;
const GOAL = 0.5;

export class Contestant {
  constructor(title, server) {
    this.title = title;
    this.server = server;
    this.crowds = new Crowds(PROCESSES);
    this.turn = TARGETS;
    this.written = 0;
  }

  async join(clients) {
    await this.crowds.grow(clients, this.server, "same");
  }

  /** Writes for a time, with a number of writes in flight. */
  async round(flight, ms) {
    const { crowds, server } = this;
    const before = { at: performance.now(), cpu: server.child.cpuSeconds, written: this.written };
    const writer = async () => {
      while (performance.now() - before.at < ms) {
        const number = ++this.written;
        await Promise.all([server.write(this.turn++), crowds.reach(number, WRITE_MS_MAX)]);
      }
    };
    await Promise.all(Array.from({ length: flight }, writer));
    const seconds = (performance.now() - before.at) / 1000;
    const deliveries = (this.written - before.written) * crowds.clients;
    return {
      rate: deliveries / seconds,
      cpuMicros: ((server.child.cpuSeconds - before.cpu) * 1e6) / deliveries,
    };
  }

  /** Checks that each client has each write once. */
  async verify() {
    const counted = await this.crowds.counted();
    if (counted.least !== this.written || counted.most !== this.written) {
      throw new Error(
        `${this.title}: expected ${this.written} writes at each client, found ${counted.least} to ${counted.most}`,
      );
    }
    return counted;
  }
}

/** Starts Big Peer with the documents that will be written. */
export async function startOurs(folder) {
  const server = await startBigPeer(join(folder, "fan-out"));
  await server.fill(TARGETS, (i) => ({ _id: idOfTurn(i), ...fieldsOfTurn(i) }));
  return server;
}

async function rounds(contestants, { flight, count, ms }) {
  const results = contestants.map(() => []);
  for (const contestant of contestants) await contestant.round(flight, ms);
  for (let round = 0; round < count; round++) {
    for (const [i, contestant] of contestants.entries()) {
      results[i].push(await contestant.round(flight, ms));
    }
  }
  return results;
}

function print(title, contestants, results) {
  const of = (i, pick) => median(results[i].map(pick));
  row(title, ["deliveries/s", "ratio", "CPU µs", "CPU ratio", "least–most"]);
  for (const [i, contestant] of contestants.entries()) {
    const rates = results[i].map(({ rate }) => rate);
    const rate = of(i, (result) => result.rate);
    const cpu = of(i, (result) => result.cpuMicros);
    row(`  ${contestant.title}`, [
      figure(rate),
      figure(rate / of(0, (result) => result.rate), 2),
      figure(cpu, 2),
      figure(of(0, (result) => result.cpuMicros) / cpu, 2),
      spread(rates),
    ]);
  }
  return contestants.map((_, i) => of(i, ({ rate }) => rate));
}

/** Size of a message of Big Peer, which the messages of the floor also have. */
async function sizeOfMessage(ours) {
  const number = ++ours.written;
  await Promise.all([ours.server.write(ours.turn++), ours.crowds.reach(number, WRITE_MS_MAX)]);
  const { bytes, messages } = await ours.crowds.counted();
  return Math.round(bytes / messages);
}

export async function measureFanOut({ folder, quick, takePart }) {
  const clients = quick ? 200 : 1_000;
  const contestants = [];
  const add = async (name, begin) => {
    const contestant = await takePart(name, async () => {
      const made = await begin();
      await made.join(clients);
      return made;
    });
    if (contestant !== undefined) contestants.push(contestant);
    return contestant;
  };
  const bare = await add("ws", async () => new Contestant("bare ws", await startBare()));
  const ours = await add(
    "big peer",
    async () => new Contestant("big peer", await startOurs(folder)),
  );
  await add("hocuspocus", async () => new Contestant("hocuspocus", await startHocuspocus()));
  await compareRates({ contestants, bare, ours, clients, quick, floor: "bare ws" });
}

/** Alternates the rounds of all contestants, and prints their rates beside those of the floor. */
export async function compareRates({ contestants, bare, ours, clients, quick, floor }) {
  const bytes = ours === undefined ? 350 : await sizeOfMessage(ours);
  await bare?.server.child.ask("size", { bytes });
  console.log(`${clients} clients in ${PROCESSES} processes, messages of ${bytes} bytes`);
  const given = quick ? { count: 1, ms: 500 } : { count: 5, ms: 2_000 };
  for (const [title, flight] of [
    ["one write after the other", 1],
    [`${FLIGHT} writes in flight`, FLIGHT],
  ]) {
    const results = await rounds(contestants, { ...given, flight });
    const rates = print(title, contestants, results);
    if (bare !== undefined && ours !== undefined) {
      const [ourAt, bareAt] = [contestants.indexOf(ours), contestants.indexOf(bare)];
      const ratio = rates[ourAt] / rates[bareAt];
      const ratios = results[ourAt].map(({ rate }, round) => rate / results[bareAt][round].rate);
      console.log(`ratio of the rounds: ${range(ratios)}`);
      verdict(`${GOAL} of ${floor}, by time`, ratio >= GOAL);
    }
  }
  for (const contestant of contestants) {
    const { messages, writes } = await contestant.verify();
    console.log(`${contestant.title}: ${(writes / messages).toFixed(2)} writes in a message`);
    await contestant.crowds.stop();
    await contestant.server.child.stop();
  }
}
