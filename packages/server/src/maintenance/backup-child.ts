/**
 * Backup process: child process that makes one backup and verifies it, so that the server goes on
 * meanwhile. It gives way to other processes, and ends with the server.
 */

import { constants, setPriority } from "node:os";
import { describeError } from "../observability/log.ts";
import { backup } from "./backup.ts";
import { verifyDataFolder } from "./verify-command.ts";

export interface BackupRequest {
  readonly from: string;
  /** Absent. */
  readonly to: string;
}

export type BackupResult =
  | { readonly kind: "done"; readonly sizeBytes: number }
  | { readonly kind: "failed"; readonly reason: string };

/** Problems that the reason of a failure names. */
const PROBLEMS_SHOWN_MAX = 3;

async function make({ from, to }: BackupRequest): Promise<BackupResult> {
  const { sizeBytes } = await backup(from, to);
  const lines: string[] = [];
  const problems = await verifyDataFolder(to, (line) => lines.push(line));
  if (problems === 0) return { kind: "done", sizeBytes };
  const shown = lines.filter((line) => line.includes("problem")).slice(0, PROBLEMS_SHOWN_MAX);
  const what = `the copy has ${problems} problems; run verify on the data folder`;
  return { kind: "failed", reason: `${what}: ${shown.join("; ")}` };
}

function giveWay(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A service manager may forbid it, as the systemd unit in deploy/ does.
  }
}

process.on("disconnect", () => process.exit(1));

process.once("message", (request: BackupRequest) => {
  giveWay();
  void make(request)
    .catch((error: unknown): BackupResult => ({ kind: "failed", reason: describeError(error) }))
    .then((result) => process.send?.(result, () => process.exit(0)));
});
