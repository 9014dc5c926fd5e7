/**
 * Permissions at a real nats-server: the ones that the documentation lists are enough, and without
 * one of them the start of a node is refused with what is missing.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { connectLogs } from "../../../src/cluster/nats/connect-logs.ts";
import type { ClusterConfig } from "../../../src/config/config.ts";
import { useNatsCluster } from "../support/nats-cluster.ts";
import { type Permissions, permissionsOfNode } from "../support/nats-users.ts";

const DOCUMENTATION = new URL("../../../../../docs/cluster.md", import.meta.url);

const ALL = permissionsOfNode();

interface User {
  readonly name: string;
  readonly permissions: Permissions;
  /** What the error names. */
  readonly missing: string;
}

/** Users who lack one permission each. */
const LIMITED: readonly User[] = (["publish", "subscribe"] as const).flatMap((operation) =>
  ALL[operation].map((missing, i) => {
    const left = ALL[operation].filter((subject) => subject !== missing);
    const permissions = { ...ALL, [operation]: left };
    return { name: `no-${operation}-${i}`, permissions, missing: `${operation} to "${missing}"` };
  }),
);

const PASSWORD = randomBytes(8).toString("hex");

function userConfig({ name, permissions }: Omit<User, "missing">): string {
  const lists = Object.entries(permissions).map(([operation, subjects]) => {
    return `${operation}: ${JSON.stringify(subjects)}`;
  });
  return `{ user: "${name}", password: "${PASSWORD}", permissions: { ${lists.join(", ")} } }`;
}

const users = [{ name: "all", permissions: ALL }, ...LIMITED].map(userConfig).join("\n");

test("the documentation lists the subjects of the example", () => {
  const text = readFileSync(DOCUMENTATION, "utf8");
  for (const operation of ["publish", "subscribe"] as const) {
    const list = ALL[operation].map((subject) => `\`${subject}\``).join(", ");
    expect(text).toContain(`| ${operation} | ${list} |`);
  }
});

describe("a nats-server with users whose permissions are limited", () => {
  const nats = useNatsCluster({
    size: 1,
    users: `accounts { BIGPEER { jetstream: enabled, users: [${users}] } }`,
  });

  /** Connects as a node does at its start. Resolves with the number of streams. */
  async function start(user: string): Promise<number> {
    const servers = nats().urls.map((url) => url.replace("//", `//${user}:${PASSWORD}@`));
    const config: Partial<ClusterConfig> = {
      servers,
      name: "bigpeer",
      monitors: nats().monitorUrls,
      isDevelopment: true,
    };
    const parts = await connectLogs(config as ClusterConfig, () => {});
    await parts.nats.close();
    return parts.logs.streams;
  }

  test("a node starts with the permissions of the documentation", async () => {
    expect(await start("all")).toBe(16);
    expect(await start("all")).toBe(16);
  });

  test("a user with another password is refused", async () => {
    await expect(start("other")).rejects.toThrow("refused the login");
  });

  for (const { name, missing } of LIMITED) {
    test(`a node that may not ${missing} does not start, and says so`, async () => {
      await start("all");
      const [, operation = "", subject = ""] = /^(\w+) to "(.*)"$/.exec(missing) ?? [];
      const error: unknown = await start(name).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: "config.invalid" });
      const found = /may not (.*?);/.exec(String(error))?.[1] ?? String(error);
      // Of the subject itself, a part with wildcards is in the place of names.
      const pattern = subject
        .replaceAll(/[.$]/g, String.raw`\$&`)
        .replaceAll("*", String.raw`[^."]+`)
        .replace(">", ".+");
      expect(found).toMatch(new RegExp(`^${operation} to "${pattern}"`));
      expect(String(error)).toContain("examples/cluster/nats-users.conf");
    });
  }
});
