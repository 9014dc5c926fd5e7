/**
 * `POST …/app/{app}/store/execute`: runs a statement with full permission, or with the permissions
 * of another caller (`as`). Body and answer are those of the data API otherwise. `…/store/findbyid`
 * reads one document, also with the CRDT types of its fields.
 */

import type { StatementRunner } from "@bigpeer/engine/query";
import { PeerError, stringifyJson } from "@bigpeer/protocol";
import type { Credential } from "../auth/credential.ts";
import type { DataApi, DataApiOptions } from "../data-api/data-api.ts";
import { EXECUTE } from "../data-api/execute.ts";
import { FIND_BY_ID } from "../data-api/find-by-id.ts";
import {
  type Call,
  type Operation,
  type OperationHost,
  operationEndpoint,
  type Result,
} from "../data-api/operation.ts";
import type { FindByIdRequest } from "../data-api/schemas.ts";
import type { HttpRequest } from "../http/http-request.ts";
import { Refusal, refusalOf } from "../http/refusal.ts";
import type { Endpoint } from "../http/router.ts";
import { cutStatement } from "../observability/log-events.ts";
import type { AuditAction } from "../registry/audit-log.ts";
import type { Registry } from "../registry/registry.ts";
import { problemBody } from "./problem.ts";
import { type ConsoleQuery, checkConsoleQuery } from "./schemas.ts";
import { type SeenBy, seenCredential } from "./see-as.ts";

/** Writes entries about the use of an app to the audit log. */
export interface Audit {
  /** Resolves when the entry is durable. */
  record(request: HttpRequest, app: string, action: UseOfApp): Promise<void>;
  /** As `record`, without waiting: for what changes nothing. A failure is logged. */
  note(request: HttpRequest, app: string, action: UseOfApp): void;
}

export type UseOfApp = Omit<AuditAction, "target">;

/** A longer text is not prepared before it runs, which would delay other requests. */
const READ_LENGTH_MAX: number = 16 * 1024;

export interface ConsoleExecuteHost {
  readonly registry: Registry;
  readonly gate: DataApi["gate"];
  readonly data: Pick<DataApiOptions, "config" | "remote">;
  readonly audit: Audit;
}

export function consoleExecute(given: ConsoleExecuteHost): Endpoint {
  const { registry, audit } = given;
  const operation: Operation<ConsoleQuery> = {
    ...EXECUTE,
    check: checkConsoleQuery,
    run: async (query, call, host) => {
      const { as, ...request } = query;
      const seen = as ?? undefined;
      const caller = seen && { seen, credential: credentialOf(registry, call, seen) };
      const statement = cutStatement(query.statement);
      const detail = seen === undefined ? statement : `${shownAs(seen)}: ${statement}`;
      const used = { action: "store.execute", detail };
      if (seen !== undefined || isReading(call.app.statements, query.statement)) {
        audit.note(call.request, call.app.name, used);
      } else {
        await audit.record(call.request, call.app.name, used);
      }
      if (caller === undefined) return EXECUTE.run(request, call, host);
      checkReading(call.app.statements, query.statement);
      return asSeen(() => EXECUTE.run(request, seenCall(call, caller.credential), host));
    },
  };
  return operationEndpoint(hostOf(given), operation);
}

export function consoleFindById(given: ConsoleExecuteHost): Endpoint {
  const operation: Operation<FindByIdRequest> = {
    ...FIND_BY_ID,
    failureBody: problemBody,
    run: (request, call, host) => {
      const detail = cutStatement(`${request.collection} ${stringifyJson(request.id)}`);
      given.audit.note(call.request, call.app.name, { action: "store.findById", detail });
      return FIND_BY_ID.run(request, call, host);
    },
  };
  return operationEndpoint(hostOf(given), operation);
}

function hostOf({ gate, data }: ConsoleExecuteHost): OperationHost {
  const { config, remote } = data;
  return { gate, transactionWaitMs: config.transactionWaitMs, publicUrl: undefined, remote };
}

function credentialOf(registry: Registry, { app }: Call, seen: SeenBy): Credential {
  return seenCredential(registry, registry.apps.named(app.name), seen);
}

/** The request is one of the console, in its history as well; only what it sees is of the other. */
function seenCall(call: Call, { authority }: Credential): Call {
  return { ...call, credential: { ...call.credential, authority } };
}

/** Whether a text is known to change nothing. */
function isReading(statements: StatementRunner, text: string): boolean {
  if (text.length > READ_LENGTH_MAX) return false;
  try {
    return statements.prepare(text).work.kind === "read";
  } catch {
    // An invalid text changes nothing; its error comes when it runs.
    return true;
  }
}

/** Refuses a statement that writes before it runs, whatever the other caller may write. */
function checkReading(statements: StatementRunner, text: string): void {
  const { queryType, work } = statements.prepare(text);
  if (queryType === "select" && work.kind === "read") return;
  const message =
    "expected a statement that reads: nothing is written with the permissions of others";
  throw new Refusal(403, `${message} (permission.denied)`);
}

/** What the other caller may not do is no reason to sign in again. */
async function asSeen(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PeerError) || error.code !== "permission.denied") throw error;
    throw new Refusal(403, refusalOf(error)?.message ?? error.message);
  }
}

function shownAs({ key, provider, userId }: SeenBy): string {
  if (key !== undefined && key !== null) return `as key ${key}`;
  const user = userId ?? "a user";
  return provider === undefined || provider === null ? "as permissions" : `as ${provider}/${user}`;
}
