/**
 * Compares the query language with the reference engine on generated statements: `npm run compare`.
 * The run fails if too few statements agree, or too many have listed differences. With `quickstart
 * PATH` it runs the public quick start of the reference SDK instead.
 */
import { findDifference } from "./differences.mjs";
import { DOCUMENTS } from "./documents.mjs";
import { Generator, STATEMENT_ARGUMENTS } from "./generate.mjs";
import { HELP, parseOptions } from "./options.mjs";
import { Ours } from "./ours.mjs";
import { describe } from "./outcome.mjs";
import { runQuickstart } from "./quickstart.mjs";
import { Reference } from "./reference.mjs";
import { Report } from "./report.mjs";

const AGREEMENT_MIN = 0.995;
const LISTED_MAX = 0.03;

/** Cases in one message to the reference. */
const BATCH = 50;

const PREPARE = [
  { statement: "INSERT INTO t DOCUMENTS (:documents)", args: { documents: DOCUMENTS } },
  { statement: "INSERT INTO k DOCUMENTS (:documents)", args: { documents: DOCUMENTS } },
];

function requestsOf({ statements }) {
  return statements.map((statement) => ({ statement, args: STATEMENT_ARGUMENTS }));
}

/** Outcomes of each case. If a batch crashes the engine, its cases run one by one. */
async function runAll(reference, cases) {
  const all = await reference.run(cases.flatMap(requestsOf));
  if (all !== undefined) {
    let from = 0;
    return cases.map(({ statements }) => all.slice(from, (from += statements.length)));
  }
  const outcomes = [];
  for (const each of cases) outcomes.push(await reference.run(requestsOf(each)));
  return outcomes;
}

/** Ids that a condition selects in both engines, and ids for which it is true as a column. */
async function readFilter({ filter }, engines) {
  if (filter === undefined) return undefined;
  const asFilter = { statement: `SELECT _id FROM t WHERE ${filter}`, args: STATEMENT_ARGUMENTS };
  const asColumn = { statement: `SELECT _id, ${filter} AS v FROM t`, args: STATEMENT_ARGUMENTS };
  const [ours] = await engines.ours.run([asFilter]);
  const [reference, column] = (await engines.reference.run([asFilter, asColumn])) ?? [];
  return {
    ours: idsOf(ours),
    reference: idsOf(reference),
    column: idsOf(column, ({ v }) => v === true),
  };
}

function idsOf(outcome, isKept = () => true) {
  return outcome?.items
    ?.filter(isKept)
    .map(({ _id }) => _id)
    .toSorted()
    .join();
}

async function assess(report, given, { ours, reference }, engines) {
  if (reference === undefined) return report.stop();
  for (let i = given.compared; i < given.statements.length; i++) {
    const [oursText, referenceText] = [describe(ours[i], given), describe(reference[i], given)];
    if (oursText === referenceText) {
      report.agree();
      continue;
    }
    const found = {
      rule: given.rule,
      text: given.statements.slice(given.compared, i + 1).join("; "),
      ours: ours[i],
      reference: reference[i],
      filter: await readFilter(given, engines),
      oursText: ours[i].error === undefined ? oursText : `error ${ours[i].message}`,
      referenceText:
        reference[i].error === undefined ? referenceText : `error ${reference[i].message}`,
    };
    report.differ(found, findDifference(found));
    // Later differences of the case may follow from this one.
    return undefined;
  }
  return undefined;
}

async function compare({ seed, statements, examples }) {
  console.log(`seed ${seed}`);
  const reference = await Reference.open(PREPARE);
  const ours = await Ours.open(PREPARE);
  const generator = new Generator(seed);
  const report = new Report();
  while (report.statements < statements) {
    const cases = Array.from({ length: BATCH }, () => generator.next());
    const theirs = await runAll(reference, cases);
    for (const [i, each] of cases.entries()) {
      const outcomes = { ours: await ours.run(requestsOf(each)), reference: theirs[i] };
      await assess(report, each, outcomes, { ours, reference });
    }
  }
  await reference.close();
  await ours.close();
  console.log(report.text({ examples }));
  return report;
}

async function quickstart(checkout) {
  try {
    await runQuickstart(checkout);
  } catch (error) {
    console.error(`the quick start failed: ${error.message}`);
    process.exitCode = 1;
  }
}

const [word, checkout] = process.argv.slice(2);
const options = word === "quickstart" ? { checkout } : parseOptions(process.argv.slice(2));
if (options.checkout !== undefined) await quickstart(options.checkout);
else if (options.isHelp || word === "quickstart") console.log(HELP);
else {
  try {
    const report = await compare(options);
    const isEnough = report.agreement >= AGREEMENT_MIN;
    const isListedFew = report.listedCount / report.statements <= LISTED_MAX;
    process.exitCode = isEnough && isListedFew ? 0 : 1;
  } catch (error) {
    console.error(`failed to compare: ${error.message}`);
    console.error(
      "npm must be able to install the reference SDK on this machine (see bench/language/install.mjs)",
    );
    process.exitCode = 1;
  }
}
