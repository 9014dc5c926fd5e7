/**
 * `bigpeer query`: runs one statement. Without a statement it opens the shell on a terminal, and
 * runs the statements of standard input elsewhere.
 */

import type { BigPeerClient } from "@bigpeer/client";
import { splitStatements } from "@bigpeer/engine/language";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { EXIT, UsageError } from "../program/failure.ts";
import { isInteractive } from "../program/host.ts";
import { statementFailure } from "../shell/statement-failure.ts";
import { readArgument, readInput } from "./json-argument.ts";
import { PARAMETERS, parametersOf } from "./parameters.ts";
import { DATA, OUTPUT, own } from "./shared-options.ts";

export const QUERY: CommandDefinition = {
  name: "query",
  meaning: "run a statement, or open a shell for statements",
  group: "Work with documents",
  examples: [
    "query  # the shell",
    'query "SELECT * FROM tasks"',
    'query "SELECT * FROM tasks WHERE _id = :id" --param id=door',
    'query "INSERT INTO tasks DOCUMENTS (:task)" --args \'{"task": {"title": "Paint"}}\'',
    "query --file report.sql --format csv --output report.csv",
    "query < statements.sql  # each ends with ;",
  ],
  words: [
    { name: "statement", meaning: "one statement; @FILE reads it from a file", isOptional: true },
  ],
  groups: [
    own(
      ...PARAMETERS,
      { name: "file", argument: "FILE", meaning: "run the statements of a file" },
      { name: "continue-on-error", meaning: "run the next statement of a file after a failure" },
      { name: "explain", meaning: "show the plan and do not run it" },
      { name: "profile-run", meaning: "run it and show where the time goes" },
      { name: "time", meaning: "print the time of each statement" },
      {
        name: "txn-id",
        argument: "ID",
        meaning: "answer only when the server has this transaction",
      },
      { name: "timeout", argument: "SECONDS", meaning: "wait this long for the answer" },
    ),
    DATA,
    OUTPUT,
  ],
  run: query,
};

async function query(call: Call): Promise<number | void> {
  const { words, options, host, output } = call;
  const [statement] = words;
  const file = options.text("file");
  if (statement !== undefined && file !== undefined) {
    throw new UsageError("expected a statement or --file, found both");
  }
  if (statement !== undefined) return runOne(call, await readArgument(statement, host));
  if (file !== undefined) return runAll(call, await readArgument(`@${file}`, host));
  if (isInteractive(host) && output.isTerminal) {
    // Loaded on use: it is the largest part.
    const { openShell } = await import("../shell/shell.ts");
    return openShell(call);
  }
  return runAll(call, await readInput(host));
}

async function runOne(call: Call, statement: string): Promise<number> {
  const run = await prepare(call);
  await print(call, await run(statement));
  return EXIT.done;
}

/** Runs each statement of a text. Stops at the first failure, unless told otherwise. */
async function runAll(call: Call, text: string): Promise<number> {
  const run = await prepare(call);
  const { options, output } = call;
  const statements = splitStatements(text);
  if (statements.length === 0) throw new UsageError("expected a statement");
  let failed = 0;
  for (const { text: statement, line } of statements) {
    try {
      await print(call, await run(statement));
    } catch (error) {
      call.host.signal.throwIfAborted();
      if (!options.has("continue-on-error")) {
        output.note(`the statement at line ${line} failed`);
        throw error;
      }
      failed++;
      output.warn(`line ${line}: ${(error as Error).message}`);
    }
  }
  if (statements.length > 1) output.note(`${statements.length - failed} ok, ${failed} failed`);
  return failed === 0 ? EXIT.done : EXIT.failed;
}

interface Result {
  readonly queryType: string;
  readonly items: readonly Value[];
  readonly mutatedDocumentIds: readonly Value[];
  readonly warnings: readonly { readonly description: string }[];
  readonly elapsedMs: number;
}

async function prepare(call: Call): Promise<(statement: string) => Promise<Result>> {
  const { options, host } = call;
  const args = await parametersOf(call);
  const seconds = options.number("timeout");
  const client = dataClient(findAddresses(options, host), host, {
    timeoutMs: seconds && seconds * 1000,
  });
  const prefix = prefixOf(call);
  const txnId = options.number("txn-id", 0);
  return async (statement) => {
    const startMs = performance.now();
    const result = await execute(client, { statement: prefix + statement, args, txnId }, call);
    return { ...result, elapsedMs: performance.now() - startMs };
  };
}

interface Request {
  readonly statement: string;
  readonly args: ValueObject;
  readonly txnId: number | undefined;
}

async function execute(client: BigPeerClient, { statement, args, txnId }: Request, call: Call) {
  try {
    const { signal } = call.host;
    const result = await client.execute<Value>(statement, args, { txnId, signal });
    return { ...result, mutatedDocumentIds: result.mutatedDocumentIds as readonly Value[] };
  } catch (error) {
    throw statementFailure(error, statement);
  }
}

function prefixOf({ options }: Call): string {
  if (options.has("explain")) return "EXPLAIN ";
  return options.has("profile-run") ? "PROFILE " : "";
}

async function print({ output, options }: Call, result: Result): Promise<void> {
  for (const { description } of result.warnings) output.warn(description);
  const isData = result.queryType === "select" || output.format !== "table";
  if (isData) await output.rows(result.items, { empty: "no rows" });
  if (result.queryType !== "select") {
    const count = result.mutatedDocumentIds.length;
    output.note(`${count} ${count === 1 ? "document" : "documents"} changed`);
  }
  if (options.has("time")) output.note(`${result.elapsedMs.toFixed(1)} ms`);
}
