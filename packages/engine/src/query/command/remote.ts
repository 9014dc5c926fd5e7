/**
 * Remote statements: the check of a text that is meant for other peers, before any of them is asked.
 */

import { semanticFault } from "../fault.ts";
import {
  checkArguments,
  parametersIn,
  parametersOf,
  requireParameters,
} from "../plan/parameters.ts";
import { bindExpression, Slots } from "../plan/scope.ts";
import { prepareParsed } from "../statement/prepare.ts";
import { parseStatement } from "../syntax/parse-statement.ts";
import type { Expression } from "../syntax/tree.ts";

/** Throws a Fault, or a PeerError when the arguments are none. */
export function checkRemoteStatement(text: string, args: unknown): void {
  const { statement, directives } = parseStatement(text);
  if (statement.kind !== "sync_context") {
    const expected = "SYNC CONTEXT ( PEERS [WHERE …] ) and then the statement for these peers";
    throw semanticFault(`expected ${expected}`, statement.at);
  }
  const { where, statement: inner } = statement;
  if (where !== undefined) bindPeers(where);
  prepareParsed({ statement: inner, directives }, () => 0);
  const needed = [...(where === undefined ? [] : parametersIn(where)), ...parametersOf(inner)];
  requireParameters(needed, checkArguments(args));
}

/** The condition reads what is known of one peer. */
function bindPeers(where: Expression): void {
  const slots = new Slots();
  bindExpression(where, { slots, terms: [{ alias: "peers", slot: slots.take() }], variables: [] });
}
