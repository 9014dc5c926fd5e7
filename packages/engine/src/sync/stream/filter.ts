/**
 * Effective filters: combines the condition of a subscription, its arguments and the read
 * permission of the peer (S9, S10).
 *
 * A hash identifies a filter. Equal filters of different peers have the same hash; filters that
 * could select different documents never have. Cursors contain it, so it is stable across restarts.
 */

import {
  byteString,
  canonicalBytes,
  getField,
  isObject,
  type MutableObject,
  PeerError,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { SUBSCRIPTION_TOKENS_MAX, SUBSCRIPTION_VALUES_MAX } from "../../limits.ts";
import type { Platform } from "../../platform.ts";
import { located, semanticFault } from "../../query/fault.ts";
import { type PreparedCondition, prepareParsedCondition } from "../../query/live/live-statement.ts";
import type { Authority } from "../../query/permission/authority.ts";
import { checkArguments, requireParameters } from "../../query/plan/parameters.ts";
import { type Choice, compileChoice } from "../../query/statement/choice.ts";
import { StatementCache } from "../../query/statement/statement-cache.ts";
import { parseStatement } from "../../query/syntax/parse-statement.ts";
import { printStatement } from "../../query/syntax/print.ts";
import { isQueryTerm } from "../../query/syntax/statement-walk.ts";

/** The parsed text of a subscription. */
export interface StreamStatement extends PreparedCondition {
  readonly text: string;
  /** Equal for texts that differ only in form. */
  readonly normalText: string;
  /** How to find its documents without reading all of them. */
  readonly choice: Choice;
}

/** A valid subscription with its filter. */
export interface PreparedStream {
  readonly collection: string;
  /** Hash of 16 bytes that identifies the filter in messages. */
  readonly filter: Uint8Array;
  /** The hash as a string: see filterKeyOf. */
  readonly filterKey: string;
  readonly statement: StreamStatement;
  /** Only the arguments that the statement uses. */
  readonly args: ValueObject;
  readonly authority: Authority | undefined;
  /** Set if the follower is another Big Peer (S50). */
  readonly link?: LinkFollower;
}

/** The store at the other end of a link. */
export interface LinkFollower {
  /** Its history: changes that came from there are not sent back (S53). */
  readonly follower: string;
}

const FILTER_BYTES = 16;

/** A filter hash as the key of a map. */
export function filterKeyOf(filter: Uint8Array): string {
  return byteString(filter);
}

export class Filters {
  readonly #platform: Platform;
  readonly #statements = new StatementCache<StreamStatement>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Throws a PeerError if the text is not a subscription, or not allowed for this peer (S9). */
  prepare(text: string, input: unknown, authority: Authority | undefined): PreparedStream {
    const statement = this.#statements.get(text, (missing) =>
      located(missing, () => prepareStatement(missing)),
    );
    return located(text, () => {
      authority?.require(statement.access);
      checkValueCount(input);
      const given = checkArguments(input);
      requireParameters(statement.parameters, given);
      const args = usedArguments(statement, given);
      const rule = ruleOf(authority, statement.plan.collection);
      return { ...this.#named(statement, args, rule), authority };
    });
  }

  /** The same for another Big Peer, which may read everything and passes no arguments. */
  prepareLink(text: string, follower: string): PreparedStream {
    const { authority, statement, args } = this.prepare(text, {}, undefined);
    const link: LinkFollower = { follower };
    return { ...this.#named(statement, args, ["link", follower]), authority, link };
  }

  #named(
    statement: StreamStatement,
    args: ValueObject,
    rule: Value,
  ): Omit<PreparedStream, "authority"> {
    const { collection } = statement.plan;
    const parts: Value = [collection, statement.normalText, args, rule];
    const filter = this.#platform.sha256(canonicalBytes(parts)).slice(0, FILTER_BYTES);
    return { collection, filter, filterKey: filterKeyOf(filter), statement, args };
  }
}

function prepareStatement(text: string): StreamStatement {
  const parsed = parseStatement(text, SUBSCRIPTION_TOKENS_MAX);
  const condition = prepareParsedCondition(parsed, text);
  const { statement } = parsed;
  if (statement.kind !== "select" || isQueryTerm(statement.from)) {
    throw semanticFault("expected SELECT * FROM a collection", statement.at);
  }
  const { from: term, where } = statement;
  const selection = { term, orderBy: [], ...(where && { where }) };
  const choice = compileChoice(selection, { purpose: "read", isIdsOnly: true, hasLimit: true });
  return { ...condition, text, normalText: printStatement(statement), choice };
}

function usedArguments({ parameters }: StreamStatement, given: ValueObject): ValueObject {
  const args: MutableObject = {};
  for (const { name } of parameters) setField(args, name, getField(given, name) as Value);
  return args;
}

/** The read permission as part of the hash: true, or the queries of the collection. */
function ruleOf(authority: Authority | undefined, collection: string): Value {
  if (authority === undefined || authority.readRule(collection).isWhole) return true;
  const read = fieldOf(authority.value, "read");
  return fieldOf(fieldOf(read, "queriesByCollection"), collection) ?? [];
}

function fieldOf(value: Value | undefined, name: string): Value | undefined {
  return isObject(value) ? getField(value, name) : undefined;
}

/** Counts the values before they are checked one by one, and stops at the limit (S68). */
function checkValueCount(args: unknown): void {
  const open: unknown[] = [args];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null || next instanceof Uint8Array) continue;
    for (const part of Object.values(next)) {
      if (++count > SUBSCRIPTION_VALUES_MAX) {
        const expected = `at most ${SUBSCRIPTION_VALUES_MAX} values in the arguments of a subscription`;
        throw new PeerError("query.arguments", `expected ${expected}, found more at args`);
      }
      open.push(part);
    }
  }
}
