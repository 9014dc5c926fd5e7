/**
 * Overview resource: `…/overview` shows the statistics of the running server and their course over the
 * last hour (M59).
 */

import { statfs } from "node:fs/promises";
import { PeerError, type Value } from "@bigpeer/protocol";
import { VERSION } from "../config/version.ts";
import { RECENT_STEP_MS, type RecentPoints } from "../observability/recent-stats.ts";
import { showOptionalTime, showTime } from "../validation/time-text.ts";
import type { ManagementCall, Resource } from "./management-endpoint.ts";
import { AppCounts, type ServerFacts } from "./server-facts.ts";

export const OVERVIEW_RESOURCES: readonly Resource[] = [
  { name: "overview", path: "/overview", methods: { GET: showOverview } },
];

/** Apps that are shown one by one. */
const APPS_SHOWN_MAX = 100;

const COUNTS = new WeakMap<ServerFacts, AppCounts>();

async function showOverview(call: ManagementCall): Promise<Value> {
  const sinceMs = sinceIn(call.query);
  const { facts, registry } = call;
  const { config, metrics, errors, startedAt } = facts;
  const names = registry.apps.names();
  const shown = names.slice(0, APPS_SHOWN_MAX);
  const counts = countsOf(facts);
  const stats = await counts.of(
    facts,
    shown.map(({ id }) => id),
  );
  const peersOf = (id: string): number => facts.syncStatsOf(id)?.peers ?? 0;
  const apps = shown.map(({ id, name }) => {
    const { documents = null, bytes = 0 } = stats.get(id) ?? {};
    return { name, appId: id, documents, bytes, peers: peersOf(id) };
  });
  const { last } = metrics.recent;
  return {
    version: VERSION,
    startedAt: showTime(startedAt),
    apps: { count: names.length, shown: apps },
    documents: sum(apps.map(({ documents }) => documents ?? 0)),
    disk: { ...(await diskOf(config.dataDir)), dataBytes: sum(apps.map(({ bytes }) => bytes)) },
    peers: sum(names.map(({ id }) => peersOf(id))),
    now: last === undefined ? null : { ...last },
    lastBackupAt: showOptionalTime(facts.backups()?.stats.lastMs),
    lastErrors: errors.list.map(({ at, level, message }) => ({ at: showTime(at), level, message })),
    series: showSeries(metrics.recent.since(sinceMs)),
  };
}

function countsOf(facts: ServerFacts): AppCounts {
  const known = COUNTS.get(facts) ?? new AppCounts();
  COUNTS.set(facts, known);
  return known;
}

function showSeries({ at, columns }: RecentPoints): Value {
  return { stepSeconds: RECENT_STEP_MS / 1_000, at: [...at], ...columns };
}

async function diskOf(folder: string): Promise<{ freeBytes: number; totalBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** Milliseconds since 1970; 0 for the whole hour. */
function sinceIn(query: string): number {
  const text = new URLSearchParams(query).get("since") ?? "0";
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  const expected = "milliseconds since 1970";
  throw new PeerError("value.invalid", `expected ${expected}`, { at: "the parameter since" });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
