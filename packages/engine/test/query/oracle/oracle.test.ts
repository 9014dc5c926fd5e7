/**
 * The slow obvious evaluator is itself held to the recorded cases, so that it may judge the engine.
 */
import { isArray, type Value, type ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { isQueryTerm, termsOf } from "../../../src/query/syntax/statement-walk.ts";
import type { CollectionRef, SelectStatement } from "../../../src/query/syntax/tree.ts";
import { type Case, nameCollections, readCases } from "../../conformance/cases.ts";
import { DIFFERENCES } from "../../conformance/differences.ts";
import { compareLists } from "../../conformance/runner.ts";
import { oracleRun } from "./oracle-run.ts";
import { checkRows, type Documents, queryRows } from "./select.ts";

/** Functions are shared with the engine and have tests of their own. */
const AREAS = ["literals", "operators", "select"];
const NAMES = { c: "things", c2: "others" };
const PLAIN_INSERT = /^INSERT INTO (things|others) DOCUMENTS \(:d\d+\)(, \(:d\d+\))*$/;

/** A recorded SELECT over documents that were put there as they are. */
interface Question {
  readonly name: string;
  readonly statement: SelectStatement;
  readonly args: ValueObject;
  readonly documents: Documents;
  readonly expected: Case["expect"];
}

function questionOf(given: Case): Question | undefined {
  const {
    setup = [],
    statement: text,
    args = {},
    expect: expected,
    ...rest
  } = nameCollections(given, NAMES);
  const isRequired = rest.suspect === undefined && rest.superset !== true;
  if (!isRequired || expected.items === undefined || !/^\s*select/i.test(text)) return undefined;
  if (DIFFERENCES.has(given.name)) return undefined;
  const inserts = setup.filter((step) => !step.statement.startsWith("CREATE INDEX"));
  if (!inserts.every((step) => PLAIN_INSERT.test(step.statement))) return undefined;
  const { statement } = parseStatement(text);
  if (statement.kind !== "select") return undefined;
  const terms = termsOf(statement);
  if (!terms.every((term) => !isQueryTerm(term) && isPlain(term.collection))) return undefined;
  const documents: Documents = ({ name }) => {
    if (name === "dual") return [{ _id: "1", dummy: "X" }];
    const steps = inserts.filter((step) => PLAIN_INSERT.exec(step.statement)?.[1] === name);
    return steps.flatMap((step) => Object.values(step.args ?? {}).flatMap(documentsOf));
  };
  return { name: given.name, statement, args, documents, expected };
}

/** An array stands for several documents. */
function documentsOf(argument: Value): ValueObject[] {
  return (isArray(argument) ? argument : [argument]) as ValueObject[];
}

function isPlain({ namespace = "default", name, types }: CollectionRef): boolean {
  if (namespace === "system") return name === "dual";
  return namespace === "default" && types === undefined;
}

const questions = readCases()
  .filter(({ name }) => AREAS.includes(name.split("/", 1)[0] ?? ""))
  .map(questionOf)
  .filter((question) => question !== undefined);

function answer({ statement, args, documents, expected }: Question): string | undefined {
  const rows = queryRows(statement, documents, oracleRun(args));
  const items = expected.items ?? [];
  const all = rows.runs.flat();
  const isCut = rows.offset > 0 || rows.limit < all.length;
  if (isCut || (expected.ordered === true && statement.orderBy.length > 0)) {
    return checkRows(rows, items);
  }
  return compareLists(items, all, false);
}

test("many of the recorded cases can be asked", () => {
  expect(questions.length).toBeGreaterThan(800);
});

function complaintAbout(question: Question): string[] {
  try {
    const difference = answer(question);
    return difference === undefined ? [] : [`${question.name}: ${difference}`];
  } catch (error) {
    return [`${question.name}: ${String(error)}`];
  }
}

test("the evaluator answers every recorded SELECT as recorded", () => {
  expect(questions.flatMap(complaintAbout)).toEqual([]);
});
