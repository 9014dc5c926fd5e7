/**
 * Installs the npm packages of the other contestants of the language benchmark.
 */
import { install } from "../rivals/install.mjs";

/** The version whose behaviour the tests of the language know. */
export function installDitto() {
  return install("@dittolive/ditto@5.1.0");
}

/** Built from source where there is no binary for the platform, which takes some minutes. */
export function installSqlite() {
  return install("better-sqlite3@12.11.1");
}
