/**
 * A connection that gets one new token after the other: at most one is looked at at a time.
 */

import type { Admission, AdmittedPeer } from "@bigpeer/engine/sync";
import { encodeMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { createCredential } from "../../src/auth/credential.ts";
import type { Bearer } from "../../src/auth/credentials.ts";
import { type ConnectionHost, SyncConnection } from "../../src/sync/sync-connection.ts";
import type { WebSocketChannel } from "../../src/sync/web-socket.ts";
import { helloOf } from "../support/sync-client.ts";

const PERMISSIONS = {
  read: { everything: true, queriesByCollection: {} },
  write: { everything: true, queriesByCollection: {} },
  remoteQuery: false,
};

function bearerOf(userId: string): Bearer {
  const credential = createCredential(`jwt:p:${userId}`, PERMISSIONS);
  return { appId: "a", credential, expiresAtMs: 5_000, userId, identity: { role: userId } };
}

interface Asked {
  readonly token: string;
  answer(bearer: Bearer | undefined): void;
}

interface Joined {
  readonly connection: SyncConnection;
  /** The tokens that the gate is asked to check. */
  readonly asked: Asked[];
  /** What the engine received. */
  readonly admitted: AdmittedPeer[];
}

/** A connection that has joined. */
async function joined(): Promise<Joined> {
  const asked: Asked[] = [];
  const admitted: AdmittedPeer[] = [];
  const nothing = (): void => {};
  const session = { receive: nothing, drained: nothing, closed: nothing, changeRights: nothing };
  const host: ConnectionHost = {
    greeted: nothing,
    admit: () =>
      Promise.resolve({ use: { app: {} as never, release: nothing }, bearer: bearerOf("ann") }),
    renew: (token) => new Promise((answer) => void asked.push({ token, answer })),
    join: (_connection, _use, peer) => {
      admitted.push(peer);
      return session;
    },
    refused: nothing,
    left: nothing,
    ended: nothing,
    failed: (error) => {
      throw error;
    },
  };
  const channel: Partial<WebSocketChannel> = {
    listen: nothing,
    pause: nothing,
    resume: nothing,
    trust: nothing,
    send: nothing,
    close: nothing,
  };
  const place = { appId: undefined, remoteAddress: "192.0.2.1" };
  const connection = new SyncConnection(channel as WebSocketChannel, place, 0, host);
  connection.message(encodeMessage(helloOf("first")));
  while (!connection.isJoined) await Promise.resolve();
  return { connection, asked, admitted };
}

test("[S7] the engine receives the owner of a credential, and the address of the peer", async () => {
  const { admitted } = await joined();
  expect(admitted.map(({ admission }) => admission)).toEqual([
    {
      authority: undefined,
      credential: "jwt:p:ann",
      writer: { credential: "jwt:p:ann" },
      expiresMs: 5_000,
      userId: "ann",
      identity: { role: "ann" },
      address: "192.0.2.1",
    },
  ]);
});

test("[S7] new tokens are checked one at a time, and of the waiting ones only the newest", async () => {
  const { connection, asked } = await joined();
  const answers = Array.from({ length: 1_000 }, (_, i) =>
    Promise.resolve(connection.renew(`t${i}`)),
  );
  expect(asked.map(({ token }) => token)).toEqual(["t0"]);
  asked[0]?.answer(bearerOf("old"));
  const credentialOf = (admission: Admission | undefined): string | undefined =>
    admission?.credential;
  expect(credentialOf(await answers[0])).toBe("jwt:p:old");
  // The last one counts; nothing is known by the first.
  expect(connection.token).toBe("first");
  expect((await Promise.all(answers.slice(1, -1))).every((one) => one === undefined)).toBe(true);
  expect(asked.map(({ token }) => token)).toEqual(["t0", "t999"]);
  asked[1]?.answer(bearerOf("new"));
  expect(credentialOf(await answers.at(-1))).toBe("jwt:p:new");
  expect([connection.token, connection.peer?.credentialId]).toEqual(["t999", "jwt:p:new"]);
});

test("[S7] a token that waits when the connection ends is not checked", async () => {
  const { connection, asked } = await joined();
  const [one, two] = ["t0", "t1"].map((token) => Promise.resolve(connection.renew(token)));
  connection.close();
  asked[0]?.answer(undefined);
  expect([await one, await two]).toEqual([undefined, undefined]);
  expect(asked).toHaveLength(1);
});
