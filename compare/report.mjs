/**
 * Report of a run: the share that agrees, the listed differences, and the other differences by
 * class.
 */
const EXAMPLES_MAX = 3;

export class Report {
  statements = 0;
  agreed = 0;
  stopped = 0;
  /** By the name of a listed difference. */
  listed = new Map();
  /** By the rule that generated the statement, and by the function that it calls, if any. */
  others = new Map();

  agree() {
    this.statements++;
    this.agreed++;
  }

  stop() {
    this.statements++;
    this.stopped++;
  }

  differ(found, difference) {
    this.statements++;
    const group = difference === undefined ? this.others : this.listed;
    const name = difference?.name ?? classOf(found);
    const known = group.get(name) ?? { count: 0, examples: [] };
    known.count++;
    if (known.examples.length < EXAMPLES_MAX) known.examples.push(found);
    group.set(name, known);
  }

  get listedCount() {
    return sum(this.listed);
  }

  /** Share of agreement among statements without a listed difference. */
  get agreement() {
    const judged = this.statements - this.listedCount - this.stopped;
    return judged === 0 ? 1 : this.agreed / judged;
  }

  text({ examples = EXAMPLES_MAX } = {}) {
    const lines = [
      `${this.statements} statements: ${percent(this.agreement)} agree, apart from listed differences (${percent(this.listedCount / this.statements)})`,
    ];
    if (this.stopped > 0) lines.push(`${this.stopped} crashed the reference engine`);
    lines.push("", "listed differences");
    for (const [name, { count }] of byCount(this.listed))
      lines.push(`${String(count).padStart(7)}  ${name}`);
    lines.push("", "other differences");
    for (const [name, { count, examples: found }] of byCount(this.others)) {
      lines.push(`${String(count).padStart(7)}  ${name}`);
      for (const each of found.slice(0, examples)) {
        lines.push(`           ${each.text}`, ...lineDifference(each));
      }
    }
    return lines.join("\n");
  }
}

function classOf({ rule, text }) {
  const name = rule === "function call" ? /SELECT _id, (\w+)\(/.exec(text)?.[1] : undefined;
  return name === undefined ? rule : `${rule}: ${name}`;
}

/** Lines of each outcome that the other one lacks. */
function lineDifference({ oursText, referenceText }) {
  const [ours, reference] = [oursText.split("\n"), referenceText.split("\n")];
  return [
    `             reference ${onlyIn(reference, ours)}`,
    `             ours      ${onlyIn(ours, reference)}`,
  ];
}

const LINES_SHOWN = 2;
const LENGTH_SHOWN = 300;

function onlyIn(lines, others) {
  const own = lines.filter((line) => !others.includes(line));
  return own.slice(0, LINES_SHOWN).join(" ").slice(0, LENGTH_SHOWN);
}

function byCount(group) {
  return [...group].toSorted(([, a], [, b]) => b.count - a.count);
}

function sum(group) {
  return [...group.values()].reduce((total, { count }) => total + count, 0);
}

function percent(share) {
  return `${(100 * share).toFixed(2)} %`;
}
