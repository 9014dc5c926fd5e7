/**
 * `POST /store/execute`: runs one statement and always answers with a QueryResponse (H7).
 *
 * Strict clients parse the answer, so it has exactly the documented fields. A failure differs only
 * in its status and in `error.description`.
 */

import type { StatementResult, Warning } from "@bigpeer/engine/query";
import type { Value } from "@bigpeer/protocol";
import { idempotencyKeyOf, replayHeaders } from "./idempotency-key.ts";
import { type Call, type Operation, type Result, whileWanted } from "./operation.ts";
import { checkQueryRequest, type QueryRequest } from "./schemas.ts";

const PATH = "/store/execute";

export const EXECUTE: Operation<QueryRequest> = {
  name: "execute",
  path: PATH,
  check: checkQueryRequest,
  unreachedStatus: 404,
  isJsonOnly: true,
  failureBody: failedResponse,
  run: ({ statement, args }, call) => {
    const { app, request, credential } = call;
    const repeat = idempotencyKeyOf(call, PATH);
    const result = app.statements.start({
      statement,
      args,
      requestId: request.id,
      caller: credential.id,
      owner: credential.id,
      by: credential.writer,
      isStrict: isStrict(call) ? true : undefined,
      authority: credential.authority,
      repeat,
    });
    const answer = (each: StatementResult): Result => resultOf(each, call);
    return result instanceof Promise ? whileWanted(call, result).then(answer) : answer(result);
  },
};

function resultOf(result: StatementResult, call: Call): Result {
  const body = queryResponse(result);
  const isApplied = result.queryType === "mutation";
  return { body, isApplied, headers: replayHeaders(call, result.isReplay === true) };
}

/** An app may run statements of `/api/v4` in strict mode, as older clients expect. */
function isStrict({ app, place }: Call): boolean {
  return app.settings.isV4Strict && place.version === "v4";
}

/** QueryResponse of a successful statement. */
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

/** QueryResponse of any failed request. */
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
