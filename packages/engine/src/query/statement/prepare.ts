/**
 * Prepare: turns the text of a statement into a prepared statement: parse, bind, plan, compile.
 *
 * The result depends on the text alone, not on arguments, settings or data, so it can be cached and
 * run again.
 *
 * Parsing, planning and compiling each run without a pause. The documents of an INSERT can be many,
 * so there is a pause after each.
 */

import { unreachable } from "@bigpeer/protocol";
import { evaluationFault, semanticFault } from "../fault.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { transactionOf } from "../mutate/application.ts";
import { type CollectionUse, usesInSteps } from "../permission/collection-use.ts";
import { joinsMaxOf } from "../plan/directive.ts";
import { parametersInSteps } from "../plan/parameters.ts";
import { planQuery } from "../plan/select-plan.ts";
import type { Execution } from "../run/execution.ts";
import { parseInSteps } from "../syntax/parse-statement.ts";
import { subqueriesInSteps } from "../syntax/statement-walk.ts";
import type {
  AlterSystemStatement,
  ExecuteFunctionStatement,
  InsertStatement,
  ParameterNode,
  ParsedStatement,
  ProfileStatement,
  Query,
  Statement,
} from "../syntax/tree.ts";
import { settingOperations } from "../system/stored-settings.ts";
import { visibleSettings } from "../system/visible-settings.ts";
import { Failure, MISSING } from "../value/datum.ts";
import { advisePrepared } from "./advice.ts";
import { compileConstant, compileOutcome } from "./constant.ts";
import { compileCreateIndex, compileDropIndex } from "./definition.ts";
import { explainPrepared, profilePrepared } from "./explain.ts";
import { explainSyncPrepared } from "./explain-sync.ts";
import { withMistakeWarnings } from "./mistake-warnings.ts";
import { type CompiledMutation, compileInsert, compileRemove, compileUpdate } from "./mutation.ts";
import { compileResult } from "./select.ts";
import { runAlterSystem, runShow } from "./setting.ts";
import { hostSubqueries } from "./subquery-runner.ts";
import { type Prepared, quickRead, type RunWork, type Work } from "./work.ts";

export interface PreparedStatement extends Prepared {
  /** Text of the statement; undefined for a part of another one. */
  readonly text?: string;
  readonly kind: Statement["kind"];
  /** The required parameters. */
  readonly parameters: readonly ParameterNode[];
  /** The collections that it reads and writes. */
  readonly access: readonly CollectionUse[];
}

/** Prepares a statement. Throws a Fault for invalid text; `elapsed` is a monotonic clock. */
export function* prepareStatement(
  text: string,
  elapsed: () => number,
  onParsed?: () => void,
): Steps<PreparedStatement> {
  const start = elapsed();
  const parsed = yield* parseInSteps(text);
  const parseMs = elapsed() - start;
  onParsed?.();
  yield;
  return { ...(yield* prepareParsedInSteps(parsed, elapsed, parseMs)), text };
}

/** Prepares a parsed statement, also one inside another statement. */
export function prepareParsed(parsed: ParsedStatement, elapsed: () => number): PreparedStatement {
  return finish(prepareParsedInSteps(parsed, elapsed));
}

export function* prepareParsedInSteps(
  { statement, directives }: ParsedStatement,
  elapsed: () => number,
  parseMs: number = 0,
): Steps<PreparedStatement> {
  const options = { joinsMax: joinsMaxOf(directives), elapsed, parseMs };
  const made = yield* prepare(statement, options);
  yield;
  const plain = WARNED.has(statement.kind)
    ? { ...made, work: yield* withMistakeWarnings(made.work, statement) }
    : made;
  yield;
  const isHosted = yield* hasSubqueries(statement);
  const prepared = isHosted ? { ...plain, work: hostedWork(plain.work) } : plain;
  yield;
  const parameters = yield* parametersInSteps(statement);
  yield;
  return { ...prepared, kind: statement.kind, parameters, access: yield* usesInSteps(statement) };
}

/** Statements that select documents and can find none by mistake. */
const WARNED: ReadonlySet<string> = new Set(["select", "union", "insert", "update", "remove"]);

/** Also looks into the inner statement, as of EXPLAIN. */
function* hasSubqueries(statement: Statement): Steps<boolean> {
  if ((yield* subqueriesInSteps(statement)).length > 0) return true;
  return "statement" in statement && (yield* hasSubqueries(statement.statement));
}

/** Work of a statement that contains subqueries. */
function hostedWork({ kind, run, choose }: Work): Work {
  return { kind, run: hosting(run), choose: choose && hosting(choose) };
}

function hosting<T>(work: (execution: Execution) => Steps<T>): (execution: Execution) => Steps<T> {
  return function* host(execution) {
    const { hosted, finish: end } = hostSubqueries(execution);
    const output = yield* work(hosted);
    end();
    return output;
  };
}

interface Options {
  readonly joinsMax: number;
  readonly elapsed: () => number;
  /** Time that parsing took. */
  readonly parseMs: number;
}

function* prepare(statement: Statement, options: Options): Steps<Prepared> {
  switch (statement.kind) {
    case "select":
    case "union":
      return yield* prepareQuery(statement, options);
    case "insert":
      return yield* prepareInsert(statement, options);
    case "update":
      return mutation(yield* compileUpdate(statement), "update");
    case "remove":
      return mutation(yield* compileRemove(statement), statement.method);
    case "create_index":
      return definition(compileCreateIndex(statement), "createIndex", statement.name);
    case "drop_index":
      return definition(compileDropIndex(statement), "dropIndex", statement.name);
    case "explain":
      return explainPrepared(statement, yield* prepare(statement.statement, options));
    case "explain_sync":
      return explainSyncPrepared(statement);
    case "profile":
      return yield* prepareProfile(statement, options);
    case "advise":
      return advisePrepared(statement, yield* prepare(statement.statement, options));
    case "execute_function":
      return prepareCall(statement);
    case "show":
      return quickRead(({ system }) =>
        runShow(statement, system.settings).map((row) => visibleSettings(row, system)),
      );
    case "alter_system":
      return prepareAlterSystem(statement);
    case "sync_context":
      throw semanticFault("SYNC CONTEXT runs on peers: send it to remote_execute", statement.at);
    default:
      return unreachable(statement);
  }
}

function* prepareQuery(query: Query, { joinsMax }: Options): Steps<Prepared> {
  const plan = planQuery(query, joinsMax);
  yield;
  const run = compileResult(plan, (items) => ({ items, ids: [] }));
  return {
    queryType: "select",
    work: { kind: "read", run },
    plan: { kind: "query", plan },
  };
}

function* prepareInsert(statement: InsertStatement, { joinsMax }: Options): Steps<Prepared> {
  const { work, select: source } = yield* compileInsert(statement, joinsMax);
  const { into, conflict: onConflict } = statement;
  const plan = { kind: "insert", collection: into.name, source, onConflict } as const;
  return { queryType: "mutation", work, plan };
}

function mutation(compiled: CompiledMutation, operator: string): Prepared {
  const { work, choice } = compiled;
  return { queryType: "mutation", work, plan: { kind: "choice", choice, operator } };
}

function definition(run: RunWork, operator: string, name: string): Prepared {
  const plan = { kind: "definition", operator, name } as const;
  return { queryType: "mutation", work: { kind: "write", run }, plan };
}

function* prepareProfile({ statement }: ProfileStatement, options: Options): Steps<Prepared> {
  const { elapsed, parseMs } = options;
  const start = elapsed();
  const prepared = yield* prepare(statement, options);
  return profilePrepared(prepared, { parseMs, planMs: elapsed() - start, elapsed });
}

function prepareCall({ call }: ExecuteFunctionStatement): Prepared {
  const evaluate = compileOutcome(call);
  return quickRead((execution) => {
    const outcome = evaluate(execution);
    if (outcome instanceof Failure) throw evaluationFault(outcome.reason, outcome.at ?? call.at);
    return [outcome === undefined ? {} : { result: outcome }];
  });
}

/** The current settings change when the transaction is durable: see StatementRunner. */
function prepareAlterSystem(statement: AlterSystemStatement): Prepared {
  const { value } = statement;
  const evaluate = value === undefined ? () => MISSING : compileConstant(value);
  const run: RunWork = function* run(execution) {
    const draft = execution.system.settings.draft();
    const items = runAlterSystem(statement, evaluate(execution), draft);
    const transaction = transactionOf(execution);
    yield* transaction.applyInSteps(settingOperations(transaction.view, draft));
    return { items, ids: [] };
  };
  const work: Work = { kind: "write", run, changesSettings: true };
  return { queryType: "mutation", work, plan: undefined };
}
