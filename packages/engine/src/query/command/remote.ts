/**
 * Remote statements: parses `SYNC CONTEXT ( PEERS [WHERE …] ) statement`, validates the inner
 * statement and selects the peers that it is for. The server sends the statement to them.
 */

import { getField, type MutableObject, setField, type ValueObject } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import { semanticFault } from "../fault.ts";
import { newFrame } from "../frame/frame.ts";
import { finish, type Steps } from "../frame/steps.ts";
import {
  checkArguments,
  parametersIn,
  parametersOf,
  requireParameters,
} from "../plan/parameters.ts";
import { bindExpression, Slots } from "../plan/scope.ts";
import { type Execution, warnOf } from "../run/execution.ts";
import { prepareParsedInSteps } from "../statement/prepare.ts";
import { parseInSteps } from "../syntax/parse-statement.ts";
import { namedParameters } from "../syntax/statement-walk.ts";
import type { Expression, ParameterNode, Statement } from "../syntax/tree.ts";
import type { SystemRow } from "../system/system-collections.ts";
import { Failure } from "../value/datum.ts";

/** The selected peers, and the statement and arguments to send to them. */
export interface ChosenPeers {
  readonly selected: readonly SystemRow[];
  /** Text of the inner statement, with its directives. */
  readonly statement: string;
  /** The arguments that the inner statement names. */
  readonly args: ValueObject;
  /** Whether the statement writes on the peer. */
  readonly isWrite: boolean;
}

export interface PreparedRemote {
  /** All required parameters, of the peer condition and of the inner statement. */
  readonly parameters: readonly ParameterNode[];
  readonly choose: (rows: Iterable<SystemRow>, execution: Execution) => Steps<ChosenPeers>;
}

/** Validates a remote statement. Throws a Fault for the text, a PeerError for invalid arguments. */
export function checkRemoteStatement(text: string, args: unknown): void {
  requireParameters(finish(prepareRemote(text)).parameters, checkArguments(args));
}

/** Parses and compiles a remote statement. Throws a Fault for an invalid text. */
export function* prepareRemote(text: string): Steps<PreparedRemote> {
  const { statement, directives } = yield* parseInSteps(text);
  yield;
  if (statement.kind !== "sync_context") {
    const expected = "SYNC CONTEXT ( PEERS [WHERE …] ) and then the statement for these peers";
    throw semanticFault(`expected ${expected}`, statement.at);
  }
  const { where, statement: inner } = statement;
  if (inner.kind === "sync_context") {
    throw semanticFault("expected a statement for these peers, found SYNC CONTEXT again", inner.at);
  }
  const isChosen = where === undefined ? undefined : compileCondition(where);
  yield;
  const { queryType, work } = yield* prepareParsedInSteps(
    { statement: inner, directives },
    () => 0,
  );
  const isWrite = queryType === "mutation" || work.kind === "write";
  yield;
  const forPeers = yield* textFrom(text, inner, directives);
  yield;
  const names = new Set(namedParameters(inner).map(({ name }) => name));
  const choose: PreparedRemote["choose"] = function* choose(rows, execution) {
    const selected: SystemRow[] = [];
    for (const row of rows) {
      if (isChosen?.(row, execution) ?? true) selected.push(row);
      yield;
    }
    const args = argumentsOf(names, execution.run.args);
    return { selected, statement: forPeers, args, isWrite };
  };
  const chosenBy = where === undefined ? [] : parametersIn(where);
  return { parameters: [...chosenBy, ...parametersOf(inner)], choose };
}

type Condition = (row: SystemRow, execution: Execution) => boolean;

/** Compiles the condition on the row of one peer. A failed evaluation counts as false. */
function compileCondition(where: Expression): Condition {
  const slots = new Slots();
  const slot = slots.take();
  const terms = [{ alias: "peers", slot }];
  const evaluate = compile(bindExpression(where, { slots, terms, variables: [] }));
  return (row, execution) => {
    const { run } = execution;
    run.budget.startRow();
    run.budget.step();
    const frame = newFrame(run, slots.count);
    frame.slots[slot] = row;
    const outcome = evaluate(frame);
    if (outcome instanceof Failure) warnOf(execution, outcome, row);
    return outcome === true;
  };
}

/** The text of the inner statement. Directives before it are for the peers too. */
function* textFrom(text: string, inner: Statement, directives: readonly string[]): Steps<string> {
  const own = text.slice(inner.at).trimEnd();
  const { directives: within } = yield* parseInSteps(own);
  const before = directives.slice(0, directives.length - within.length);
  return [...before.map(directiveComment), own].join(" ");
}

/** A directive that contains the end of a comment must have stood on a line of its own. */
function directiveComment(directive: string): string {
  return directive.includes("*/") ? `--+ ${directive}\n` : `/*+ ${directive} */`;
}

function argumentsOf(names: ReadonlySet<string>, given: ValueObject): ValueObject {
  const args: MutableObject = {};
  for (const name of names) {
    const value = getField(given, name);
    if (value !== undefined) setField(args, name, value);
  }
  return args;
}
