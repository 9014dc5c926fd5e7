/**
 * Audit resources: `…/audit` lists the changes of the registry (M29), `…/audit/remote` the statements
 * run on connected peers (M32), and `…/audit/statement` the uses of data by the console (M57); newest
 * first.
 */

import type { Value } from "@bigpeer/protocol";
import type { AuditEntry, AuditLog } from "../registry/audit-log.ts";
import { showTime } from "../validation/time-text.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { PAGE_SIZE, pageMeta, readPageRequest } from "./page.ts";

export const AUDIT_RESOURCES: readonly Resource[] = [
  {
    name: "read_audit_log",
    path: "/audit",
    methods: { GET: (call) => showLog(call.registry.audit, call) },
  },
  {
    name: "read_statement_audit_log",
    path: "/audit/statement",
    methods: { GET: (call) => showLog(call.registry.statements, call) },
  },
  {
    name: "read_remote_audit_log",
    path: "/audit/remote",
    methods: { GET: (call) => showLog(call.registry.runs, call) },
  },
];

/** Always one page: the log grows with every change. */
function showLog(log: AuditLog, { query }: ManagementCall): Value {
  const request = readPageRequest(query) ?? { page: 1, size: PAGE_SIZE };
  const { entries, total } = log.list(request);
  return { data: entries.map(showEntry), meta: pageMeta(request, total) };
}

function showEntry({ at, actor, action, target, requestId, address, detail }: AuditEntry): Value {
  return {
    at: showTime(at),
    actor,
    action,
    target,
    detail: detail ?? null,
    requestId: requestId ?? null,
    address: address ?? null,
  };
}
