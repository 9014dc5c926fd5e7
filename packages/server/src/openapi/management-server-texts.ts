/**
 * Management texts of links to other servers, the audit logs and the cluster.
 */

import type { Value } from "@bigpeer/protocol";
import { type ManagementText, META } from "./management-text.ts";

const REPLICATION: Value = {
  name: "from-north",
  connections: ["north.example.com:4040"],
  queriesByCollection: { prices: ["region == 'north'"] },
};

const LINK: Value = {
  direction: "dial",
  address: "north.example.com:4040",
  state: "linked",
  since: "2026-01-31T12:00:00.000Z",
  partner: "0123456789abcdef",
  nextAttemptAt: null,
  lastError: null,
  lag: { transactions: 0, seconds: 0 },
  pulled: { documents: 12, bytes: 4096, transactions: 3, unchanged: 0, stale: 0 },
  served: { documents: 0, bytes: 0 },
  subscriptions: [
    { collection: "prices", query: "region == 'north'", state: "live", transaction: 17 },
  ],
};

const REPLICATION_SUMMARY = "Change a replication";

const REPLICATIONS: readonly ManagementText[] = [
  {
    operationId: "list_replications",
    method: "GET",
    path: "/app/{app}/bigPeerReplication",
    tag: "replications",
    summary: "List replications",
    response: "ReplicationList",
    example: { data: [REPLICATION], meta: META },
    isList: true,
  },
  {
    operationId: "create_replication",
    method: "POST",
    path: "/app/{app}/bigPeerReplication",
    tag: "replications",
    summary: "Create a replication",
    request: "NewReplication",
    requestExample: REPLICATION,
    response: "Replication",
    example: REPLICATION,
    conflict: "A replication of this Big Peer has the name, or the app has too many.",
  },
  {
    operationId: "get_replication",
    method: "GET",
    path: "/app/{app}/bigPeerReplication/{replication}",
    tag: "replications",
    summary: "Read a replication",
    response: "Replication",
    example: REPLICATION,
  },
  {
    operationId: "replace_replication",
    method: "PUT",
    path: "/app/{app}/bigPeerReplication/{replication}",
    tag: "replications",
    summary: REPLICATION_SUMMARY,
    description: "The same as PATCH: an absent field stays the same, and null empties it.",
    request: "ReplicationChange",
    requestExample: REPLICATION,
    response: "Replication",
    example: REPLICATION,
  },
  {
    operationId: "update_replication",
    method: "PATCH",
    path: "/app/{app}/bigPeerReplication/{replication}",
    tag: "replications",
    summary: REPLICATION_SUMMARY,
    description: "An absent field stays the same, and null empties it.",
    request: "ReplicationChange",
    requestExample: { queriesByCollection: { prices: ["region == 'north'"] } },
    response: "Replication",
    example: REPLICATION,
  },
  {
    operationId: "delete_replication",
    method: "DELETE",
    path: "/app/{app}/bigPeerReplication/{replication}",
    tag: "replications",
    summary: "Delete a replication",
    response: "Done",
    example: null,
  },
  {
    operationId: "get_replication_status",
    method: "GET",
    path: "/app/{app}/bigPeerReplication/{replication}/status",
    tag: "replications",
    summary: "Read the state of the links of a replication",
    response: "ReplicationStatus",
    example: { name: "from-north", missingAttachments: 0, links: [LINK] },
  },
  {
    operationId: "set_replication_secret",
    method: "PUT",
    path: "/app/{app}/replicationSecret",
    tag: "replications",
    summary: "Set the replication secret of an app",
    description: "The links of the app end. Big Peers that know the new secret link again.",
    request: "ReplicationSecret",
    requestExample: { secret: "a-long-secret-of-both-sides" },
    response: "Done",
    example: null,
  },
  {
    operationId: "delete_replication_secret",
    method: "DELETE",
    path: "/app/{app}/replicationSecret",
    tag: "replications",
    summary: "Remove the replication secret of an app",
    description: "Then the secret of the server applies, if there is one.",
    response: "Done",
    example: null,
  },
];

const SERVER: readonly ManagementText[] = [
  {
    operationId: "list_audit_entries",
    method: "GET",
    path: "/audit",
    tag: "server",
    summary: "List changes, newest first",
    description: "Always one page, by default of 100 entries.",
    response: "AuditEntryList",
    example: {
      data: [
        {
          at: "2026-01-31T12:00:00.000Z",
          actor: "admin token",
          action: "app.rotateSessionKey",
          target: "app/shop",
          detail: null,
          requestId: "k3x9",
          address: "192.0.2.7",
        },
      ],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "list_remote_audit_entries",
    method: "GET",
    path: "/audit/remote",
    tag: "server",
    summary: "List statements that ran on connected devices, newest first",
    description: "Always one page, by default of 100 entries.",
    response: "AuditEntryList",
    example: { data: [], meta: { page: 1, size: 100, totalPages: 1 } },
    isList: true,
  },
  {
    operationId: "get_cluster",
    method: "GET",
    path: "/cluster",
    tag: "server",
    summary: "Read the state of the cluster",
    description: "A server that is alone answers `{cluster: null, nodes: []}`.",
    response: "ClusterStatus",
    example: { cluster: null, nodes: [] },
  },
];

export const SERVER_TEXTS: readonly ManagementText[] = [...REPLICATIONS, ...SERVER];
