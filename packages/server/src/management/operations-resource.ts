/**
 * Operations resources: `…/setting` shows the settings as they were read, `…/health` checks the
 * server, and `…/backup` makes, lists and verifies backups (M63, M64, M65).
 */

import { statfs } from "node:fs/promises";
import { PeerError, type Value } from "@bigpeer/protocol";
import type { BackupSchedule, ListedBackup } from "../maintenance/backup-schedule.ts";
import { describeError } from "../observability/log.ts";
import { shown } from "../registry/registry-fault.ts";
import { showTime } from "../validation/time-text.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { pageBody } from "./page.ts";
import { Problem } from "./problem.ts";
import type { ServerFacts } from "./server-facts.ts";

export const OPERATION_RESOURCES: readonly Resource[] = [
  {
    name: "settings",
    path: "/setting",
    methods: {
      GET: ({ facts, query }) =>
        pageBody(facts.config.settings, query, (setting) => ({ ...setting })),
    },
  },
  { name: "health", path: "/health", methods: { GET: showHealth } },
  {
    name: "backups",
    path: "/backup",
    methods: { GET: listBackups, POST: makeBackup },
  },
  {
    name: "verify_backup",
    path: "/backup/{backup}/verify",
    methods: { POST: verifyBackup },
  },
];

/** With less room on its disk a server soon refuses writes. */
const FREE_BYTES_MIN: number = 512 * 1024 * 1024;

/** A longer delay of the event loop is felt by every client. */
const LOOP_DELAY_MS_MAX = 500;

interface Check {
  readonly name: string;
  readonly isOk: boolean;
  readonly detail: string;
}

async function showHealth({ facts, registry }: ManagementCall): Promise<Value> {
  const status = facts.health();
  const failed = registry.apps.names().filter(({ id }) => facts.apps.hasFailed(id));
  const checks: Check[] = [
    { name: "server", isOk: status === "ready", detail: status },
    await diskCheck(facts),
    loopCheck(facts),
    {
      name: "apps",
      isOk: failed.length === 0,
      detail:
        failed.length === 0
          ? "no app failed to open"
          : `failed to open: ${failed.map(({ name }) => name).join(", ")}`,
    },
    linksCheck(facts),
    backupCheck(facts),
  ];
  return {
    status,
    isOk: checks.every(({ isOk }) => isOk),
    checks: checks.map((one) => ({ ...one })),
  };
}

async function diskCheck({ config }: ServerFacts): Promise<Check> {
  const { bavail, bsize } = await statfs(config.dataDir);
  const free = bavail * bsize;
  const detail = `${(free / 1e9).toFixed(1)} GB free`;
  return { name: "disk", isOk: free >= FREE_BYTES_MIN, detail };
}

function loopCheck({ metrics }: ServerFacts): Check {
  const delayMs = metrics.recent.last?.loopDelayMaxMs ?? 0;
  const detail = `longest delay of the last seconds ${delayMs.toFixed(0)} ms`;
  return { name: "event loop", isOk: delayMs <= LOOP_DELAY_MS_MAX, detail };
}

function linksCheck({ links }: ServerFacts): Check {
  const { linked, others } = links();
  const detail =
    linked + others === 0 ? "no replications" : `${linked} linked, ${others} not linked`;
  return { name: "links", isOk: others === 0, detail };
}

function backupCheck({ backups, config }: ServerFacts): Check {
  const schedule = backups();
  const { lastMs } = schedule?.stats ?? {};
  const last = lastMs === undefined ? "no backup yet" : `last backup at ${showTime(lastMs)}`;
  if (config.backup === undefined)
    return { name: "backup", isOk: true, detail: `${last}; no schedule` };
  const isLate = lastMs === undefined || Date.now() - lastMs > 2 * config.backup.everyMs;
  return { name: "backup", isOk: !isLate, detail: isLate ? `${last}; one is due` : last };
}

async function listBackups({ facts, query }: ManagementCall): Promise<Value> {
  const schedule = backupsOf(facts);
  const { runningSinceMs, folder } = schedule;
  const page = pageBody(await schedule.list(), query, showBackup) as {
    readonly [name: string]: Value;
  };
  const running = runningSinceMs === undefined ? null : { startedAt: showTime(runningSinceMs) };
  return { folder, isScheduled: schedule.isScheduled, running, ...page };
}

async function makeBackup({ facts, author }: ManagementCall): Promise<Value> {
  const schedule = backupsOf(facts);
  let name: string | undefined;
  try {
    name = await schedule.makeNow(author);
  } catch (error) {
    const reason = describeError(error);
    throw new PeerError("operation.refused", `failed to make a backup: ${reason}`);
  }
  if (name === undefined) {
    throw new Problem("BackupRunning", "another backup is being made; wait for its end");
  }
  const made = (await schedule.list()).find((backup) => backup.name === name);
  return made === undefined ? null : showBackup(made);
}

async function verifyBackup(call: ManagementCall): Promise<Value> {
  const name = call.parameter("backup");
  const problems = await backupsOf(call.facts).verify(name);
  if (problems === undefined) {
    throw new Problem("BackupNotFound", `there is no backup named ${shown(name)}`);
  }
  return { isValid: problems.length === 0, problems: [...problems] };
}

function backupsOf({ backups }: ServerFacts): BackupSchedule {
  const schedule = backups();
  if (schedule !== undefined) return schedule;
  throw new PeerError("store.closed", "expected a server that has started");
}

function showBackup({ name, createdMs, sizeBytes, verifiedMs }: ListedBackup): Value {
  return {
    name,
    createdAt: showTime(createdMs),
    bytes: sizeBytes,
    verifiedAt: showTime(verifiedMs),
  };
}
