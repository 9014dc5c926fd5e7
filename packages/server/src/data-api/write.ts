/**
 * `POST /store/write`: runs a batch of commands in one transaction, all or none (H26).
 */

import type {
  BatchResult,
  WriteCommand as EngineCommand,
  WriteResult as EngineResult,
} from "@bigpeer/engine/query";
import { PeerError, unreachable, type Value } from "@bigpeer/protocol";
import { Refusal, refusalOf } from "../http/refusal.ts";
import { idempotencyKeyOf, replayHeaders } from "./idempotency-key.ts";
import type { Call, Operation, Result } from "./operation.ts";
import { checkWriteRequest, type WriteCommand, type WriteRequest } from "./schemas.ts";

const PATH = "/store/write";

export const WRITE: Operation<WriteRequest> = {
  name: "write",
  path: PATH,
  check: checkWriteRequest,
  unreachedStatus: 400,
  run: ({ commands }, call) => {
    const { app, request, credential } = call;
    const repeat = idempotencyKeyOf(call, PATH);
    const written = app.statements.write({
      commands: commands.map(engineCommand),
      isUnknownRefused: !app.settings.isUnknownEmpty,
      requestId: request.id,
      owner: credential.id,
      by: credential.writer,
      authority: credential.authority,
      repeat,
    });
    return written.then((result) => resultOf(result, call), refuse);
  },
};

function resultOf({ results, transactionId, isReplay }: BatchResult, call: Call): Result {
  const body = { results: results.map((result) => resultValue(result, transactionId)) };
  return { body, isApplied: true, headers: replayHeaders(call, isReplay) };
}

/** Only this operation refuses a known caller without permission with 403. */
function refuse(error: unknown): never {
  const isDenied = error instanceof PeerError && error.code === "permission.denied";
  throw isDenied ? new Refusal(403, refusalOf(error)?.message ?? error.message) : error;
}

/** Removes null options: the engine expects them to be absent. */
function engineCommand(command: WriteCommand, index: number): EngineCommand {
  if (command.method !== "upsert") return command;
  if (command.id === undefined && Object.hasOwn(command, "_id")) throw misplacedId(index);
  if (command.valueTypeOverrides === undefined) return command as EngineCommand;
  const { valueTypeOverrides, ...rest } = command;
  // To a schema, an empty binary value is an object without fields.
  if (valueTypeOverrides instanceof Uint8Array) {
    const at = `commands[${index}].valueTypeOverrides`;
    throw new PeerError("value.invalid", "expected an object, found binary", { at });
  }
  return valueTypeOverrides ? { ...rest, valueTypeOverrides } : rest;
}

/** If ignored like other unknown fields, it would create a document with an unexpected id. */
function misplacedId(index: number): PeerError {
  const message = "expected the id of the document in `id`, found `_id`";
  return new PeerError("value.invalid", message, {
    at: `commands[${index}]`,
    hint: "did you mean id?",
  });
}

function resultValue(result: EngineResult, transactionId: number): Value {
  const { method } = result;
  switch (method) {
    case "update": {
      const { updated, error, internalError, permissionDenied } = result;
      return { method, transactionId, updated, error, internalError, permissionDenied };
    }
    case "upsert":
      return { method, transactionId };
    case "remove": {
      const { deleted, internalError, permissionDenied } = result;
      return { method, transactionId, deleted, internalError, permissionDenied };
    }
    default:
      return unreachable(method);
  }
}
