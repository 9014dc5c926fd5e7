/**
 * The audit log: `…/audit`. Who changed what, the newest first.
 */

import type { Value } from "@bigpeer/protocol";
import type { AuditEntry } from "../registry/audit-log.ts";
import type { Resource } from "./management-endpoint.ts";
import { PAGE_SIZE, pageMeta, readPageRequest } from "./page.ts";
import { showTime } from "./time-text.ts";

export const AUDIT_RESOURCES: readonly Resource[] = [
  {
    name: "read_audit_log",
    path: "/audit",
    methods: {
      // Never all of it: it is the one list that grows with every change.
      GET: ({ registry, query }) => {
        const request = readPageRequest(query) ?? { page: 1, size: PAGE_SIZE };
        const { entries, total } = registry.audit.list(request);
        return { data: entries.map(showEntry), meta: pageMeta(request, total) };
      },
    },
  },
];

function showEntry({ at, actor, action, target, requestId, detail }: AuditEntry): Value {
  return {
    at: showTime(at),
    actor,
    action,
    target,
    detail: detail ?? null,
    requestId: requestId ?? null,
  };
}
