/**
 * A cluster on nats-servers with TLS and a user for each node, as docs/cluster.md sets it up.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startNatsCluster } from "../../../../scripts/nats-cluster.mjs";
import { bundleScript, type Script } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { BigpeerProcess } from "../support/bigpeer-process.ts";
import { tlsFile, usersConfig } from "./support/nats-users.ts";

let script: Script;
beforeAll(async () => {
  script = await bundleScript("server/src/main");
});
afterAll(() => script.remove());

const READY_MS_MAX = 120_000;

const NODES = ["node-1", "node-2", "node-3"];

interface Settings {
  readonly [name: string]: string;
}

function tlsSettings(certificate: string): Settings {
  return {
    "cluster-tls-cert": tlsFile(`${certificate}.pem`),
    "cluster-tls-key": tlsFile("key.pem"),
    "cluster-tls-ca": tlsFile("ca.pem"),
  };
}

test("three nodes with certificates of their own start, write and read on NATS with TLS and limited users", async () => {
  const folder = temporaryFolder();
  const nats = await startNatsCluster({ folder, users: usersConfig() });
  onTestFinished(() => nats.stop());
  const dataDirOf = (name: string): string => join(folder, name);
  const startNode = (name: string, tls: Settings): BigpeerProcess => {
    const settings: Settings = {
      "data-dir": dataDirOf(name),
      port: "0",
      "replication-port": "off",
      // The certificate has this name, as the documentation asks for.
      cluster: nats.urls.join(",").replaceAll("127.0.0.1", "localhost"),
      "cluster-monitor": nats.monitorUrls.join(","),
      ...tls,
    };
    const words = Object.entries(settings).flatMap(([flag, value]) => [`--${flag}`, value]);
    return new BigpeerProcess(script, words, { BIGPEER_CLUSTER_SECRET: "0123456789abcdef0123" });
  };

  const nodes = NODES.map((name) => startNode(name, tlsSettings(name)));
  const urls = await Promise.all(nodes.map((node) => node.url(READY_MS_MAX)));
  const [made] = NODES.flatMap((name) => quickstartIn(dataDirOf(name)));
  const execute = async (url: string, statement: string, txnId = 0): Promise<Executed> => {
    const answer = await fetch(`${url}/${made?.appId ?? ""}/api/v4/store/execute`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${made?.apiKey ?? ""}`,
        "content-type": "application/json",
        "x-service-txn-id": String(txnId),
      },
      body: JSON.stringify({ statement }),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Executed;
  };
  let last = 0;
  for (const [i, url] of urls.entries()) {
    const written = await execute(url, `INSERT INTO cars DOCUMENTS ({'_id': 'c${i}'})`);
    last = written.transactionId;
  }
  for (const url of urls) {
    const { items } = await execute(url, "SELECT _id FROM cars ORDER BY _id", last);
    expect(items).toEqual([{ _id: "c0" }, { _id: "c1" }, { _id: "c2" }]);
  }

  // The certificate of a nats-server is valid, and names no user.
  const stranger = await startNode("node-4", tlsSettings("nats")).ended;
  expect(stranger.code).not.toBe(0);
  expect(stranger.stderr).toContain("refused the login");
  const plain = await startNode("node-5", {}).ended;
  expect(plain.code).not.toBe(0);
  expect(plain.stderr).toContain("failed to connect to NATS");
});

interface Executed {
  readonly items: readonly unknown[];
  readonly transactionId: number;
}

interface Quickstart {
  readonly appId: string;
  readonly apiKey: string;
}

/** One node has made the app and its key. */
function quickstartIn(dataDir: string): Quickstart[] {
  try {
    return [JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8")) as Quickstart];
  } catch {
    return [];
  }
}
