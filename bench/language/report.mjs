/**
 * Prints the results of the language benchmark as tables: each operation with its contestants, and
 * ratios with their targets.
 */
import { FLOOR_GOAL, OPERATIONS } from "./operations.mjs";

const TITLE_WIDTH = 36;
const WIDTH = 11;
const RATIO_WIDTH = 9;

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}

function number(value) {
  if (value === undefined) return "–";
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** How many times faster. A higher rate is faster, and so is a shorter time. */
function timesFaster(unit, ours, theirs) {
  if (ours === undefined || theirs === undefined) return undefined;
  return unit === "ms" ? theirs / ours : ours / theirs;
}

/** The values of all rounds. */
class Series {
  constructor(values) {
    this.values = values;
    this.value = values.length > 0 ? median(values) : undefined;
  }

  /** Minimum and maximum of the rounds, relative to the median. */
  get spread() {
    if (this.value === undefined) return "–";
    const ends = [Math.min(...this.values), Math.max(...this.values)];
    return ends.map((end) => (end / this.value).toFixed(2)).join("–");
  }
}

/** Results of one contestant for an operation in all rounds; none if an answer was wrong. */
export class Measured {
  constructor(unit) {
    this.unit = unit;
    this.answers = [];
    this.wrong = undefined;
  }

  add(answer) {
    if (answer.wrong === undefined) this.answers.push(answer);
    else this.wrong ??= answer.wrong;
  }

  /** `ms` is elapsed time, `cpuMs` the processor time of all threads. */
  by(kind) {
    if (this.wrong !== undefined) return new Series([]);
    return new Series(
      this.answers.map(({ done, [kind]: taken }) =>
        this.unit === "ms" ? taken / done : (done * 1000) / taken,
      ),
    );
  }
}

function cells(texts, width) {
  return texts.map((text) => text.padStart(width)).join("");
}

const HEADS = { ms: "the median of the rounds", cpuMs: "the same, by processor time" };

/** `results`: by name of operation, then by name of contestant. */
export function printTable({ names, results, contestants }, kind) {
  const others = contestants.filter((name) => name !== "ours");
  const chosen = OPERATIONS.filter(({ name }) => names.includes(name));
  const heads = cells(contestants, WIDTH);
  const over = cells(
    others.map((name) => `/${name.split(" ").at(-1)}`),
    RATIO_WIDTH,
  );
  console.log(`\n${HEADS[kind].padEnd(TITLE_WIDTH)}   ${heads}  ours${over}  wanted`);
  for (const { name, title, unit, goal } of chosen) {
    const row = results.get(name);
    const value = (one) => row.get(one)?.by(kind).value;
    const faster = new Map(
      others.map((one) => [one, timesFaster(unit, value("ours"), value(one))]),
    );
    const stats = cells(contestants.map(value).map(number), WIDTH);
    const ratios = cells([...faster.values()].map(number), RATIO_WIDTH);
    const verdicts = [
      verdict("ditto", goal, faster),
      verdict("raw lmdb", FLOOR_GOAL, faster),
    ].filter((text) => text !== "");
    console.log(
      `${title.padEnd(TITLE_WIDTH)} ${unit.padEnd(2)}${stats}      ${ratios}  ${verdicts.join(", ")}`,
    );
  }
}

function verdict(name, goal, faster) {
  const ratio = faster.get(name);
  if (goal === undefined || ratio === undefined) return "";
  return `${name} ≥ ${goal}: ${ratio >= goal ? "yes" : "NO"}`;
}

export function printSpreads({ names, results, contestants }) {
  console.log(
    `\n${"least and most, as parts of the median".padEnd(TITLE_WIDTH + 3)}${cells(contestants, WIDTH)}`,
  );
  for (const { name, title } of OPERATIONS) {
    if (!names.includes(name)) continue;
    const row = results.get(name);
    const spreads = cells(
      contestants.map((one) => row.get(one).by("ms").spread),
      WIDTH,
    );
    console.log(`${title.padEnd(TITLE_WIDTH + 3)}${spreads}`);
  }
}

/** A wrong answer has no time. A wrong answer of Big Peer fails the run. */
export function printWrong(results) {
  for (const [operation, row] of results) {
    for (const [contestant, { wrong }] of row) {
      if (wrong === undefined) continue;
      console.log(`WRONG  ${contestant}, ${operation}: ${wrong}`);
      if (contestant === "ours") process.exitCode = 1;
    }
  }
}

/** Big Peer alone, with few and with many documents. */
export function printGrowth(names, sizes) {
  const heads = sizes.map(({ documents }) => documents.toLocaleString("en"));
  console.log(
    `\n${"ours, documents".padEnd(TITLE_WIDTH)}   ${cells(heads, WIDTH)}${"slower by".padStart(WIDTH)}`,
  );
  for (const { name, title, unit } of OPERATIONS) {
    if (!names.includes(name)) continue;
    const values = sizes.map(({ results }) => results.get(name).get("ours").by("ms").value);
    const slower = timesFaster(unit, values.at(-1), values[0]);
    const stats = [...values, slower && 1 / slower].map(number);
    console.log(`${title.padEnd(TITLE_WIDTH)} ${unit.padEnd(2)}${cells(stats, WIDTH)}`);
  }
  for (const { results } of sizes) printWrong(results);
}

function mega(bytes) {
  return `${Math.round(bytes / 1024 ** 2)} MB`;
}

/** Memory and files at the end of the last round. */
export function printSizes(sizes) {
  console.log("");
  for (const [name, { rss, rssMax, fileBytes }] of sizes) {
    if (fileBytes === undefined) continue;
    console.log(
      `${name}: ${mega(fileBytes)} on disk, ${mega(rss)} of memory at the end, ${mega(rssMax)} at most`,
    );
  }
}
