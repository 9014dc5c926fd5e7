/**
 * What a server does on a link before and after the proof, seen by somebody who speaks by hand: a
 * caller of its port, and one whom it calls.
 */

import { createHmac } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { linkProofBytes } from "@bigpeer/engine/link";
import {
  decodeLinkMessage,
  encodeMessage,
  type LinkMessage,
  SYNC_VERSION,
} from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { listenHttp } from "../../src/http/http-server.ts";
import { ChannelMaker, type WebSocketChannel } from "../../src/sync/web-socket.ts";
import { CALLER_NONCE, LinkCaller } from "../support/link-caller.ts";
import { LINK_SECRET, LINKED_APP, LinkedServer } from "../support/linked-server.ts";

/** Somebody who is called and answers each message by hand. Returns `host:port`. */
async function answering(
  reply: (message: LinkMessage, channel: WebSocketChannel) => LinkMessage | undefined,
): Promise<string> {
  const channels = new ChannelMaker(1 << 24);
  const http = await listenHttp({
    host: "127.0.0.1",
    port: 0,
    log: () => {},
    answer: () => Promise.reject(new Error("expected a WebSocket")),
    upgrades: {
      connectionsMax: 100,
      take: (asked) => {
        const channel = channels.accept(asked);
        channel?.listen({
          message: (bytes) => {
            const answer = reply(decodeLinkMessage(bytes), channel);
            if (answer !== undefined) channel.send(encodeMessage(answer));
          },
          malformed: () => {},
          overfull: () => {},
          drained: () => {},
          closed: () => {},
        });
        onTestFinished(() => channel?.cut());
        return true;
      },
    },
  });
  onTestFinished(() => http.close());
  return new URL(http.url).host;
}

async function calling(address: string): Promise<LinkedServer> {
  const south = await LinkedServer.start();
  await south.put("cars", { _id: "1" });
  await south.replicate("POST", {
    connections: [address],
    queriesByCollection: { cars: ["true"] },
  });
  return south;
}

async function errorCode(server: LinkedServer): Promise<string | undefined> {
  return vi.waitFor(async () => {
    const [link] = await server.links();
    expect(link?.lastError).not.toBeNull();
    return link?.lastError?.code;
  }, 20_000);
}

test("[S48] the dialling side sends the app and 32 random bytes, and nothing else before the answer", async () => {
  const heard: LinkMessage[] = [];
  const address = await answering((message) => void heard.push(message));
  const south = await calling(address);
  await vi.waitFor(() => expect(heard.length).toBe(1), 10_000);
  expect(heard).toEqual([
    { t: "link", version: SYNC_VERSION, app: LINKED_APP, nonce: expect.any(Uint8Array) },
  ]);
  expect((await south.until("connecting")).partner).toBeNull();
});

test("[S48] a side that does not know the secret receives nothing", async () => {
  const heard: LinkMessage[] = [];
  const address = await answering((message) => {
    heard.push(message);
    if (message.t === "link") return { ...message, nonce: CALLER_NONCE };
    if (message.t === "proof") return { t: "proof", proof: new Uint8Array(32) };
    return undefined;
  });
  const south = await calling(address);
  expect(await errorCode(south)).toBe("unauthorized");
  expect(heard.map(({ t }) => t)).toEqual(["link", "proof", "bye"]);
  expect((await south.until("waiting")).served.documents).toBe(0);
});

test("[S48] a side that sends back the received proof has proved nothing", async () => {
  const address = await answering((message) => (message.t === "bye" ? undefined : message));
  expect(await errorCode(await calling(address))).toMatch(/^(unauthorized|malformed)$/);
});

test("[S83] an unsupported version is reported on both sides", async () => {
  const message = "the accepting Big Peer speaks protocol 1: upgrade it";
  const address = await answering(() => ({ t: "bye", code: "version", message }));
  const south = await calling(address);
  expect(await errorCode(south)).toBe("version");
  const { lastError, nextAttemptAt } = await south.until("waiting");
  expect(lastError?.message).toBe(message);
  expect(Date.parse(nextAttemptAt ?? "") - Date.now()).toBeGreaterThan(20_000);
  const north = await LinkedServer.start();
  await north.replicate("POST", {});
  const caller = await LinkCaller.dial(north.server.replicationUrl ?? "");
  caller.greet(LINKED_APP, { version: 1 });
  expect((await caller.next())?.t).toBe("bye");
  expect((await north.until("refused")).lastError?.code).toBe("version");
});

test("a server that is not a Big Peer is reported as unreachable", async () => {
  // Its data API has nothing at /link.
  const north = await LinkedServer.start();
  const south = await calling(new URL(north.server.url).host);
  expect(await errorCode(south)).toBe("unreachable");
  expect((await south.links())[0]?.lastError?.message).toContain("404");
});

test("[S49] a side receives the history only after it has proved that it knows the secret", async () => {
  const north = await LinkedServer.start();
  await north.replicate("POST", {});
  const caller = await LinkCaller.dial(north.server.replicationUrl ?? "");
  await caller.prove(LINKED_APP, LINK_SECRET);
  expect((await caller.next())?.t).toBe("proof");
  const linked = await caller.next();
  const use = await north.server.apps.use(LINKED_APP);
  const { historyId, site } = use.app.store.identity;
  use.release();
  expect(linked).toEqual({
    t: "linked",
    history: historyId,
    txn: expect.any(Number),
    now: expect.any(Number),
    sites: [site],
  });
});

test("[S83] many wrong proofs throttle an address, and a right one that is new there must wait", async () => {
  const north = await LinkedServer.start();
  await north.replicate("POST", {});
  const url = north.server.replicationUrl ?? "";
  const afters = [];
  for (let i = 0; i < 22; i++) {
    const caller = await LinkCaller.dial(url);
    await caller.prove(LINKED_APP, "a-secret-that-is-guessed");
    const bye = await caller.next();
    afters.push(bye?.t === "bye" ? bye.after : undefined);
    caller.socket.close();
  }
  expect(afters.slice(0, 20)).toEqual(Array(20).fill(undefined));
  for (const after of afters.slice(20)) expect(after).toBeGreaterThan(1_000);
  // Those are told to whoever asks for it alone.
  const lines = north.log.filter(({ message }) => message === "a link was refused");
  expect(lines.map(({ level }) => level)).toEqual([
    ...Array<string>(20).fill("warn"),
    ...Array<string>(2).fill("debug"),
  ]);
  expect((await north.links()).length).toBe(1);
  const known = await LinkCaller.dial(url);
  await known.prove(LINKED_APP, LINK_SECRET);
  expect((await known.next())?.t).toBe("bye");
});

test("no app is opened before the proof, whatever its id", async () => {
  const north = await LinkedServer.start();
  await north.replicate("POST", {});
  const open = (): readonly string[] => north.server.apps.open.map(({ id }) => id);
  await vi.waitFor(() => expect(open()).toEqual([]));
  const caller = await LinkCaller.dial(north.server.replicationUrl ?? "");
  await caller.prove(LINKED_APP, "a-secret-that-is-guessed");
  expect((await caller.next())?.t).toBe("bye");
  expect(open()).toEqual([]);
});

test("[S49] a side without a proof is not believed when it claims that there is another link", async () => {
  const message = "there is another link between these two";
  const address = await answering(() => ({ t: "bye", code: "duplicate", message }));
  const south = await calling(address);
  expect(await errorCode(south)).toBe("duplicate");
  const [link] = await south.links();
  // It tries again and again.
  expect(["waiting", "connecting"]).toContain(link?.state);
  expect([link?.partner, link?.lastError?.message]).toEqual([null, message]);
});

test("[S48] after the proof the accepting side may send as much as a link does", async () => {
  const accept = new Uint8Array(32).fill(8);
  let dial = CALLER_NONCE;
  const answers: string[] = [];
  const address = await answering((message, channel) => {
    answers.push(message.t);
    if (message.t === "link") {
      dial = message.nonce;
      return { ...message, nonce: accept };
    }
    if (message.t === "proof") {
      const bytes = linkProofBytes({ app: LINKED_APP, side: "accept", nonces: { dial, accept } });
      return { t: "proof", proof: createHmac("sha256", LINK_SECRET).update(bytes).digest() };
    }
    if (message.t !== "linked") return undefined;
    // Both come at once, with more than a greeting may have.
    const query = `SELECT * FROM cars WHERE n == '${"n".repeat(20_000)}'`;
    channel.send(encodeMessage({ ...message, history: "ab".repeat(16) }));
    return { t: "subscribe", id: 1, query, args: {} };
  });
  const south = await calling(address);
  await vi.waitFor(() => expect(answers).toContain("subscribed"), 10_000);
  expect((await south.until("linked")).lastError).toBeNull();
});

test.each([
  ["the server closes", (south: LinkedServer): Promise<unknown> => south.close()],
  [
    "its address is removed",
    (south: LinkedServer): Promise<unknown> => south.replicate("PATCH", { connections: null }),
  ],
])("a call without an answer is given up when %s", async (_, stop) => {
  const calls: Socket[] = [];
  const silent = createServer((call) => void calls.push(call.on("error", () => {}).resume()));
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    for (const call of calls) call.destroy();
    silent.close();
  });
  const south = await calling(`127.0.0.1:${(silent.address() as AddressInfo).port}`);
  await vi.waitFor(() => expect(calls.length).toBe(1), 5_000);
  await stop(south);
  // Long before the call would have ended by itself.
  await vi.waitFor(() => expect(calls.map(({ closed }) => closed)).toEqual([true]), 4_000);
});

test("many callers from one address that send garbage are logged up to a limit", async () => {
  const north = await LinkedServer.start();
  const url = north.server.replicationUrl ?? "";
  for (let i = 0; i < 25; i++) {
    const caller = await LinkCaller.dial(url);
    if (i % 2 === 0) caller.socket.send(Uint8Array.of(255));
    else caller.greet(LINKED_APP, { version: 1 });
    expect((await caller.next())?.t).toBe("bye");
    caller.socket.close();
  }
  const lines = north.log.filter(({ message }) => message === "a link was refused");
  expect(lines.map(({ level }) => level)).toEqual([
    ...Array<string>(20).fill("warn"),
    ...Array<string>(5).fill("debug"),
  ]);
});
