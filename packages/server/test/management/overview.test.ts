/**
 * The overview of the running server, its settings, checks and backups, and the collections of an app.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeCbor } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { folderOfFile, temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { RECENT_SERIES } from "../../src/observability/recent-stats.ts";
import { openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";

const ADMIN_TOKEN = "a-token-of-the-administrator";

const backupFolder = { folder: join(folderOfFile(), "backups"), keep: 2 };
const { api, client } = await openConsole({ adminToken: ADMIN_TOKEN, backupFolder });
await client.execute("INSERT INTO orders DOCUMENTS ({'_id': 1, 'owner': 'ada'}), ({'_id': 2})");
await client.execute("CREATE INDEX by_owner ON orders (owner DESC)");

interface Overview {
  readonly apps: { readonly count: number; readonly shown: readonly object[] };
  readonly documents: number;
  readonly now: { readonly [name: string]: number } | null;
  readonly lastErrors: readonly { readonly level: string; readonly message: string }[];
  readonly series: {
    readonly at: readonly number[];
    readonly requestsPerSecond: readonly number[];
  };
}

async function overview(query = ""): Promise<Overview> {
  return (await client.get(`/overview${query}`)) as unknown as Overview;
}

test("[M59] the overview shows apps with their documents, also of apps that are closed", async () => {
  const { registry } = api.server;
  await registry.apps.create({ name: "closed" }, { actor: "test" });
  const { apps, documents } = await overview();
  expect(apps.count).toBe(2);
  expect(apps.shown).toEqual([
    {
      name: "closed",
      appId: expect.any(String),
      documents: 0,
      bytes: expect.any(Number),
      peers: 0,
    },
    {
      name: "default",
      appId: api.quickstart.appId,
      documents: 2,
      bytes: expect.any(Number),
      peers: 0,
    },
  ]);
  expect(documents).toBe(2);
});

test("[M59] the series have a number of each kind for each point, and `since` leaves out the old ones", async () => {
  const before = await overview();
  expect(Object.keys(before.series)).toEqual(["stepSeconds", "at", ...RECENT_SERIES]);
  const last = before.series.at.at(-1) ?? 0;
  expect((await overview(`?since=${last}`)).series.at).toEqual(
    (await overview()).series.at.filter((at) => at > last),
  );
  expect((await overview(`?since=${Date.now() + 60_000}`)).series.at).toEqual([]);
  expect((await client.ask("GET", `${BIG_PEER}/overview?since=x`)).status).toBe(400);
});

test("[M59] the last warnings are shown without secrets", async () => {
  // Its sign-in fails, and a provider whose webhook cannot be reached warns.
  await client.ask("POST", `${BIG_PEER}/app/default/provider`, {
    name: "hook",
    config: { type: "tokenWebhook", webhookUrl: "http://127.0.0.1:1/" },
  });
  const path = `${BIG_PEER}/app/default/provider/hook/test`;
  await client.ask("POST", path, { token: `bp_0a1b2c3d_${"x".repeat(43)}` });
  const { lastErrors } = await overview();
  expect(lastErrors.length).toBeGreaterThan(0);
  expect(JSON.stringify(lastErrors)).not.toContain("xxxx");
});

test("[M60] collections are listed with their size and their indexes", async () => {
  const { data } = (await client.get("/app/default/collection")) as { data: unknown[] };
  const startedAt = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  expect(data).toEqual([
    {
      name: "orders",
      documents: 2,
      bytes: expect.any(Number),
      isEstimated: false,
      indexes: [
        {
          name: "by_owner",
          fields: [{ path: ["owner"], isDescending: true }],
          state: "complete",
          progress: null,
          use: { count: 0, lastAt: null, since: startedAt },
        },
      ],
    },
  ]);
});

test("[M60] the size of few documents is exact, that of many is estimated at both ends", async () => {
  // Ids of the same length, and one document of each size.
  const insert = async (from: number, to: number, length: number): Promise<void> => {
    const documents = Array.from({ length: to - from }, (_, i) => {
      return { _id: `d${from + i}`, text: "x".repeat(length) };
    });
    const args = { documents };
    await client.items("INSERT INTO many DOCUMENTS (:documents) RETURNING _id", { args });
  };
  const one = (length: number): number =>
    encodeCbor("d100").length + encodeCbor({ text: "x".repeat(length) }).length;
  await insert(100, 150, 10);
  expect(await sizeOfMany()).toEqual({ bytes: 50 * one(10), isEstimated: false });
  await insert(150, 200, 100);
  expect(await sizeOfMany()).toEqual({ bytes: 50 * (one(10) + one(100)), isEstimated: true });
  await insert(900, 901, 1_000_000);
  const { bytes } = await sizeOfMany();
  expect(bytes).toBeGreaterThan(1_000_000);
});

test("[M66] an index shows how many statements have read it, and when the last one began", async () => {
  const useOf = async (): Promise<{ count: number; lastAt: string | null; since: string }> => {
    const { data } = (await client.get("/app/default/collection")) as {
      data: { name: string; indexes: { use: never }[] }[];
    };
    return data.find(({ name }) => name === "orders")?.indexes[0]?.use as never;
  };
  const before = await useOf();
  const statement = "SELECT * FROM orders WHERE owner = 'ada'";
  const beginMs = Date.now();
  await client.execute(statement);
  await client.execute(statement);
  const { count, lastAt, since } = await useOf();
  expect(count).toBe(before.count + 2);
  expect(Date.parse(lastAt ?? "")).toBeGreaterThanOrEqual(beginMs);
  expect(Date.parse(since)).toBeLessThanOrEqual(beginMs);
  expect(since).toBe(before.since);
});

async function sizeOfMany(): Promise<{ bytes: number; isEstimated: boolean }> {
  const { data } = (await client.get("/app/default/collection")) as {
    data: { name: string; bytes: number; isEstimated: boolean }[];
  };
  const found = data.find(({ name }) => name === "many");
  return { bytes: found?.bytes ?? 0, isEstimated: found?.isEstimated ?? false };
}

test("[M63] settings are shown as they were read, without secrets", async () => {
  const { data } = (await client.get("/setting")) as {
    data: { name: string; value: string | null; isSecret: boolean; source: string }[];
  };
  const byName = new Map(data.map((setting) => [setting.name, setting]));
  expect(byName.get("port")).toMatchObject({ value: "0", source: "option", isSecret: false });
  expect(byName.get("management-port")).toMatchObject({ value: "off", source: "environment" });
  expect(byName.get("log-level")).toMatchObject({ source: "default" });
  for (const name of ["admin-token", "replication-secret", "cluster-secret"]) {
    expect(byName.get(name)).toMatchObject({ value: null, isSecret: true });
  }
  expect(JSON.stringify(data)).not.toContain(ADMIN_TOKEN);
});

test("[M64] a healthy server passes all its checks", async () => {
  expect(await client.get("/health")).toEqual({
    status: "ready",
    isOk: true,
    checks: ["server", "disk", "event loop", "apps", "links", "backup"].map((name) => ({
      name,
      isOk: true,
      detail: expect.any(String),
    })),
  });
});

test("[M65] there is no backup at first, and one that is not there cannot be verified", async () => {
  expect(await client.get("/backup")).toMatchObject({
    folder: backupFolder.folder,
    isScheduled: false,
    running: null,
    data: [],
  });
  for (const name of ["2026-01-31T12-00-00.000Z", "..%2f..", "x"]) {
    const path = `${BIG_PEER}/backup/${name}/verify`;
    expect((await client.ask("POST", path)).body).toMatchObject({ title: "BackupNotFound" });
  }
});

test.runIf(isFullSize)(
  "[M65] a backup is made, listed and verified, and damage is found",
  async () => {
    const made = await client.ask("POST", `${BIG_PEER}/backup`);
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    const { name } = made.body as { name: string };
    const { data } = (await client.get("/backup")) as { data: unknown[] };
    expect(data).toEqual([made.body]);
    const verify = () => client.ask("POST", `${BIG_PEER}/backup/${name}/verify`);
    expect((await verify()).body).toEqual({ isValid: true, problems: [] });
    const { data: audit } = (await client.get("/audit?size=1")) as { data: unknown[] };
    expect(audit).toMatchObject([{ actor: "console", action: "backup.create" }]);
    const two = await Promise.all([
      client.ask("POST", `${BIG_PEER}/backup`),
      client.ask("POST", `${BIG_PEER}/backup`),
    ]);
    expect(two.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const registry = join(backupFolder.folder, name, "registry", "data.mdb");
    writeFileSync(registry, Buffer.alloc(4096));
    expect((await verify()).body).toMatchObject({ isValid: false, problems: [expect.any(String)] });
  },
);

test("[M59] the metrics are those of the data port", async () => {
  const here = await client.ask("GET", `${BIG_PEER}/metrics`);
  expect([here.status, here.headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^text\/plain/),
  ]);
  expect(here.body).toContain("bigpeer_http_requests_total");
  const { status } = await client.send("GET", `${BIG_PEER}/metrics`, undefined, {
    "sec-fetch-site": "cross-site",
  });
  expect(status).toBe(403);
});

test("[M65] a folder inside of the data folder is refused", async () => {
  const dataDir = temporaryFolder();
  const other = await openConsole({
    dataDir,
    backupFolder: { folder: join(dataDir, "b"), keep: 2 },
  });
  const { status, body } = await other.client.ask("POST", `${BIG_PEER}/backup`);
  expect([status, body]).toMatchObject([
    400,
    { detail: expect.stringContaining("outside of the data folder") },
  ]);
});

test("[M65] a folder that cannot be made is a failure with its reason", async () => {
  const taken = join(temporaryFolder(), "taken");
  mkdirSync(join(taken, ".."), { recursive: true });
  writeFileSync(taken, "");
  const other = await openConsole({ backupFolder: { folder: join(taken, "backups"), keep: 2 } });
  const { status, body } = await other.client.ask("POST", `${BIG_PEER}/backup`);
  expect([status, body]).toEqual([
    400,
    { title: "InvalidRequest", detail: expect.stringMatching(/^failed to make a backup: /) },
  ]);
});
