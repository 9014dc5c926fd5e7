/**
 * Lints a Dockerfile with dockerfilelint, which is installed on use: prints its findings as JSON.
 *
 * node deploy/lint/lint.mjs FILE
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "../../scripts/folder-lock.mjs";
import { installPackages } from "../../scripts/npm-packages.mjs";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

await withLock(FOLDER, (lock) => installPackages(FOLDER, lock, "the linter of the Dockerfile"));
const program = join(FOLDER, "node_modules/dockerfilelint/bin/dockerfilelint");
const words = [program, "--json", process.argv[2] ?? "Dockerfile"];
const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
process.exitCode = status ?? 1;
