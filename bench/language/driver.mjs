/**
 * Process of one contestant, with a new folder for each round. Each message of the parent process
 * is one operation. The reply has the duration and the count, or the error in the answer.
 *
 * This process takes the time, so that messages are not measured. It creates documents and checks
 * answers outside the measured time, except for the size of each answer. It repeats short
 * operations until a phase is over, and warms up operations that only read, and UPDATE.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  byModel,
  byText,
  DELETED_BATCHES,
  documentOf,
  documentsOf,
  HITS,
  newMileage,
  shuffled,
  Truth,
} from "./documents.mjs";
import { BULK, FLIGHT } from "./operations.mjs";

const { file, folder, documents, phaseMs, from } = JSON.parse(process.argv[2] ?? "{}");
const { Contestant } = await import(file);
const truth = new Truth(documents);

const WARM_CPU_MS = 700;
const WARM_MS_MAX = 5000;

class Wrong extends Error {}

function check(isRight, what) {
  if (!isRight) throw new Wrong(what);
}

/** Compares values as JSON, because contestants return objects of different classes. */
function same(found, wanted, what) {
  if (isDeepStrictEqual(JSON.parse(JSON.stringify(found)), wanted)) return;
  const [a, b] = [found, wanted].map((value) => JSON.stringify(value).slice(0, 300));
  throw new Wrong(`${what}: expected ${b}, found ${a}`);
}

function idsOf(found) {
  return found.map((document) => document["_id"]).toSorted(byText);
}

/** Stopwatch: elapsed time and processor time of all threads of this process. */
class Stopwatch {
  constructor() {
    this.ms = 0;
    this.cpuMs = 0;
  }

  static started() {
    const watch = new Stopwatch();
    watch.start();
    return watch;
  }

  start() {
    this.cpu = process.cpuUsage();
    this.begun = performance.now();
  }

  get running() {
    return performance.now() - this.begun;
  }

  stop() {
    this.ms += this.running;
    const { user, system } = process.cpuUsage(this.cpu);
    this.cpuMs += (user + system) / 1000;
  }

  of(done) {
    return { done, ms: this.ms, cpuMs: this.cpuMs };
  }
}

/** Warms up the code for a given processor time, so that a busy machine warms up as much. */
async function warmUp(work) {
  const begun = performance.now();
  const before = process.cpuUsage();
  for (let k = 0; performance.now() - begun < WARM_MS_MAX; k++) {
    await work(k);
    const { user, system } = process.cpuUsage(before);
    if (user + system > WARM_CPU_MS * 1000) return;
  }
}

/** Repeats a question. */
async function ask(work, look) {
  await warmUp(work);
  return repeat(work, look);
}

/** Repeats `work` for a phase. It awaits only promises, because others would pay for them. */
async function repeat(work, look) {
  let done = 0;
  const watch = Stopwatch.started();
  do {
    const made = work(done);
    const result = made instanceof Promise ? await made : made;
    look(result, done);
    done++;
  } while (watch.running < phaseMs);
  watch.stop();
  return watch.of(done);
}

/** Repeats a question and checks the last answer in full. It holds one answer at a time. */
async function repeatWhole(work) {
  let last;
  const measured = await ask(
    () => {
      last = undefined;
      return work();
    },
    (result) => {
      last = result;
    },
  );
  return { measured, last };
}

/** `FLIGHT` writes in flight, or in one group if the contestant cannot have several in flight. */
async function inFlight(one, group) {
  let sent = 0;
  const watch = Stopwatch.started();
  const isOver = () => watch.running >= phaseMs;
  if (group !== undefined) {
    for (; !isOver(); sent += FLIGHT) group(sent, FLIGHT);
  } else {
    const writer = async () => {
      while (!isOver()) await one(sent++);
    };
    await Promise.all(Array.from({ length: FLIGHT }, writer));
  }
  watch.stop();
  return watch.of(sent);
}

function batchOf(k) {
  return shuffled(k, truth.batches);
}

/** One round: a contestant on a new folder, and the changes that it received. */
class Round {
  constructor(number, contestant) {
    this.number = number;
    this.contestant = contestant;
    this.arrived = 0;
    this.updated = 0;
  }

  static async open(number) {
    const place = join(folder, String(number));
    mkdirSync(place, { recursive: true });
    return new Round(number, await Contestant.open(place, from));
  }

  async close() {
    await this.contestant.close();
    rmSync(join(folder, String(this.number)), { recursive: true, force: true });
  }

  async ["bulk-insert"]() {
    const watch = new Stopwatch();
    for (let i = 0; i < documents; i += BULK) {
      const made = documentsOf(i, BULK, documents);
      watch.start();
      await this.contestant.insertMany(made);
      watch.stop();
    }
    return watch.of(documents);
  }

  /** New documents, prepared before the measurement, more than a phase can insert. */
  arrivals(count) {
    const made = documentsOf(documents + this.arrived, count, documents);
    return (k) => made[k] ?? documentOf(documents + this.arrived + k, documents);
  }

  async insert() {
    const document = this.arrivals(4 * phaseMs);
    const measured = await repeat(
      (k) => this.contestant.insert(document(k)),
      () => {},
    );
    return this.checkArrivals(measured);
  }

  async ["insert-flight"]() {
    const document = this.arrivals(60 * phaseMs);
    const { contestant } = this;
    const group =
      contestant.insertGroup &&
      ((k, count) =>
        contestant.insertGroup(Array.from({ length: count }, (_, j) => document(k + j))));
    const measured = await inFlight((k) => contestant.insert(document(k)), group);
    return this.checkArrivals(measured);
  }

  /** Inserts go into another collection than the queried one. */
  async checkArrivals(measured) {
    this.arrived += measured.done;
    same(await this.contestant.arrivals(), this.arrived, "documents that arrived");
    return measured;
  }

  async ["by-id"]() {
    return this.lookups((id) => this.contestant.byId(id));
  }

  async ["use-ids"]() {
    return this.lookups((id) => this.contestant.useIds(id));
  }

  async lookups(find) {
    const measured = await ask(
      (k) => find(truth.ids[shuffled(k, documents)]),
      (found, k) =>
        check(
          found.length === 1 && found[0]["_id"] === truth.ids[shuffled(k, documents)],
          `lookup ${k}: another document`,
        ),
    );
    const [found] = await find(truth.ids[3]);
    same(found, documentOf(3, documents), "a document by its id");
    return measured;
  }

  async ["scan-equality"]() {
    return this.batches();
  }

  async ["by-index"]() {
    return this.batches();
  }

  async batches() {
    const measured = await ask(
      (k) => this.contestant.byBatch(batchOf(k)),
      (found, k) =>
        check(
          found.length === HITS && found[HITS - 1].batch === batchOf(k),
          `batch ${batchOf(k)}: ${found.length} documents`,
        ),
    );
    for (const value of [0, 7, truth.batches - 1]) {
      same(idsOf(await this.contestant.byBatch(value)), truth.batch(value), `batch ${value}`);
    }
    return measured;
  }

  async ["scan-count"]() {
    const { measured, last } = await repeatWhole(() => this.contestant.count());
    same(last, truth.count, "count");
    return measured;
  }

  async group() {
    const { measured, last } = await repeatWhole(() => this.contestant.groups());
    same(
      last.map(({ model, n, total }) => ({ model, n, total })).toSorted(byModel),
      truth.groups,
      "groups",
    );
    return measured;
  }

  async order() {
    const { measured, last } = await repeatWhole(() => this.contestant.top());
    same(
      last.map((document) => document["_id"]),
      truth.top,
      "the first ten",
    );
    return measured;
  }

  async ["index-build"]() {
    const watch = Stopwatch.started();
    await this.contestant.createIndex();
    watch.stop();
    return watch.of(1);
  }

  async update() {
    await warmUp(() => {
      const k = this.updated++;
      return this.contestant.update(this.targetOf(k), newMileage(k));
    });
    const first = this.updated;
    const measured = await repeat(
      (k) => this.contestant.update(this.targetOf(first + k), newMileage(first + k)),
      () => {},
    );
    return this.checkUpdates(measured);
  }

  async ["update-flight"]() {
    const first = this.updated;
    const { contestant } = this;
    const changeOf = (k) => [this.targetOf(first + k), newMileage(first + k)];
    const group =
      contestant.updateGroup &&
      ((k, count) =>
        contestant.updateGroup(Array.from({ length: count }, (_, j) => changeOf(k + j))));
    const measured = await inFlight((k) => contestant.update(...changeOf(k)), group);
    return this.checkUpdates(measured);
  }

  targetOf(k) {
    return truth.ids[shuffled(k, documents)];
  }

  async checkUpdates(measured) {
    this.updated += measured.done;
    const last = this.updated - 1;
    for (const k of [last, last - 1, Math.max(last - documents + 1, 0)]) {
      const [{ mileage }] = await this.contestant.byId(this.targetOf(k));
      same(mileage, newMileage(k), `mileage after update ${k}`);
    }
    return measured;
  }

  async ["select-all"]() {
    const { measured, last } = await repeatWhole(() => this.contestant.all());
    same(last.length, documents, "documents");
    const numbers = new Map(truth.ids.map((id, i) => [id, i]));
    const mileages = this.mileages();
    for (const found of last) {
      const i = numbers.get(found["_id"]);
      const wanted = documentOf(i, documents);
      wanted.mileage = mileages.get(i) ?? wanted.mileage;
      same(found, wanted, `document ${i}`);
      numbers.delete(found["_id"]);
    }
    same(numbers.size, 0, "documents that are missing");
    return measured;
  }

  mileages() {
    const mileages = new Map();
    for (let k = 0; k < this.updated; k++) mileages.set(shuffled(k, documents), newMileage(k));
    return mileages;
  }

  async ["delete-range"]() {
    const watch = Stopwatch.started();
    const deleted = await this.contestant.deleteBatches(0, DELETED_BATCHES);
    watch.stop();
    same(deleted, DELETED_BATCHES * HITS, "documents deleted");
    for (const [batch, left] of [
      [0, 0],
      [DELETED_BATCHES - 1, 0],
      [DELETED_BATCHES, HITS],
    ]) {
      same((await this.contestant.byBatch(batch)).length, left, `batch ${batch} after it`);
    }
    return watch.of(1);
  }
}

function bytesIn(place) {
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)).blocks * 512)
    .reduce((a, b) => a + b, 0);
}

let round;

async function answer({ kind, number, operation }) {
  if (kind === "open") {
    round = await Round.open(number);
    return {};
  }
  if (kind === "close") {
    const { rss } = process.memoryUsage();
    const fileBytes = bytesIn(join(folder, String(round.number)));
    await round.close();
    return { rss, rssMax: process.resourceUsage().maxRSS * 1024, fileBytes };
  }
  return round[operation]();
}

async function reply(asked) {
  try {
    process.send?.(await answer(asked));
  } catch (error) {
    process.send?.({ wrong: error instanceof Wrong ? error.message : error.stack });
  }
}

process.on("message", (asked) => void reply(asked));
process.on("disconnect", () => process.exit());
process.send?.({});
