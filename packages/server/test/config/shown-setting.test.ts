/**
 * The settings as they were read, for operators: what each was, from where, and no secrets.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { readConfig } from "../../src/config/config.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import type { ShownSetting } from "../../src/config/shown-setting.ts";

function shown(
  flags: Record<string, string>,
  env: Record<string, string> = {},
): ReadonlyMap<string, ShownSetting> {
  const { settings } = readConfig(new Map(Object.entries(flags)), env);
  return new Map(settings.map((setting) => [setting.name, setting]));
}

test("every setting is shown, with where it came from", () => {
  const file = join(temporaryFolder(), "settings.json");
  writeFileSync(file, JSON.stringify({ "app-idle": 5 }), { mode: 0o600 });
  const found = shown({ "--config": file, "--port": "9000" }, { BIGPEER_HOST: "127.0.0.2" });
  expect([...found.keys()]).toEqual(SETTINGS.map(({ name }) => name));
  const sources = ["port", "host", "app-idle", "log-level"].map((name) => {
    const { value, source, isSet } = found.get(name) ?? {};
    return [value, source, isSet];
  });
  expect(sources).toEqual([
    ["9000", "option", true],
    ["127.0.0.2", "environment", true],
    ["5", "file", true],
    ["info", "default", true],
  ]);
  expect(found.get("public-url")).toMatchObject({ value: null, isSet: false });
});

test("secrets, and users in URLs, are not shown", () => {
  const secret = "a-secret-that-is-long-enough";
  const env = {
    BIGPEER_ADMIN_TOKEN: secret,
    BIGPEER_REPLICATION_SECRET: secret,
    BIGPEER_CLUSTER: "nats://user:swordfish@10.0.0.1:4222,nats://10.0.0.2:4222",
    BIGPEER_CLUSTER_SECRET: secret,
  };
  const found = shown({}, env);
  for (const name of ["admin-token", "replication-secret", "cluster-secret"]) {
    expect(found.get(name)).toMatchObject({ value: null, isSecret: true, isSet: true });
  }
  expect(found.get("cluster")?.value).toBe("nats://…@10.0.0.1:4222,nats://10.0.0.2:4222");
  expect(JSON.stringify([...found])).not.toMatch(/swordfish|long-enough/);
});
