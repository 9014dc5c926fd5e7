/**
 * The first message of a connection: what is refused, and what a session says that begins with an
 * admitted peer instead of `hello`.
 */

import { encodeMessage, SYNC_VERSION } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { type Greeting, readGreeting } from "../../../src/sync/session/greeting.ts";
import type { Admission } from "../../../src/sync/session/session-event.ts";
import { openSyncServer, type SyncBench } from "../../support/open-sync-server.ts";
import { helloOf, SyncClient } from "../../support/sync-client.ts";
import { START_MS } from "../../support/test-platform.ts";

const ADMISSION: Admission = { authority: undefined, credential: "key" };

test("[S2] the first message must be hello in the supported version, or bye", () => {
  const hello = helloOf("secret");
  expect(readGreeting(encodeMessage(hello))).toEqual({ kind: "hello", hello });
  const bye = encodeMessage({ t: "bye", code: "stopped", message: "" });
  expect(readGreeting(bye)).toEqual({ kind: "bye" });
  const ping = encodeMessage({ t: "ping", now: 1 });
  expect(readGreeting(ping)).toEqual(refused("malformed", "expected hello first, found ping"));
  const old = encodeMessage(helloOf("secret", { version: SYNC_VERSION - 1 }));
  const mismatch = "the server speaks protocol 2, the peer speaks 1: upgrade the peer";
  expect(readGreeting(old)).toEqual(refused("version", mismatch));
});

test("[S1] a first frame that is not a message is refused with the place of the error", () => {
  const bytes = encodeMessage({ ...helloOf("secret"), site: 7 as never });
  expect(readGreeting(bytes)).toMatchObject({
    kind: "refused",
    code: "malformed",
    message: expect.stringContaining("at hello.site"),
  });
  expect(readGreeting(new Uint8Array())).toMatchObject({ kind: "refused", code: "malformed" });
});

test.each([
  ["the app is not named", helloOf("t"), ADMISSION],
  ["the app is named", helloOf("t", { app: "app1" }), ADMISSION],
  ["the token expires later", helloOf("t"), { ...ADMISSION, expiresMs: START_MS + 5000 }],
  ["the token has expired", helloOf("t"), { ...ADMISSION, expiresMs: START_MS }],
  ["another app is named", helloOf("t", { app: "app2" }), ADMISSION],
] as const)(
  "[S3] [S4] an admitted peer gets what its hello would get: %s",
  async (_, hello, admission) => {
    const [greeted, skipped] = [await serverOf(admission), await serverOf(admission)];
    const raw = new SyncClient(greeted.server, greeted.platform);
    raw.say(hello);
    const { length: size } = encodeMessage(hello);
    const admitted = new SyncClient(skipped.server, skipped.platform, { hello, size, admission });
    expect(admitted.heard).toHaveLength(1);
    expect(admitted.heard).toEqual(raw.heard);
    expect(admitted.isClosed).toBe(raw.isClosed);
    expect(skipped.server.stats()).toEqual(greeted.server.stats());
    expect(skipped.server.peers()).toEqual(greeted.server.peers());
  },
);

test("[S6] a stopped server accepts no admitted peer", async () => {
  const { server, platform, faults } = await serverOf(ADMISSION);
  server.close();
  const peer = { hello: helloOf("t"), size: 1, admission: ADMISSION };
  const late = new SyncClient(server, platform, peer);
  expect(late.heard).toMatchObject([{ t: "bye", code: "closing" }]);
  expect([late.isClosed, server.stats().connections, faults]).toEqual([true, 0, []]);
});

test("[S3] an error of the store while a peer joins ends its connection alone", async () => {
  const { server, store, platform, faults } = await serverOf(ADMISSION);
  const fault = new Error("a fault of ours");
  store.read = () => {
    throw fault;
  };
  const peer = { hello: helloOf("t"), size: 1, admission: ADMISSION };
  const failed = new SyncClient(server, platform, peer);
  expect(failed.heard).toMatchObject([{ t: "bye", code: "busy", after: 1000 }]);
  expect([failed.isClosed, server.stats().connections, faults]).toEqual([true, 0, [fault]]);
});

function refused(code: "malformed" | "version", message: string): Greeting {
  return { kind: "refused", code, message };
}

async function serverOf(admission: Admission): Promise<SyncBench> {
  const bench = await openSyncServer({ admit: () => admission });
  onTestFinished(() => bench.server.close());
  return bench;
}
