/**
 * Batches of commands on a store in memory, and short ways to send them and to look at what they
 * left.
 */

import { PeerError, type Value } from "@bigpeer/protocol";
import type { Platform } from "../../src/platform.ts";
import type {
  FieldCommand,
  UpdateCommand,
  UpdateResult,
  UpsertCommand,
  WriteCommand,
  WriteResult,
} from "../../src/query/command/command.ts";
import type { StatementLimits } from "../../src/query/task/runner-context.ts";
import type { StoredDocument } from "../../src/store/view.ts";
import { openStatements, type Statements } from "./run-statements.ts";

export const COLLECTION = "cars";

export interface Commands extends Statements {
  /** The results of a batch. */
  readonly write: (...commands: WriteCommand[]) => Promise<readonly WriteResult[]>;
  /** The PeerError of a batch that must fail. */
  readonly writeFailure: (...commands: WriteCommand[]) => Promise<PeerError>;
  /** Updates all documents. */
  readonly update: (...commands: FieldCommand[]) => Promise<UpdateResult>;
  readonly document: (id: Value) => StoredDocument | undefined;
  readonly fields: (id: Value) => Value | undefined;
  /** Makes the content of an attachment known. */
  readonly attach: (id: string, len: number) => Promise<void>;
}

export async function openCommands(
  limits: Partial<StatementLimits> = {},
  change: Partial<Platform> = {},
): Promise<Commands> {
  const opened = await openStatements(limits, change);
  const { runner, store } = opened;
  const write: Commands["write"] = async (...commands) =>
    (await runner.write({ commands, isUnknownRefused: true })).results;
  const document = (id: Value): StoredDocument | undefined =>
    store.read((view) => view.get(COLLECTION, id));
  return {
    ...opened,
    write,
    writeFailure: (...commands) => rejection(write(...commands)),
    update: async (...commands) => (await write(updateOf("true", ...commands)))[0] as UpdateResult,
    document,
    fields: (id) => document(id)?.fields,
    attach: async (id, len) => {
      await store.transact((transaction) =>
        transaction.apply([{ kind: "attach", id, len, by: "test" }]),
      );
    },
  };
}

export async function rejection(work: Promise<unknown>): Promise<PeerError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof PeerError) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

export function upsertOf(
  value: Value,
  more: Pick<UpsertCommand, "id" | "valueTypeOverrides"> = {},
): UpsertCommand {
  return { method: "upsert", collection: COLLECTION, value, ...more };
}

export function updateOf(query: string, ...commands: FieldCommand[]): UpdateCommand {
  return { method: "update", collection: COLLECTION, query, commands };
}

export function fieldOf(method: FieldCommand["method"], path: string, value: Value): FieldCommand {
  return { method, path, value };
}
