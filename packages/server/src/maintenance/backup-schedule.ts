/**
 * Backup schedule: makes a backup of the data folder every so often and on request, in a folder with
 * the latest ones. A backup is named for its time, and gets that name when it is verified, so each one with
 * such a name is whole. Old ones are removed only after a new one.
 *
 * The time of the newest backup decides when the next one is due, so a restart changes nothing. A
 * failure is logged, counted and in the audit log, and is tried again after a while.
 */

import { type ChildProcess, fork } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder, namesIn, syncFolder } from "@bigpeer/node";
import type { BackupConfig } from "../config/config.ts";
import { checkBackupFolder } from "../config/servable.ts";
import type { BackupStats } from "../observability/backup-metrics.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { AuditAction, Author } from "../registry/audit-log.ts";
import type { BackupRequest, BackupResult } from "./backup-child.ts";
import { HOUR_MS, PeriodicTask } from "./periodic-task.ts";
import { verifyDataFolder } from "./verify-command.ts";

export interface BackupHost extends Omit<BackupConfig, "everyMs"> {
  /** Undefined for backups on request alone. */
  readonly everyMs: number | undefined;
  readonly dataDir: string;
  readonly now: () => number;
  readonly log: Log;
  /** Adds an entry to the audit log. */
  readonly record: (action: AuditAction, author?: Author) => Promise<void>;
  /** How often it looks whether a backup is due. */
  readonly lookMs?: number;
}

/** The built file even when running from source: Node 20 does not run TypeScript. */
const CHILD_FILE = fileURLToPath(
  new URL("../../dist/maintenance/backup-child.js", import.meta.url),
);

const LOOK_MS = 60_000;

/** Time of a backup in its name, with dashes in place of colons. */
const NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)$/;

/** End of the name until the backup is verified. */
const DRAFT = ".unverified";

/** What a process that was killed leaves. */
const REMAINS = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.unverified/;

/** A finished backup. Times are in milliseconds since 1970. */
export interface ListedBackup {
  readonly name: string;
  readonly createdMs: number;
  readonly sizeBytes: number;
  readonly verifiedMs: number;
}

/** Starts at once. Stop it before the registry is closed. */
export class BackupSchedule {
  readonly #host: BackupHost;
  readonly #task: PeriodicTask | undefined;
  /** When the backup in progress began. */
  #runningSinceMs: number | undefined;
  /** When a backup was verified again, by its name. */
  readonly #verified = new Map<string, number>();
  #child: ChildProcess | undefined;
  #isStopped = false;
  /** No attempt before this time, after one that failed. */
  #retryMs = 0;
  #done = 0;
  #failed = 0;
  #lastMs: number | undefined;
  #lastSizeBytes: number | undefined;
  #lastDurationMs: number | undefined;

  /** Throws PeerError if the folder cannot be made. */
  constructor(host: BackupHost) {
    this.#host = host;
    const isScheduled = host.everyMs !== undefined;
    if (isScheduled) {
      makeFolder(host.folder);
      this.#removeRemains();
    }
    this.#lastMs = this.#lastOf(isScheduled);
    const look = (): Promise<void> => this.#look();
    this.#task = isScheduled ? new PeriodicTask(look, host.lookMs ?? LOOK_MS) : undefined;
  }

  /** Whether backups are made by schedule. */
  get isScheduled(): boolean {
    return this.#task !== undefined;
  }

  get folder(): string {
    return this.#host.folder;
  }

  /** When the backup in progress began, in milliseconds since 1970; undefined without one. */
  get runningSinceMs(): number | undefined {
    return this.#runningSinceMs;
  }

  /** The backups in the folder, newest first. */
  async list(): Promise<readonly ListedBackup[]> {
    const listed = this.#times()
      .toReversed()
      .map(async ({ name, ms }) => ({
        name,
        createdMs: ms,
        sizeBytes: await sizeOfFolder(join(this.#host.folder, name)),
        verifiedMs: this.#verified.get(name) ?? ms,
      }));
    return Promise.all(listed);
  }

  /** Makes a backup now. Undefined while another one is made. Throws Error when it fails. */
  async makeNow(author: Author): Promise<string | undefined> {
    if (this.#runningSinceMs !== undefined || this.#isStopped) return undefined;
    const { folder, dataDir } = this.#host;
    // Without a schedule, the start does not check it.
    checkBackupFolder(folder, dataDir);
    makeFolder(folder);
    const name = this.#nameFor(this.#host.now());
    try {
      await this.#makeCounted(name, this.#host.now());
    } catch (error) {
      await this.#fail(name, describeError(error), author);
      throw error;
    }
    await this.#report(name, author);
    return name;
  }

  /**
   * Reads all of a backup again. Returns the problems that were found; undefined when there is no
   * such backup.
   */
  async verify(name: string): Promise<readonly string[] | undefined> {
    if (!this.#times().some((known) => known.name === name)) return undefined;
    const lines: string[] = [];
    const path = join(this.#host.folder, name);
    const problems = await verifyDataFolder(path, (line) => lines.push(line));
    if (problems === 0) this.#verified.set(name, this.#host.now());
    // The last line counts them.
    const found = lines.slice(0, -1).filter((line) => line.includes("problem"));
    return problems === 0 ? [] : found;
  }

  get stats(): BackupStats {
    return {
      done: this.#done,
      failed: this.#failed,
      lastMs: this.#lastMs,
      lastSizeBytes: this.#lastSizeBytes,
      lastDurationMs: this.#lastDurationMs,
    };
  }

  /** Ends a backup in progress, which leaves nothing. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill("SIGKILL");
    await this.#task?.stop();
  }

  async #look(): Promise<void> {
    if (this.#isStopped || this.#runningSinceMs !== undefined) return;
    this.#tidy();
    const startMs = this.#host.now();
    const name = this.#nameFor(startMs);
    try {
      if (startMs < this.#dueMs()) return;
      await this.#makeCounted(name, startMs);
    } catch (error) {
      if (!this.#isStopped) await this.#fail(name, describeError(error));
      return;
    }
    await this.#report(name);
  }

  /** Without a schedule, what cannot be read matters only when a backup is made. */
  #lastOf(isScheduled: boolean): number | undefined {
    try {
      return this.#times().at(-1)?.ms;
    } catch (error) {
      if (isScheduled) throw error;
      return undefined;
    }
  }

  #nameFor(ms: number): string {
    return new Date(ms).toISOString().replaceAll(":", "-");
  }

  async #makeCounted(name: string, startMs: number): Promise<void> {
    this.#runningSinceMs = startMs;
    try {
      this.#lastSizeBytes = await this.#make(name);
    } finally {
      this.#runningSinceMs = undefined;
      // At once, because another one may begin from here on.
      this.#tidy();
    }
    this.#lastMs = startMs;
    this.#lastDurationMs = this.#host.now() - startMs;
    this.#done++;
  }

  /** After the clock was set back, a backup of the future does not count. */
  #dueMs(): number {
    const { now, everyMs = 0 } = this.#host;
    const last = this.#times().findLast(({ ms }) => ms <= now());
    return Math.max(this.#retryMs, last === undefined ? 0 : last.ms + everyMs);
  }

  /** Returns its size. */
  async #make(name: string): Promise<number> {
    const { dataDir, folder } = this.#host;
    const path = join(folder, name);
    const draft = `${path}${DRAFT}`;
    const result = await this.#run({ from: dataDir, to: draft });
    if (result.kind === "failed") throw new Error(result.reason);
    renameSync(draft, path);
    syncFolder(folder);
    return result.sizeBytes;
  }

  async #run(request: BackupRequest): Promise<BackupResult> {
    const child = fork(CHILD_FILE, { execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"] });
    this.#child = child;
    return new Promise<BackupResult>((resolve) => {
      let result: BackupResult | undefined;
      child.on("message", (message: BackupResult) => {
        result = message;
      });
      child.on("error", ({ message }) => resolve({ kind: "failed", reason: message }));
      child.on("close", (code, signal) => {
        const reason = `the process that makes the copy ended with ${signal ?? `code ${code}`}`;
        resolve(result ?? { kind: "failed", reason });
      });
      // One that cannot be started may have no channel; its error follows. A process that has ended
      // already is reported by its end.
      if (child.connected) child.send(request, () => {});
    }).finally(() => {
      this.#child = undefined;
    });
  }

  async #report(name: string, author?: Author): Promise<void> {
    const size = `${((this.#lastSizeBytes ?? 0) / 1_000_000).toFixed(1)} MB`;
    const time = `${((this.#lastDurationMs ?? 0) / 1_000).toFixed(1)} s`;
    this.#host.log("info", `backup ${name}: verified, ${size} in ${time}`);
    await this.#record({ action: "backup.create", target: `backup/${name}`, detail: size }, author);
  }

  async #fail(name: string, reason: string, author?: Author): Promise<void> {
    const { now, everyMs = 0, log } = this.#host;
    this.#failed++;
    this.#retryMs = now() + Math.min(everyMs, HOUR_MS);
    log("error", `failed to make the backup ${name}: ${reason}`);
    await this.#record({ action: "backup.fail", target: `backup/${name}`, detail: reason }, author);
  }

  async #record(action: AuditAction, author: Author | undefined): Promise<void> {
    try {
      await this.#host.record(action, author);
    } catch (error) {
      if (this.#isStopped) return;
      const what = `failed to record ${action.action} in the audit log`;
      this.#host.log("error", `${what}: ${describeError(error)}`);
    }
  }

  /** Removes old backups, if there are enough newer ones, and what a failure has left. */
  #tidy(): void {
    try {
      this.#removeRemains();
      for (const { name } of this.#times().slice(0, -this.#host.keep)) this.#remove(name);
    } catch (error) {
      this.#host.log("error", `failed to remove old backups: ${describeError(error)}`);
    }
  }

  #removeRemains(): void {
    for (const name of namesIn(this.#host.folder) ?? []) {
      if (REMAINS.test(name)) this.#remove(name);
    }
  }

  #remove(name: string): void {
    rmSync(join(this.#host.folder, name), { recursive: true, force: true });
  }

  /** Finished backups, oldest first. */
  #times(): { readonly name: string; readonly ms: number }[] {
    return (namesIn(this.#host.folder) ?? [])
      .flatMap((name) => {
        const [, hour, minute, second] = NAME.exec(name) ?? [];
        return second === undefined
          ? []
          : [{ name, ms: Date.parse(`${hour}:${minute}:${second}`) }];
      })
      .toSorted((a, b) => a.ms - b.ms);
  }
}

async function sizeOfFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(({ parentPath, name }) => stat(join(parentPath, name)));
  let size = 0;
  for (const found of await Promise.allSettled(sizes)) {
    if (found.status === "fulfilled") size += found.value.size;
  }
  return size;
}
