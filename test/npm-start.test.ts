/**
 * Signals to `npm start`: they reach the server, although npm runs it in a shell.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { isFullSize } from "../packages/protocol/test/support/test-size.ts";
import { ROOT } from "./support/repository.ts";

interface Started {
  readonly npm: ChildProcess;
  readonly dataDir: string;
  /** Everything that was printed. */
  readonly text: () => string;
  /** Resolves when no process has the output open any more. */
  readonly closed: Promise<unknown>;
}

/** Without its set-up, which other tests try: the packages are built. */
async function start(): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), "bigpeer-start-"));
  const words = ["start", "--ignore-scripts", "--", "--data-dir", dataDir, "--port", "0"];
  const npm = spawn("npm", words, {
    cwd: ROOT,
    env: { ...process.env, BIGPEER_MANAGEMENT_PORT: "off" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const closed = once(npm, "close");
  onTestFinished(async () => {
    try {
      process.kill(-(npm.pid ?? 0), "SIGKILL");
    } catch {
      // All of them have ended.
    }
    await closed;
    rmSync(dataDir, { recursive: true, force: true });
  });
  let text = "";
  for (const stream of [npm.stdout, npm.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  await vi.waitFor(() => expect(text).toContain("is ready"), { timeout: 30_000, interval: 50 });
  return { npm, dataDir, text: () => text, closed };
}

const canSignal = isFullSize && process.platform !== "win32";

test.runIf(canSignal)("SIGTERM to npm alone closes the server", async () => {
  const { npm, dataDir, text, closed } = await start();
  npm.kill("SIGTERM");
  await closed;
  expect(text()).toMatch(/SIGTERM: closing[^]*closed/);
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
});

test.runIf(canSignal)("Ctrl-C, a signal to all processes, closes the server once", async () => {
  const { npm, dataDir, text, closed } = await start();
  process.kill(-(npm.pid ?? 0), "SIGINT");
  await closed;
  expect(text()).toMatch(/SIGINT: closing[^]*closed/);
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
});
