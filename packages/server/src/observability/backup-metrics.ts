/**
 * Backup metrics: what became of the backups by schedule, as Prometheus text, computed at each read;
 * docs/operating.md has the table.
 */

import { metricText, type Sample } from "./exposition.ts";

export interface BackupStats {
  readonly done: number;
  readonly failed: number;
  /** Undefined without a backup in the folder. */
  readonly lastMs: number | undefined;
  /** Of the last backup of this process; undefined before it. */
  readonly lastSizeBytes: number | undefined;
  readonly lastDurationMs: number | undefined;
}

/** Empty without a schedule. */
export function backupMetricsText(stats: BackupStats | undefined): string {
  if (stats === undefined) return "";
  const { done, failed, lastMs, lastDurationMs, lastSizeBytes } = stats;
  const outcomes: Sample[] = [
    [{ outcome: "done" }, done],
    [{ outcome: "failed" }, failed],
  ];
  const help = "Backups by schedule.";
  return [
    metricText({ name: "bigpeer_backups_total", help, type: "counter" }, outcomes),
    gauge("last_timestamp_seconds", "Time of the last backup.", seconds(lastMs)),
    gauge("last_duration_seconds", "Time that it took.", seconds(lastDurationMs)),
    gauge("last_bytes", "Its size.", lastSizeBytes),
  ].join("");
}

function gauge(name: string, help: string, value: number | undefined): string {
  const head = { name: `bigpeer_backup_${name}`, help, type: "gauge" } as const;
  return metricText(head, value === undefined ? [] : [[{}, value]]);
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
