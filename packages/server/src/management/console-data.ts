/**
 * Console data: operations of the data API on the management listener, with full permission. The
 * console reaches the data of an app only here (M55).
 *
 * They are the operations of the data API themselves, below the path of an app, with another gate:
 * it wants a session of the console or the admin token, also from this machine. Each use is in an
 * audit log before it begins.
 */

import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { createCredential } from "../auth/credential.ts";
import type { Bearer } from "../auth/credentials.ts";
import { CHANGES_PATH } from "../data-api/change-streams.ts";
import { createDataApi, type DataApi, type DataApiOptions } from "../data-api/data-api.ts";
import { EXPLAIN_PATH, PEERS_PATH } from "../data-api/device-endpoints.ts";
import { EXPORT_PATH } from "../data-api/export.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { Endpoint, Place } from "../http/router.ts";
import { describeError } from "../observability/log.ts";
import { targetOfApp } from "../registry/apps.ts";
import type { AuditAction, Author } from "../registry/audit-log.ts";
import type { Registry } from "../registry/registry.ts";
import { RegistryFault } from "../registry/registry-fault.ts";
import { type Audit, consoleExecute, consoleFindById } from "./console-execute.ts";
import { BIG_PEER, checkBigPeer, type ManagementHost } from "./management-endpoint.ts";
import type { ManagementGate } from "./management-gate.ts";
import { problemBody, problemOf } from "./problem.ts";

/** What the operations need beside the management API. */
export interface ConsoleDataOptions extends Omit<DataApiOptions, "findCaller"> {
  /** Adds an entry to the audit log of statements. Resolves when it is durable. */
  readonly record: (author: Author, action: AuditAction) => Promise<void>;
}

export interface ConsoleDataHost {
  readonly config: ManagementHost["config"];
  readonly registry: Registry;
  readonly gate: ManagementGate;
  readonly data: ConsoleDataOptions;
}

/** Id of the caller in requests, limits and the change log. */
const CONSOLE = "console";

const ADMIN_CREDENTIAL = createCredential(CONSOLE, FULL_PERMISSIONS);

/** Operation of the data API that is served here. */
export interface ConsoleDataOperation {
  readonly method: "GET" | "POST";
  /** After the app. */
  readonly path: string;
  /** Action in the audit log; undefined if the operation writes an entry itself, or needs none. */
  readonly action?: string;
}

export const CONSOLE_DATA: readonly ConsoleDataOperation[] = [
  { method: "POST", path: "/store/execute" },
  { method: "POST", path: "/store/findbyid" },
  { method: "GET", path: CHANGES_PATH, action: "store.changes" },
  { method: "GET", path: EXPORT_PATH, action: "store.export" },
  { method: "GET", path: PEERS_PATH },
  { method: "GET", path: EXPLAIN_PATH },
  { method: "POST", path: "/sync/remote_execute" },
  { method: "POST", path: "/attachments/upload", action: "attachment.upload" },
  { method: "GET", path: "/attachments/{id}", action: "attachment.read" },
];

/** Operations with an endpoint of their own here. */
const OWN = new Set(["/store/execute", "/store/findbyid"]);

export function consoleData(host: ConsoleDataHost): DataApi {
  const { registry, gate, data } = host;
  const findCaller = (request: HttpRequest, { parameters }: Place): Bearer => {
    const admin = gate.admitSignedIn(request);
    request.identify(admin.actor);
    checkBigPeer(host.config, parameters);
    const { id: appId } = registry.apps.named(parameters["app"] ?? "");
    return { appId, credential: ADMIN_CREDENTIAL, expiresAtMs: Number.POSITIVE_INFINITY };
  };
  const api = createDataApi({ ...data, findCaller });
  const served = api.endpoints.flatMap((endpoint) => {
    const found = CONSOLE_DATA.find(({ path }) => path === endpoint.path);
    if (found === undefined || OWN.has(found.path)) return [];
    const { action } = found;
    const own = { ...endpoint, failureBody: problemBody };
    return [inApp(action === undefined ? own : audited(own, action, host))];
  });
  const given = { registry, gate: api.gate, data, audit: auditOf(host) };
  const operations = [consoleExecute(given), consoleFindById(given)].map(inApp);
  return { ...api, endpoints: [...operations, ...served] };
}

/** The same endpoint below the path of an app. */
function inApp(endpoint: Endpoint): Endpoint {
  return {
    ...endpoint,
    name: `manage_${endpoint.name}`,
    path: `${BIG_PEER}/app/{app}${endpoint.path}`,
    answer: async (request, place) => {
      try {
        return await endpoint.answer(request, place);
      } catch (error) {
        // Elsewhere the code is part of the text, as in the data API.
        const hasTitle = endpoint.failureBody === problemBody || error instanceof RegistryFault;
        throw hasTitle ? problemOf(error) : error;
      }
    },
  };
}

function audited(endpoint: Endpoint, action: string, host: ConsoleDataHost): Endpoint {
  const audit = auditOf(host);
  return {
    ...endpoint,
    answer: async (request, place) => {
      host.gate.admitSignedIn(request);
      checkBigPeer(host.config, place.parameters);
      const { name } = host.registry.apps.named(place.parameters["app"] ?? "");
      const detail = place.parameters["id"] ?? new URLSearchParams(place.query).get("collection");
      await audit.record(request, name, { action, ...(detail !== null && { detail }) });
      return endpoint.answer(request, place);
    },
  };
}

function auditOf({ gate, data }: ConsoleDataHost): Audit {
  const record: Audit["record"] = async (request, app, action) => {
    // The node that passed it on has written the entry.
    if (request.passId !== undefined) return;
    const { actor } = gate.admitSignedIn(request);
    const author = { actor, requestId: request.id, address: request.remoteAddress };
    await data.record(author, { ...action, target: targetOfApp(app) });
  };
  return {
    record,
    note: (request, app, action) => {
      record(request, app, action).catch((error: unknown) => {
        const what = `failed to record ${action.action} in the audit log`;
        data.log("error", `${what}: ${describeError(error)}`);
      });
    },
  };
}
