/**
 * Effective filters: the condition of a subscription with its arguments and the read rule of the peer
 * (S9, S10).
 *
 * Equal ones have equal hashes, whoever asks; so a hash must tell apart whatever could choose other
 * documents. It names the filter for as long as there are cursors, also in the next process.
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
import { SUBSCRIPTION_TOKENS_MAX, SUBSCRIPTION_VALUES_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import { located, semanticFault } from "../query/fault.ts";
import { type PreparedCondition, prepareParsedCondition } from "../query/live/live-statement.ts";
import type { Authority } from "../query/permission/authority.ts";
import { checkArguments, requireParameters } from "../query/plan/parameters.ts";
import { type Choice, compileChoice } from "../query/statement/choice.ts";
import { StatementCache } from "../query/statement/statement-cache.ts";
import { parseStatement } from "../query/syntax/parse-statement.ts";
import { printStatement } from "../query/syntax/print.ts";
import { isQueryTerm } from "../query/syntax/statement-walk.ts";

/** What the text of a subscription says. */
export interface StreamStatement extends PreparedCondition {
  readonly text: string;
  /** The same for all texts that differ in nothing but their form. */
  readonly normalText: string;
  /** How its documents are found without looking at all of them. */
  readonly choice: Choice;
}

/** A subscription that can be followed. */
export interface PreparedStream {
  readonly collection: string;
  /** 16 bytes, by which messages name the filter. */
  readonly filter: Uint8Array;
  /** The same as text: see filterKeyOf. */
  readonly filterKey: string;
  readonly statement: StreamStatement;
  /** Those that it uses. */
  readonly args: ValueObject;
  readonly authority: Authority | undefined;
  /** Set where another Big Peer follows (S50). */
  readonly link?: LinkFollower;
}

/** The store at the other end of a link. */
export interface LinkFollower {
  /** Its history: what came from there is not offered to it (S53). */
  readonly follower: string;
}

const FILTER_BYTES = 16;

/** A filter as the key of a map. */
export function filterKeyOf(filter: Uint8Array): string {
  return byteString(filter);
}

export class Filters {
  readonly #platform: Platform;
  readonly #statements = new StatementCache<StreamStatement>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Throws a PeerError for everything that is no subscription, or none for this peer (S9). */
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

  /** The same for another Big Peer, which may read everything, and names no arguments. */
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

/** What decides who may read what: true, or the queries of the collection. */
function ruleOf(authority: Authority | undefined, collection: string): Value {
  if (authority === undefined || authority.readRule(collection).isWhole) return true;
  const read = fieldOf(authority.value, "read");
  return fieldOf(fieldOf(read, "queriesByCollection"), collection) ?? [];
}

function fieldOf(value: Value | undefined, name: string): Value | undefined {
  return isObject(value) ? getField(value, name) : undefined;
}

/** Before they are looked at one by one; the walk ends at the bound. */
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
