/**
 * examples/cluster/nats-users.conf, which docs/cluster.md shows, as tests use it.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const EXAMPLE = fileURLToPath(
  new URL("../../../../../examples/cluster/nats-users.conf", import.meta.url),
);

/** Certificates of a nats-server and of three nodes, with one key, for 127.0.0.1. */
const TLS = fileURLToPath(new URL("tls/", import.meta.url));

export function tlsFile(name: string): string {
  return join(TLS, name);
}

/** The file, with the certificates of the tests. */
export function usersConfig(): string {
  return exampleText().replaceAll(/"(\w+\.pem)"/g, (_, name: string) => `"${tlsFile(name)}"`);
}

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** What the file permits a node. */
export function permissionsOfNode(): Permissions {
  const text = exampleText();
  return { publish: subjectsIn(text, "publish"), subscribe: subjectsIn(text, "subscribe") };
}

function exampleText(): string {
  return readFileSync(EXAMPLE, "utf8");
}

function subjectsIn(text: string, operation: string): string[] {
  const [, list = ""] = new RegExp(`${operation}: \\[([^\\]]*)\\]`).exec(text) ?? [];
  return Array.from(list.matchAll(/"([^"]+)"/g), ([, subject = ""]) => subject);
}
