/**
 * Backups by schedule, of the data folder of a real server.
 */

import { ChildProcess } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { type BackupHost, BackupSchedule } from "../../src/maintenance/backup-schedule.ts";
import { verifyDataFolder } from "../../src/maintenance/verify-command.ts";
import { backupMetricsText } from "../../src/observability/backup-metrics.ts";
import { type AuditAction, SERVER } from "../../src/registry/audit-log.ts";
import { startServer } from "../../src/server.ts";
import { testConfig } from "../support/test-config.ts";

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 10, 18, 6);
const NAMES = [0, 1, 2, 3].map((hour) => `2026-11-18T0${6 + hour}-00-00.000Z`);
/** Two processes start for each backup. */
const PATIENCE = { timeout: 30_000, interval: 20 };

class Clock {
  nowMs: number = START_MS;
}

/** A schedule with a clock of the test, which looks all the time. */
function schedule(dataDir: string, changes: Partial<BackupHost> = {}) {
  const clock = new Clock();
  const actions: AuditAction[] = [];
  const lines: string[] = [];
  const folder = changes.folder ?? join(temporaryFolder(), "backups");
  const host: BackupHost = {
    dataDir,
    folder,
    everyMs: HOUR_MS,
    keep: 2,
    now: () => clock.nowMs,
    log: (level, text) => lines.push(`${level}: ${text}`),
    record: async (action) => void actions.push(action),
    lookMs: 5,
    ...changes,
  };
  const backups = new BackupSchedule(host);
  onTestFinished(() => backups.stop());
  return { backups, clock, actions, lines, folder };
}

/** The data folder of a server that runs. */
async function runningFolder(): Promise<string> {
  const config = testConfig();
  const server = await startServer(config, testHost());
  onTestFinished(() => server.close());
  return config.dataDir;
}

test.runIf(isFullSize)(
  "a running server is backed up every hour, and the newest backups stay",
  async () => {
    const { backups, clock, actions, lines, folder } = schedule(await runningFolder(), { keep: 1 });
    for (let hour = 0; hour < 2; hour++) {
      clock.nowMs = START_MS + hour * HOUR_MS;
      await vi.waitFor(() => expect(actions).toHaveLength(hour + 1), PATIENCE);
    }
    expect(readdirSync(folder)).toEqual(NAMES.slice(1, 2));
    expect(actions.map(({ action, target }) => [action, target])).toEqual(
      NAMES.slice(0, 2).map((name) => ["backup.create", `backup/${name}`]),
    );
    expect(lines).toEqual(
      NAMES.slice(0, 2).map((name) => expect.stringContaining(`info: backup ${name}: verified, `)),
    );
    expect(backups.stats).toMatchObject({ done: 2, failed: 0, lastMs: clock.nowMs });
    expect(backupMetricsText(backups.stats)).toContain('bigpeer_backups_total{outcome="done"} 2\n');
    expect(await verifyDataFolder(join(folder, NAMES[1] ?? ""), () => {})).toBe(0);
  },
);

test.runIf(isFullSize)(
  "the newest backup decides when the next one is due, also after a restart",
  async () => {
    const folder = temporaryFolder();
    for (const name of [NAMES[0] ?? "", "2026-11-18T01-00-00.000Z.unverified", "notes"]) {
      mkdirSync(join(folder, name));
    }
    const { backups, clock, actions } = schedule(await runningFolder(), { folder });
    expect(readdirSync(folder)).toEqual([NAMES[0], "notes"]);
    expect(backups.stats.lastMs).toBe(START_MS);
    clock.nowMs = START_MS + HOUR_MS;
    await vi.waitFor(() => expect(actions).toHaveLength(1), PATIENCE);
    expect(readdirSync(folder)).toEqual([NAMES[0], NAMES[1], "notes"]);
  },
);

test.runIf(isFullSize)(
  "a failure is logged, counted and recorded, removes no backup and is tried again later",
  async () => {
    const folder = temporaryFolder();
    for (const name of NAMES.slice(0, 2)) mkdirSync(join(folder, name));
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, "format.json"), "{");
    const { backups, clock, actions, lines } = schedule(dataDir, { folder });
    clock.nowMs = START_MS + 2 * HOUR_MS;
    await vi.waitFor(() => expect(actions).toHaveLength(1), PATIENCE);
    expect(actions[0]).toMatchObject({ action: "backup.fail", target: `backup/${NAMES[2]}` });
    expect(lines).toEqual([
      expect.stringContaining(`error: failed to make the backup ${NAMES[2]}: `),
    ]);
    expect(backups.stats).toMatchObject({ done: 0, failed: 1, lastMs: START_MS + HOUR_MS });
    clock.nowMs += HOUR_MS;
    await vi.waitFor(() => expect(actions).toHaveLength(2), PATIENCE);
    expect(readdirSync(folder)).toEqual(NAMES.slice(0, 2));
  },
);

/** The next process, as Node does it without a free descriptor: there is not even a channel. */
function failToStart(): void {
  const prototype = ChildProcess.prototype as unknown as { spawn: (this: ChildProcess) => number };
  const failing = vi.spyOn(prototype, "spawn").mockImplementationOnce(function spawn(
    this: ChildProcess,
  ) {
    process.nextTick(() => this.emit("error", new Error("spawn node EMFILE")));
    return -constants.errno.EMFILE;
  });
  onTestFinished(() => failing.mockRestore());
}

test("a process that cannot be started is a failure with its reason", async () => {
  failToStart();
  const { actions } = schedule(await runningFolder());
  await vi.waitFor(() => expect(actions).toHaveLength(1), PATIENCE);
  expect(actions[0]).toMatchObject({
    action: "backup.fail",
    detail: expect.stringMatching(/^Error: spawn node EMFILE\n/),
  });
});

test("a backup on request removes what a process that was killed has left, also if it fails", async () => {
  const folder = temporaryFolder();
  for (const end of ["", ".unverified", ".unverified.partial-0a1b2c3d"]) {
    mkdirSync(join(folder, `${NAMES[0]}${end}`));
  }
  const { backups } = schedule(await runningFolder(), { folder, everyMs: undefined });
  failToStart();
  await expect(backups.makeNow(SERVER)).rejects.toThrow("spawn node EMFILE");
  expect(readdirSync(folder)).toEqual([NAMES[0]]);
});

test.runIf(isFullSize)(
  "a server makes backups as its settings say, and its audit log and metrics show them",
  async () => {
    const folder = join(temporaryFolder(), "backups");
    const backup = { folder, everyMs: HOUR_MS, keep: 1 };
    const server = await startServer(testConfig({ backup }), testHost());
    onTestFinished(() => server.close());
    const entry = await vi.waitFor(() => {
      const { entries } = server.registry.audit.list({ page: 1, size: 1 });
      expect(entries[0]?.action).toBe("backup.create");
      return entries[0];
    }, PATIENCE);
    expect(entry).toMatchObject({ actor: "server", target: `backup/${readdirSync(folder)[0]}` });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('bigpeer_backups_total{outcome="done"} 1\n');
  },
);

test("a server that is stopped ends a backup, which leaves nothing", async () => {
  const { backups, folder, lines } = schedule(await runningFolder());
  await backups.stop();
  expect(readdirSync(folder)).toEqual([]);
  expect(lines).toEqual([]);
});
