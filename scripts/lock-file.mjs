/**
 * Checks that package-lock.json fits the manifests: a dry run of `npm ci`, silent unless it fails.
 */
import { spawnSync } from "node:child_process";
import { npmCommand } from "./npm-command.mjs";

const [program, words] = npmCommand(["ci", "--dry-run", "--loglevel=error"]);
const { status, error } = spawnSync(program, words, { stdio: ["ignore", "ignore", "inherit"] });
if (error !== undefined) console.error(`bigpeer: failed to run npm: ${error.message}`);
process.exitCode = status ?? 1;
