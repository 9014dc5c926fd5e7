/**
 * Management texts of the running server: its overview, collections, trials, settings, health and
 * backups.
 */

import { RECENT_SERIES } from "../observability/recent-stats.ts";
import { type ManagementText, META } from "./management-text.ts";

const TIME = "2026-01-31T12:00:00.000Z";
const BACKUP = { name: "2026-01-31T12-00-00.000Z", createdAt: TIME, bytes: 4096, verifiedAt: TIME };

const APP_TEXTS: readonly ManagementText[] = [
  {
    operationId: "list_collections",
    method: "GET",
    path: "/app/{app}/collection",
    tag: "data",
    summary: "List collections with their indexes",
    description:
      "Sizes of large collections are estimated. `use` counts the uses of an index since the start of the server. Needs a session of the console or the admin token.",
    response: "CollectionList",
    example: {
      data: [
        {
          name: "orders",
          documents: 40,
          bytes: 5120,
          isEstimated: false,
          indexes: [
            {
              name: "by_owner",
              fields: [{ path: ["owner"], isDescending: false }],
              state: "complete",
              progress: null,
              use: { count: 312, lastAt: TIME, since: "2026-01-24T08:00:00.000Z" },
            },
          ],
        },
      ],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "try_permissions",
    method: "POST",
    path: "/app/{app}/permission/try",
    tag: "data",
    summary: "Count the documents that permissions make visible",
    description: "Needs a session of the console or the admin token.",
    request: "PermissionTrial",
    requestExample: {
      permissions: { read: { queriesByCollection: { orders: ["owner == 'ada'"] } } },
      collections: ["orders"],
    },
    response: "VisibleCounts",
    example: { collections: [{ collection: "orders", visible: 12, total: 40 }] },
  },
  {
    operationId: "test_provider",
    method: "POST",
    path: "/app/{app}/provider/{provider}/test",
    tag: "providers",
    summary: "Test a token with an auth provider",
    description: "Says why a token is refused. Needs a session of the console or the admin token.",
    request: "ProviderTest",
    requestExample: { token: "eyJ…" },
    response: "ProviderVerdict",
    example: { isValid: false, reason: "it has expired" },
  },
];

const SERVER_TEXTS: readonly ManagementText[] = [
  {
    operationId: "get_overview",
    method: "GET",
    path: "/overview",
    tag: "server",
    summary: "Read the figures of the server and of its last hour",
    query: [
      {
        name: "since",
        description: "Only points after this time, in milliseconds since 1970.",
        schema: { type: "number", minimum: 0 },
      },
    ],
    response: "Overview",
    example: {
      version: "1.0.0",
      startedAt: TIME,
      apps: {
        count: 1,
        shown: [{ name: "shop", appId: "5f4a3f26-…", documents: 40, bytes: 4096, peers: 2 }],
      },
      documents: 40,
      disk: { freeBytes: 41000000000, totalBytes: 80000000000, dataBytes: 4096 },
      peers: 2,
      now: null,
      lastBackupAt: null,
      lastErrors: [],
      series: {
        stepSeconds: 5,
        at: [],
        ...Object.fromEntries(RECENT_SERIES.map((name) => [name, []])),
      },
    },
  },
  {
    operationId: "list_read_settings",
    method: "GET",
    path: "/setting",
    tag: "server",
    summary: "List the settings as the server has read them",
    description: "Values of secrets are not shown.",
    response: "ReadSettingList",
    example: {
      data: [
        {
          name: "port",
          value: "8080",
          source: "default",
          description: "port of the data API",
          isSecret: false,
          isSet: true,
        },
      ],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "get_health",
    method: "GET",
    path: "/health",
    tag: "server",
    summary: "Check the server",
    response: "HealthReport",
    example: {
      status: "ready",
      isOk: true,
      checks: [{ name: "disk", isOk: true, detail: "41.0 GB free" }],
    },
  },
  {
    operationId: "list_backups",
    method: "GET",
    path: "/backup",
    tag: "server",
    summary: "List backups, newest first",
    response: "BackupList",
    example: {
      folder: "/srv/big-peer/backups",
      isScheduled: true,
      running: null,
      data: [BACKUP],
      meta: META,
    },
    isList: true,
  },
  {
    operationId: "make_backup",
    method: "POST",
    path: "/backup",
    tag: "server",
    summary: "Make a backup now",
    description: "The answer comes when the backup is made and verified.",
    response: "Backup",
    example: BACKUP,
    conflict: "Another backup is being made.",
  },
  {
    operationId: "verify_backup",
    method: "POST",
    path: "/backup/{backup}/verify",
    tag: "server",
    summary: "Read all of a backup again",
    response: "BackupVerdict",
    example: { isValid: true, problems: [] },
  },
];

export const OPERATIONS_TEXTS: readonly ManagementText[] = [...APP_TEXTS, ...SERVER_TEXTS];
