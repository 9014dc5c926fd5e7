/**
 * SyncServer: whole sessions over channels in memory, on a real store.
 */

import {
  type Hello,
  PeerError,
  type PeerMessage,
  timeOfMs,
  type UploadMessage,
  type UploadOperation,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { lastUploadOf, takeUpload } from "../../src/store/taken-upload.ts";
import type { Upload } from "../../src/store/upload.ts";
import type { Admission } from "../../src/sync/session/session-event.ts";
import { SyncServer, type SyncServerOptions } from "../../src/sync/sync-server.ts";
import { authorityOf, type Rules } from "../support/caller.ts";
import { fieldsOf, openStore } from "../support/open-store.ts";
import { SiteUploads } from "../support/site-uploads.ts";
import { helloOf, SyncClient } from "../support/sync-client.ts";
import { START_MS, type TestPlatform } from "../support/test-platform.ts";

const APP = "app1";
const QUERY = "SELECT * FROM cars";

interface Bench {
  readonly store: Store;
  readonly server: SyncServer;
  readonly platform: TestPlatform;
  readonly faults: unknown[];
  /** By token; what is not here is not known. */
  readonly admissions: Map<string, Admission>;
  readonly client: () => SyncClient;
  /** One that was welcomed. */
  readonly session: (token?: string, change?: Partial<Hello>) => Promise<SyncClient>;
  readonly write: (...operations: UploadOperation[]) => Promise<number>;
  readonly peer: SiteUploads;
}

const servers: SyncServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function bench(options: Partial<SyncServerOptions> = {}): Promise<Bench> {
  const { store, platform } = await openStore();
  const faults: unknown[] = [];
  const admissions = new Map<string, Admission>([
    ["full", { authority: undefined, credential: "full" }],
    ["ada", admissionOf({ cars: ["owner == 'ada'"] })],
  ]);
  const server = new SyncServer({
    store,
    platform,
    appId: APP,
    admit: (token) => admissions.get(token),
    onFault: (error) => faults.push(error),
    ...options,
  });
  servers.push(server);
  const client = (): SyncClient => new SyncClient(server, platform);
  return {
    store,
    server,
    platform,
    faults,
    admissions,
    client,
    session: async (token = "full", change = {}) => {
      const made = client();
      made.say(helloOf(token, change));
      await made.next("welcome");
      return made;
    },
    write: async (...operations) =>
      (await store.transact((transaction) => transaction.apply(operations))).txnId,
    peer: new SiteUploads(platform),
  };
}

function admissionOf(rules: Rules, expiresMs?: number): Admission {
  return { authority: authorityOf(rules, rules), credential: "ada", expiresMs };
}

function insert(id: string, fields: ValueObject): UploadOperation {
  return { kind: "insert", collection: "cars", id, fields };
}

function set(id: string, name: string, value: Value): UploadOperation {
  return { kind: "update", collection: "cars", id, edits: [{ kind: "set", path: [name], value }] };
}

function messageOf({ number, digest, steps }: Upload): UploadMessage {
  return { t: "upload", number, digest, steps };
}

function subscribeTo(query: string, id = 1, args: ValueObject = {}): PeerMessage {
  return { t: "subscribe", id, query, args };
}

/** Kind and id of what came, in short. */
function entriesOf({ entries }: { readonly entries: readonly (readonly unknown[])[] }): unknown[] {
  return entries.map(([kind, id]) => [kind, id]);
}

test("[S4] [S14] [S16] [S28] hello, subscribe, fill, live, upload, outcome", async () => {
  const { store, write, session, peer } = await bench();
  await write(insert("a", { n: 1 }), insert("b", { n: 2 }));
  const client = await session();
  client.say(subscribeTo(QUERY));
  const subscribed = await client.next("subscribed");
  expect(subscribed).toMatchObject({ id: 1, collection: "cars", mode: "fill" });
  expect(entriesOf(await client.next("documents"))).toEqual([
    ["put", "a"],
    ["put", "b"],
  ]);
  expect(await client.next("complete")).toEqual({
    t: "complete",
    filter: subscribed.filter,
    txn: 1,
  });
  await write(insert("c", { n: 3 }));
  expect(entriesOf(await client.next("documents"))).toEqual([["put", "c"]]);
  client.say(messageOf(peer.next(set("a", "n", 10))));
  const changed = await client.next("documents");
  expect(changed.entries.map(([, id]) => id)).toEqual(["a"]);
  const { txn, outcomes } = await client.next("committed");
  expect(txn).toBe(3);
  const outcome = { site: peer.site, number: 1, kind: "applied", txn: 3, reason: "" };
  expect(outcomes).toEqual([{ ...outcome, documents: [] }]);
  expect(fieldsOf(store, "cars", "a")).toEqual({ n: 10 });
});

test("[S28] an outcome carries the written documents that no subscription brought", async () => {
  const { session, peer } = await bench();
  const client = await session();
  client.say(messageOf(peer.next(insert("a", { n: 1 }))));
  const { outcomes } = await client.next("committed");
  expect(outcomes[0]?.documents.map(([collection, entry]) => [collection, entry[0]])).toEqual([
    ["cars", "put"],
  ]);
});

describe("connection", () => {
  test("[S4] welcome has the history, the app, the position and the known number of the site", async () => {
    const { store, write, client, peer } = await bench();
    await write(insert("a", {}));
    await takeUpload(store, peer.next(insert("b", {})));
    const first = client();
    first.say(helloOf("full", { site: peer.site }));
    expect(await first.next("welcome")).toMatchObject({
      history: store.identity.historyId,
      app: APP,
      txn: 2,
      now: START_MS,
      known: 1,
      bounds: { messageBytes: 16 * 1024 * 1024, uploads: 64, subscriptions: 1000 },
    });
  });

  test("[S4] the digest of the rights is equal exactly for sessions that may read the same", async () => {
    const { client, admissions } = await bench();
    const everything = { authority: authorityOf(true, {}), credential: "reader" };
    admissions.set("reader", everything);
    admissions.set("eve", { ...admissionOf({ cars: ["owner == 'ada'"] }), credential: "eve" });
    admissions.set("bob", admissionOf({ cars: ["owner == 'bob'"] }));
    const digests: string[] = [];
    for (const token of ["full", "reader", "ada", "eve", "bob"]) {
      const each = client();
      each.say(helloOf(token));
      const { rights } = await each.next("welcome");
      expect(rights.length).toBe(16);
      digests.push(Buffer.from(rights).toString("hex"));
    }
    const [full, reader, ada, eve, bob] = digests;
    expect([reader, eve]).toEqual([full, ada]);
    expect(new Set([full, ada, bob]).size).toBe(3);
  });

  test("[S1] a frame that cannot be read ends its connection, and no other", async () => {
    const { server, session, write } = await bench();
    const good = await session();
    good.say(subscribeTo(QUERY));
    await good.next("complete");
    for (const bytes of [
      new Uint8Array(),
      Uint8Array.of(0xff, 1, 2),
      Uint8Array.of(0xa0),
      new TextEncoder().encode("hello"),
    ]) {
      const bad = await session();
      bad.connection.receive(bytes);
      expect(await bad.next("bye")).toMatchObject({ code: "malformed" });
      expect(bad.isClosed).toBe(true);
      bad.say({ t: "ping", now: 1 });
      expect(bad.rest()).toEqual([]);
    }
    await write(insert("a", {}));
    expect(entriesOf(await good.next("documents"))).toEqual([["put", "a"]]);
    expect(server.stats()).toMatchObject({ connections: 1, sessions: 1 });
  });

  test("[S3] invalid credentials are disconnected and counted", async () => {
    const { server, client } = await bench();
    for (const hello of [helloOf("nobody"), helloOf("full", { app: "app2" })]) {
      const each = client();
      each.say(hello);
      expect(await each.next("bye")).toMatchObject({ code: "unauthorized" });
      expect(each.isClosed).toBe(true);
    }
    expect(server.stats()).toMatchObject({ connections: 0, sessions: 0, refusals: 2 });
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no registry");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no registry"))],
  ])("[S3] if the host %s, the peer is asked to reconnect", async (_, admit) => {
    const { client, faults } = await bench({ admit });
    const each = client();
    each.say(helloOf("full"));
    expect(await each.next("bye")).toMatchObject({ code: "busy", after: 1000 });
    expect(faults).toHaveLength(1);
  });

  test("[S3] the host may take time to answer", async () => {
    const { platform, client } = await bench({
      admit: async (token, { site }, channel) => {
        await platform.pause();
        const isRight = token === "slow" && site !== "" && channel instanceof SyncClient;
        return isRight ? { authority: undefined, credential: "k" } : undefined;
      },
    });
    const each = client();
    each.say(helloOf("slow"));
    expect((await each.next("welcome")).app).toBe(APP);
  });

  test("[S6] a stopping server sends bye to all, and accepts no new sessions", async () => {
    const { server, session, client } = await bench();
    const welcomed = await session();
    const silent = client();
    server.close();
    const late = client();
    for (const each of [welcomed, silent, late]) {
      expect(await each.next("bye")).toMatchObject({ code: "closing" });
      expect(each.isClosed).toBe(true);
    }
    expect(server.stats()).toMatchObject({ connections: 0, sessions: 0, groups: 0 });
  });

  test("[S67] a revoked key ends its sessions", async () => {
    const { session } = await bench();
    const client = await session("ada");
    client.connection.changeRights(undefined);
    expect(await client.next("bye")).toMatchObject({ code: "unauthorized" });
  });

  test("[S7] a token that expires ends its session unless there is another one", async () => {
    const { server, platform, session, admissions } = await bench();
    admissions.set("short", admissionOf({ cars: ["true"] }, START_MS + 5000));
    admissions.set("long", admissionOf({ cars: ["true"] }, START_MS + 9000));
    const first = await session("short");
    const second = await session("short");
    second.say({ t: "token", token: "long" });
    expect((await second.next("rights")).expires).toBe(START_MS + 9000);
    platform.nowMs = START_MS + 5000;
    server.tick();
    expect(await first.next("bye")).toMatchObject({ code: "expired" });
    expect(second.isClosed).toBe(false);
    platform.nowMs = START_MS + 9000;
    server.tick();
    expect(await second.next("bye")).toMatchObject({ code: "expired" });
  });

  test("an unexpected error ends one connection, and is reported", async () => {
    const { server, store, session, faults } = await bench();
    const other = await session();
    const client = await session();
    const fault = new Error("a fault of ours");
    store.read = () => {
      throw fault;
    };
    client.say({ t: "site", site: "00000000000000bb" });
    expect(await client.next("bye")).toMatchObject({ code: "busy", after: 1000 });
    expect(faults).toEqual([fault]);
    other.say({ t: "ping", now: 5 });
    expect((await other.next("pong")).ping).toBe(5);
    expect(server.stats().connections).toBe(1);
  });

  test("a closed connection leaves nothing behind", async () => {
    const { server, session } = await bench();
    const client = await session();
    client.say(subscribeTo(QUERY));
    await client.next("complete");
    expect(server.stats()).toMatchObject({ connections: 1, subscriptions: 1, groups: 1 });
    client.connection.closed();
    client.connection.closed();
    client.say({ t: "ping", now: 1 });
    expect(client.rest()).toEqual([]);
    expect(server.stats()).toMatchObject({ connections: 0, subscriptions: 0, groups: 0 });
  });
});

describe("subscriptions", () => {
  test("[S9] an invalid subscription is answered with the place of the error", async () => {
    const { session } = await bench();
    const client = await session("ada");
    client.say(subscribeTo("SELECT * FRM cars"));
    expect(await client.next("unsubscribed")).toMatchObject({ id: 1, code: "query.syntax" });
    client.say(subscribeTo("SELECT * FROM parts"));
    expect(await client.next("unsubscribed")).toMatchObject({ id: 1, code: "permission.denied" });
  });

  test("[S21] an ended subscription gets nothing more", async () => {
    const { platform, session, write } = await bench();
    const client = await session();
    client.say(subscribeTo(QUERY), subscribeTo("SELECT * FROM parts", 2));
    await client.next("complete");
    await client.next("complete");
    client.say({ t: "unsubscribe", id: 1 });
    await write(insert("a", {}));
    const part = { kind: "insert", collection: "parts", id: "p", fields: {} } as const;
    await write(part);
    expect(entriesOf(await client.next("documents"))).toEqual([["put", "p"]]);
    await platform.pause();
  });

  test("[S20] a subscription with reduced permission continues with what may still be read", async () => {
    const { session, write } = await bench();
    await write(insert("a", { owner: "ada" }), insert("b", { owner: "bob" }));
    const client = await session();
    client.say(subscribeTo(QUERY));
    const before = await client.next("subscribed");
    await client.next("complete");
    client.connection.changeRights(admissionOf({ cars: ["owner == 'ada'"] }));
    await client.next("rights");
    const after = await client.next("subscribed");
    expect(after).toMatchObject({ id: 1, mode: "compare" });
    expect(after.filter).not.toEqual(before.filter);
    const versions = await client.next("versions");
    expect(versions.list.map(([id]) => id)).toEqual(["a"]);
    client.say({ t: "want", filter: after.filter, ids: [], isLast: true });
    expect((await client.next("complete")).filter).toEqual(after.filter);
    await write(set("b", "n", 1));
    await write(set("a", "n", 1));
    const live = await client.next("documents");
    expect(live.entries.map(([, id]) => id)).toEqual(["a"]);
  });

  test("[S20] a change of permissions that does not change a filter does not affect it", async () => {
    const { session, write } = await bench();
    const client = await session("ada");
    client.say(subscribeTo(QUERY));
    await client.next("complete");
    client.connection.changeRights(admissionOf({ cars: ["owner == 'ada'"], parts: ["true"] }));
    await client.next("rights");
    await write(insert("a", { owner: "ada" }));
    expect(entriesOf(await client.next("documents"))).toEqual([["put", "a"]]);
    expect(client.heard.filter(({ t }) => t === "subscribed")).toHaveLength(1);
  });

  test("[S20] a subscription without a rule ends", async () => {
    const { server, session } = await bench();
    const client = await session();
    client.say(subscribeTo(QUERY));
    await client.next("complete");
    client.connection.changeRights(admissionOf({ parts: ["true"] }));
    await client.next("rights");
    expect(await client.next("unsubscribed")).toMatchObject({ id: 1, code: "permission.denied" });
    expect(server.stats()).toMatchObject({ sessions: 1, subscriptions: 0, groups: 0 });
  });
});

describe("uploads", () => {
  test("[S25] many uploads at once are applied in order", async () => {
    const { store, session, peer } = await bench();
    const client = await session();
    const uploads = [peer.next(insert("a", { n: 0 }))];
    for (let n = 1; n < 64; n++) uploads.push(peer.next(set("a", "n", n)));
    client.say(...uploads.map(messageOf));
    const numbers: number[] = [];
    while (numbers.length < 64) {
      const { outcomes } = await client.next("committed");
      numbers.push(...outcomes.map(({ number }) => number));
    }
    expect(numbers).toEqual(uploads.map(({ number }) => number));
    expect(fieldsOf(store, "cars", "a")).toEqual({ n: 63 });
    expect(client.isClosed).toBe(false);
  });

  test("[S25] an upload that is repeated on the next connection gets the same answer", async () => {
    const { server, session, peer } = await bench();
    const upload = messageOf(peer.next(insert("a", { n: 0 })));
    const first = await session();
    first.say(upload);
    const reported = await first.next("committed");
    const second = await session();
    second.say(upload);
    const again = await second.next("committed");
    expect(again.outcomes).toEqual(reported.outcomes);
    expect(server.stats().uploads).toEqual({ applied: 2, refused: 0, stale: 0 });
  });

  test("[S26] [S27] an upload that the session may not write is refused, and the next is applied", async () => {
    const { store, session, peer } = await bench();
    const client = await session("ada");
    const denied = peer.next(insert("a", { owner: "bob" }));
    const allowed = peer.next(insert("b", { owner: "ada" }));
    client.say(messageOf(denied), messageOf(allowed));
    const outcomes = [];
    while (outcomes.length < 2) outcomes.push(...(await client.next("committed")).outcomes);
    expect(outcomes.map(({ number, kind }) => [number, kind])).toEqual([
      [1, "refused"],
      [2, "applied"],
    ]);
    expect(outcomes[0]?.reason).toBe(
      "the credential has no permission to write this document of the collection cars",
    );
    expect(fieldsOf(store, "cars", "a")).toBeUndefined();
  });

  test("[S26] an upload is checked against the current permissions of the session", async () => {
    const { session, peer } = await bench();
    const client = await session();
    client.connection.changeRights(admissionOf({ cars: ["owner == 'ada'"] }));
    client.say(messageOf(peer.next(insert("a", { owner: "bob" }))));
    expect((await client.next("committed")).outcomes[0]?.kind).toBe("refused");
  });

  test("[S29] two stores that write as one site are detected", async () => {
    const { platform, session, peer } = await bench();
    const copy = new SiteUploads(platform);
    const client = await session();
    client.say(messageOf(peer.next(insert("a", {}))));
    await client.next("committed");
    const other = await session();
    other.say(messageOf(copy.next(insert("b", {}))), messageOf(copy.next(insert("c", {}))));
    expect(await other.next("forked")).toEqual({ t: "forked", site: peer.site, number: 1 });
    other.say({ t: "ping", now: 1 });
    await other.next("pong");
    expect(other.heard.filter(({ t }) => t === "forked" || t === "site")).toHaveLength(1);
  });

  test("[S31] the uploads of a former site are sent first, under its name", async () => {
    const { store, session, peer, platform } = await bench();
    const former = new SiteUploads(platform, "00000000000000bb");
    const sent = former.next(insert("a", { n: 1 }));
    await takeUpload(store, sent);
    const client = await session();
    client.say({ t: "site", site: former.site });
    expect(await client.next("site")).toEqual({ t: "site", site: former.site, known: 1 });
    client.say(messageOf(sent), messageOf(former.next(set("a", "n", 2))));
    client.say({ t: "site", site: peer.site });
    expect(await client.next("site")).toEqual({ t: "site", site: peer.site, known: 0 });
    client.say(messageOf(peer.next(insert("b", {}))));
    const outcomes = [];
    while (outcomes.length < 3) outcomes.push(...(await client.next("committed")).outcomes);
    expect(outcomes.map(({ site, number }) => [site, number])).toEqual([
      [former.site, 1],
      [former.site, 2],
      [peer.site, 1],
    ]);
  });

  test("[S32] a number that does not continue is answered with the last known one", async () => {
    const { session, peer } = await bench();
    const client = await session();
    const zeroth = peer.next(insert("z", {}));
    const first = peer.next(insert("a", {}));
    const second = peer.next(insert("b", {}));
    client.say(messageOf(zeroth), messageOf(second));
    expect(await client.next("site")).toEqual({ t: "site", site: peer.site, known: 1 });
    client.say(messageOf(first), messageOf(second));
    const outcomes = [];
    while (outcomes.length < 3) outcomes.push(...(await client.next("committed")).outcomes);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["applied", "applied", "applied"]);
  });

  test("[S76] an upload ahead of the clock is not applied, and the peer starts over", async () => {
    const { store, session, peer } = await bench();
    const client = await session();
    client.say(messageOf(peer.at(timeOfMs(START_MS + 86_400_000), [insert("a", {})])));
    expect(await client.next("forked")).toEqual({ t: "forked", site: peer.site, number: 1 });
    expect(await client.next("bye")).toMatchObject({ code: "busy" });
    expect(lastUploadOf(store, peer.site)).toBe(0);
  });

  test("an upload that the store cannot write ends the session, to be sent again", async () => {
    const { store, session, peer } = await bench();
    const client = await session();
    const transact = store.transactInSteps.bind(store);
    store.transactInSteps = () => Promise.reject(new PeerError("store.full", "the disk is full"));
    const message = messageOf(peer.next(insert("a", {})));
    client.say(message);
    expect(await client.next("bye")).toMatchObject({ code: "busy", after: 1000 });
    store.transactInSteps = transact;
    const again = await session();
    again.say(message);
    expect((await again.next("committed")).outcomes[0]?.kind).toBe("applied");
  });
});

test("[S5] an idle session receives the position up to which it is complete", async () => {
  let elapsedMs = 0;
  const { store, platform } = await openStore();
  platform.elapsed = () => elapsedMs;
  const admission = { authority: undefined, credential: "k" };
  const server = new SyncServer({ store, platform, appId: APP, admit: () => admission });
  servers.push(server);
  const client = new SyncClient(server, platform);
  client.say(helloOf("full"), subscribeTo("SELECT * FROM cars"));
  await client.next("complete");
  const part = { kind: "insert", collection: "parts", id: "p", fields: {} } as const;
  const { txnId } = await store.transact((transaction) => transaction.apply([part]));
  for (let turn = 0; turn < 20; turn++) await platform.pause();
  elapsedMs = 30_000;
  server.tick();
  expect(await client.next("ping")).toEqual({ t: "ping", now: START_MS, txn: txnId });
  elapsedMs = 60_000;
  server.tick();
  expect(await client.next("bye")).toMatchObject({ code: "too_slow" });
});
