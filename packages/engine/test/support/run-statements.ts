/**
 * A runner of statements on a store in memory, and short ways to use it.
 */

import type { Value } from "@bigpeer/protocol";
import { PeerError } from "@bigpeer/protocol";
import type { Platform } from "../../src/platform.ts";
import type { StatementRequest, StatementResult } from "../../src/query/request.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import type { StatementLimits } from "../../src/query/task/runner-context.ts";
import { type OpenStore, openStore } from "./open-store.ts";

export interface Statements extends OpenStore {
  readonly runner: StatementRunner;
  readonly execute: (statement: string, args?: unknown) => Promise<StatementResult>;
  readonly rows: (statement: string, args?: unknown) => Promise<readonly Value[]>;
  /** The PeerError of a statement that must fail. */
  readonly failure: (statement: string, args?: unknown) => Promise<PeerError>;
}

export async function openStatements(
  limits: Partial<StatementLimits> = {},
  change: Partial<Platform> = {},
): Promise<Statements> {
  const opened = await openStore();
  const platform = { ...opened.platform, ...change };
  const runner = new StatementRunner({ store: opened.store, platform, appId: "test", limits });
  const execute = (statement: string, args?: unknown): Promise<StatementResult> =>
    runner.execute({ statement, args });
  return {
    ...opened,
    runner,
    execute,
    rows: async (statement, args) => (await execute(statement, args)).items,
    failure: (statement, args) => failureOf(runner, { statement, args }),
  };
}

export async function failureOf(
  runner: StatementRunner,
  request: StatementRequest,
): Promise<PeerError> {
  try {
    await runner.execute(request);
  } catch (error) {
    if (error instanceof PeerError) return error;
    throw error;
  }
  throw new Error(`expected a failure of ${request.statement}`);
}

/** `count` small documents: `_id` 0…, `n` the same number, `k` one of ten. */
export function numbered(count: number): Value[] {
  return Array.from({ length: count }, (_, i) => ({ _id: i, n: i, k: i % 10 }));
}
