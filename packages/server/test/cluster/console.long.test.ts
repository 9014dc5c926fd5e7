/**
 * The console in a cluster: the admin token signs in at any node, and statements are evaluated where
 * the app is.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { ConsoleClient } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";
import { eventually, RunningCluster } from "./support/running-cluster.ts";

const ADMIN_TOKEN = "a-token-of-the-administrator";

test("[M54] in a cluster the admin token signs in at every node, and there is no link", async () => {
  const settings = join(temporaryFolder(), "settings.json");
  writeFileSync(settings, JSON.stringify({ "admin-token": ADMIN_TOKEN }), { mode: 0o600 });
  const cluster = await RunningCluster.start(["--config", settings]);
  await cluster.openApp();
  const { followers, evaluator } = cluster.inOrder;
  const nodes = [...followers, evaluator];
  for (const node of nodes) {
    const text = readFileSync(join(node.dataDir, "quickstart.json"), { flag: "a+" }).toString();
    expect(text).not.toContain("consoleUrl");
  }
  const clients = nodes.map(({ managementUrl }) => new ConsoleClient(managementUrl));
  const [first, ...others] = clients as [ConsoleClient, ...ConsoleClient[]];
  expect((await first.signIn(ADMIN_TOKEN)).status).toBe(200);
  await eventually(async () => {
    expect((await first.ask("GET", "/console/session")).body).toMatchObject({ isSignedIn: true });
  });
  // The session counts on the other nodes; the name of its cookie has the port.
  for (const other of others) {
    const { port } = new URL(other.url);
    other.cookie = first.cookie?.replace(/_\d+=/, `_${port}=`);
    await eventually(async () => {
      expect((await other.ask("GET", "/console/session")).body).toMatchObject({ isSignedIn: true });
    });
  }
  for (const [i, client] of clients.entries()) {
    const { status, body } = await client.execute("INSERT INTO seen DOCUMENTS (:document)", {
      args: { document: { _id: i } },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(await client.items("SELECT _id FROM seen WHERE _id = :id", { args: { id: i } })).toEqual(
      [{ _id: i }],
    );
  }
  // A statement that was passed on has one entry.
  const { data } = (await first.get("/audit/statement?size=1000")) as {
    data: { detail: string }[];
  };
  expect(data.filter(({ detail }) => detail.startsWith("INSERT INTO seen"))).toHaveLength(3);
  expect((await first.ask("POST", "/console/token")).status).toBe(400);
  const { status } = await first.ask("DELETE", "/console/session");
  expect(status).toBe(200);
  await eventually(async () => {
    for (const client of clients) {
      expect((await client.ask("GET", `${BIG_PEER}/app`)).status).toBe(401);
    }
  });
});
