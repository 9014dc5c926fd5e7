/**
 * Callers with permissions on a store in memory, and short ways to send their requests.
 */

import type { PeerError, Value, ValueObject } from "@bigpeer/protocol";
import type { WriteCommand, WriteResult } from "../../src/query/command/command.ts";
import { Authority } from "../../src/query/permission/authority.ts";
import { type AccessRule, readPermissions } from "../../src/query/permission/permissions.ts";
import type { StatementResult } from "../../src/query/request.ts";
import type { StatementRunner } from "../../src/query/statement-runner.ts";
import { rejection } from "./run-commands.ts";

/** Queries by collection; true for everything. */
export type Rules = true | { readonly [collection: string]: readonly string[] };

export interface Caller {
  readonly authority: Authority;
  readonly execute: (statement: string, args?: unknown) => Promise<StatementResult>;
  readonly rows: (statement: string, args?: unknown) => Promise<readonly Value[]>;
  /** The first column of the rows. */
  readonly column: (statement: string, args?: unknown) => Promise<unknown>;
  /** The PeerError of a statement that must fail. */
  readonly failure: (statement: string, args?: unknown) => Promise<PeerError>;
  readonly write: (...commands: WriteCommand[]) => Promise<readonly WriteResult[]>;
  readonly writeFailure: (...commands: WriteCommand[]) => Promise<PeerError>;
}

/** The first column of rows. */
export function columnOf(rows: readonly Value[]): (Value | undefined)[] {
  return rows.map((row) => Object.values(row as ValueObject)[0]);
}

export function authorityOf(read: Rules, write: Rules = {}, credential = "ada"): Authority {
  const permissions = { read: ruleOf(read), write: ruleOf(write), remoteQuery: false };
  return new Authority(readPermissions(permissions), credential);
}

function ruleOf(rules: Rules): AccessRule {
  return rules === true ? { everything: true } : { everything: false, queriesByCollection: rules };
}

export function callerOf(runner: StatementRunner, authority: Authority): Caller {
  const execute: Caller["execute"] = (statement, args) =>
    runner.execute({ statement, args, authority });
  const write: Caller["write"] = async (...commands) =>
    (await runner.write({ commands, isUnknownRefused: true, authority })).results;
  return {
    authority,
    execute,
    rows: async (statement, args) => (await execute(statement, args)).items,
    column: async (statement, args) => columnOf((await execute(statement, args)).items),
    failure: (statement, args) => rejection(execute(statement, args)),
    write,
    writeFailure: (...commands) => rejection(write(...commands)),
  };
}
