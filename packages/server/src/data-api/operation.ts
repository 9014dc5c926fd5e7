/**
 * Operation: description of one operation of the data API, and the endpoint made from it. The
 * endpoint checks the body, waits for the transaction that the request must see, and runs the
 * operation.
 */

import type { StatementRunner } from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import type { Value } from "@bigpeer/protocol";
import { ownerOf } from "../auth/credential.ts";
import { type Answer, type Headers, NO_HEADERS } from "../http/answer.ts";
import { type Endpoint, type FailureBody, messageBody } from "../http/router.ts";
import { INTAKE } from "../limits/intake.ts";
import type { AppSettings } from "../registry/app.ts";
import type { RemoteExecution } from "../sync/remote-execution.ts";
import type { Check } from "../validation/schema.ts";
import { awaitTransaction, wantedTransaction } from "./consistency.ts";
import type { DataApp, DataCall, DataGate } from "./data-gate.ts";

/** An app as operations use it. */
export interface OperatedApp extends DataApp {
  readonly name: string;
  readonly store: Store;
  readonly statements: StatementRunner;
  readonly settings: AppSettings;
}

export type Call = DataCall<OperatedApp>;

/** Result of an operation that succeeds with status 200. */
export interface Result {
  readonly body: Value;
  readonly headers?: Headers | undefined;
  /** Whether something was written; see Answer. */
  readonly isApplied?: boolean;
  /** See Answer. */
  readonly innerList?: string;
}

export interface Operation<Request> {
  readonly name: string;
  readonly path: string;
  readonly check: Check<Request>;
  readonly run: (request: Request, call: Call, host: OperationHost) => Result | Promise<Result>;
  /**
   * Status when the transaction of X-SERVICE-TXN-ID is not reached in time; undefined when the
   * operation ignores the header.
   */
  readonly unreachedStatus: number | undefined;
  readonly isJsonOnly?: boolean;
  readonly failureBody?: FailureBody;
}

export interface OperationHost {
  readonly gate: DataGate<OperatedApp>;
  readonly transactionWaitMs: number;
  /** See Config. */
  readonly publicUrl: string | undefined;
  readonly remote: Pick<RemoteExecution, "run">;
}

export function operationEndpoint<Request>(
  host: OperationHost,
  operation: Operation<Request>,
): Endpoint {
  const { gate, transactionWaitMs: waitMs } = host;
  const { name, path, check, run, unreachedStatus: status, isJsonOnly = false } = operation;
  // Most calls have nothing to wait for once their body is decoded, so no promise is created.
  const perform = (call: Call): Answer | Promise<Answer> => {
    const request = check(call.body);
    const wanted = status === undefined ? undefined : wantedTransaction(call.request.headers);
    if (wanted === undefined || status === undefined) return answerOf(run(request, call, host));
    const onHangUp = (leave: () => void): (() => void) => call.request.onHangUp(leave);
    const turn = (): Promise<void> => INTAKE.turn(ownerOf(call.app.id, call.credential));
    const wait = { waitMs, status, onHangUp, turn };
    const isThere = awaitTransaction(call.app.store, wanted, wait);
    return isThere.then(() => answerOf(run(request, call, host)));
  };
  return {
    name,
    path,
    methods: ["POST"],
    isJsonOnly,
    failureBody: operation.failureBody ?? messageBody,
    answer: (request, place) => gate.admit(request, place, perform),
  };
}

function answerOf(result: Result | Promise<Result>): Answer | Promise<Answer> {
  if (result instanceof Promise) return result.then(answerOf);
  const { body, headers = NO_HEADERS, isApplied = false, innerList } = result;
  return { status: 200, headers, body: { kind: "value", value: body }, isApplied, innerList };
}

/** Awaits `work`. When the client disconnects, stops it, unless it is an accepted write (H17). */
export async function whileWanted<T>({ app, request }: Call, work: Promise<T>): Promise<T> {
  const stop = request.onHangUp(() => app.statements.cancel(request.id, "the client left"));
  try {
    return await work;
  } finally {
    stop();
  }
}
