/**
 * `POST /store/execute`: runs one statement, answers with a QueryResponse whatever happens.
 *
 * Strict clients read the answer, so it has the fields of the interface and no others; a failure
 * differs in its status and in `error.description` alone.
 */

import type { StatementRequest, StatementResult, Warning } from "@bigpeer/engine";
import { checkValue, getField, isObject, PeerError, type Value } from "@bigpeer/protocol";
import { createAnswer } from "../http/answer.ts";
import type { Endpoint } from "../http/router.ts";
import type { DataApp, DataGate } from "./data-gate.ts";

/** What runs the statements of an app. */
export interface Statements {
  execute(request: StatementRequest): Promise<StatementResult>;
  /** Stops the running statement of this request. */
  cancel(requestId: string, reason: string): boolean;
}

export interface StatementApp extends DataApp {
  readonly statements: Statements;
}

export interface QueryRequest {
  readonly statement: string;
  readonly args?: Value;
}

export function executeEndpoint<App extends StatementApp>(gate: DataGate<App>): Endpoint {
  return {
    path: "/store/execute",
    methods: ["POST"],
    failureBody: failedResponse,
    answer: (request, place) =>
      gate.admit(request, place, async ({ app, requestId, body, onHangUp }) => {
        const query = checkQueryRequest(body);
        // Nobody waits for the rows any more; a write that is on its way goes on.
        const stop = onHangUp(() => app.statements.cancel(requestId, "the client left"));
        try {
          const result = await app.statements.execute({ ...query, requestId });
          return createAnswer(200, queryResponse(result));
        } finally {
          stop();
        }
      }),
  };
}

/** Throws PeerError `value.invalid`, which names the place. Fields of others are left alone. */
export function checkQueryRequest(body: Value): QueryRequest {
  if (!isObject(body)) throw expected("an object with a statement", body, "the body");
  const statement = getField(body, "statement");
  if (typeof statement !== "string") throw expected("text", statement, "statement");
  checkValue(statement, "statement");
  const args = getField(body, "args");
  if (args === undefined || args === null) return { statement };
  if (!isObject(args)) throw expected("an object with named values", args, "args");
  return { statement, args: checkValue(args, "args") };
}

/** The QueryResponse of a statement that ran. */
export function queryResponse(result: StatementResult): Value {
  const { queryType, items, mutatedDocumentIds, totalWarningsCount, transactionId } = result;
  return {
    queryType,
    items,
    mutatedDocumentIds,
    warnings: result.warnings.map(warningValue),
    totalWarningsCount,
    transactionId,
    error: {},
  };
}

/** The QueryResponse of a request that failed, wherever that was. */
export function failedResponse(description: string): Value {
  return {
    queryType: "unknown",
    items: [],
    mutatedDocumentIds: [],
    warnings: [],
    totalWarningsCount: 0,
    error: { description },
  };
}

function warningValue({ description, _id }: Warning): Value {
  return _id === undefined ? { description } : { description, _id };
}

function expected(what: string, found: Value | undefined, at: string): PeerError {
  const message = `expected ${what}, found ${kindOf(found)}`;
  return new PeerError("value.invalid", message, { at });
}

function kindOf(value: Value | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value instanceof Uint8Array) return "binary";
  switch (typeof value) {
    case "object":
      return "an object";
    case "string":
      return "text";
    case "boolean":
      return "a boolean";
    default:
      return "a number";
  }
}
