/**
 * Statements of the console: they run with full permission under the session.
 */
import type { ReadAs } from "../values/read-as.ts";
import { request } from "./request.ts";
import { ofApp } from "./session.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface StatementWarning {
  readonly description: string;
  readonly _id?: unknown;
}

export interface StatementResult<Row = Fields> {
  readonly queryType: string;
  readonly items: readonly Row[];
  readonly mutatedDocumentIds: readonly unknown[];
  readonly warnings: readonly StatementWarning[];
  readonly totalWarningsCount: number;
  readonly transactionId?: number;
}

export interface StatementOptions {
  readonly args?: Fields;
  readonly as?: ReadAs;
  readonly signal?: AbortSignal;
}

/** A failure is an `ApiError` with the description of the server, which names the place in the text. */
export function execute<Row = Fields>(
  app: string,
  statement: string,
  { args = {}, as, signal }: StatementOptions = {},
): Promise<StatementResult<Row>> {
  return request<StatementResult<Row>>(ofApp(app, "/store/execute"), {
    method: "POST",
    body: as === undefined ? { statement, args } : { statement, args, as },
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The rows alone. */
export async function rowsOf<Row = Fields>(
  app: string,
  statement: string,
  options: StatementOptions = {},
): Promise<readonly Row[]> {
  return (await execute<Row>(app, statement, options)).items;
}
