/**
 * The entry `@bigpeer/peer/compat-v4`: what apps of version 4 of the reference SDK call.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile, temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { QuickstartContent } from "../../../server/src/registry/quickstart.ts";
import { startServer } from "../../../server/src/server.ts";
import { testConfig } from "../../../server/test/support/test-config.ts";
import { Ditto, type Identity } from "../../src/compat-v4/index.ts";

const dataDir = folderOfFile();
const running = await startServer(testConfig({ dataDir }), testHost());
afterAll(() => running.close());
const quickstart = readFileSync(join(dataDir, "quickstart.json"), "utf8");
const { appId, developmentToken: token = "" } = JSON.parse(quickstart) as QuickstartContent;

function open(identity: Identity): Ditto {
  const ditto = new Ditto(identity, temporaryFolder());
  onTestFinished(() => ditto.close());
  return ditto;
}

async function isConnected(ditto: Ditto): Promise<void> {
  await vi.waitFor(() => expect(ditto.presence.graph.localPeer.isConnectedToDittoCloud).toBe(true));
}

test("the playground syncs with the address of its websocket", async () => {
  const ditto = open({
    type: "onlinePlayground",
    appID: appId,
    token,
    enableDittoCloudSync: false,
  });
  ditto.updateTransportConfig(({ connect }) => {
    connect.websocketURLs.push(running.url.replace("http", "ws"));
  });
  expect(ditto.transportConfig.connect.websocketURLs).toHaveLength(1);
  await ditto.disableSyncWithV3();
  expect([ditto.isSyncActive, ditto.isActivated, ditto.appID]).toEqual([false, true, appId]);
  ditto.startSync();
  expect(ditto.isSyncActive).toBe(true);
  await isConnected(ditto);
  const { localPeer } = ditto.presence.graph;
  expect(new TextDecoder().decode(localPeer.peerKey)).toBe(localPeer.peerKeyString);
  const { mutatedDocumentIDs } = await ditto.store
    .execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})")
    .then((result) => ({ mutatedDocumentIDs: result.mutatedDocumentIDs() }));
  expect(mutatedDocumentIDs).toEqual(["a"]);
  ditto.stopSync();
  expect(ditto.isSyncActive).toBe(false);
});

test("an authentication handler logs in when it is required", async () => {
  const failures: unknown[] = [];
  const ditto = open({
    type: "onlineWithAuthentication",
    appID: appId,
    customAuthURL: running.url,
    authHandler: {
      authenticationRequired: async (authenticator) => {
        await authenticator.loginWithToken("wrong", "development").catch((error: unknown) => {
          failures.push(error);
        });
        const { error } = await authenticator.login(token, "development");
        failures.push(error);
      },
    },
  });
  ditto.startSync();
  await isConnected(ditto);
  expect(failures).toEqual([
    expect.objectContaining({ code: "authentication/failed-to-authenticate" }),
    null,
  ]);
});

test("an identity without a server is local, and one without an address says what to set", async () => {
  const ditto = open({ type: "offlinePlayground", appID: appId });
  await ditto.store.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})");
  expect((await ditto.store.execute("SELECT * FROM t")).items).toHaveLength(1);
  expect(ditto.persistenceDirectory).toMatch(/^[/A-Z]/);
  const lost = new Ditto({ type: "onlinePlayground", appID: appId, token });
  expect(() => lost.startSync()).toThrow("expected customAuthURL in the identity");
});
