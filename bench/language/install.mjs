/**
 * Installs the npm packages of the other contestants of the language benchmark.
 */
import { install } from "../rivals/install.mjs";

/** The version that the recorded cases of the language tests come from. */
export function installDitto() {
  return install("@dittolive/ditto@5.1.0");
}

/** npm builds it from source if there is no binary for the platform, which takes minutes. */
export function installSqlite() {
  return install("better-sqlite3@12.11.1");
}
