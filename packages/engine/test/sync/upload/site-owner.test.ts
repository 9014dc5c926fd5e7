/**
 * Whose site it is, as a session hears it: to others than its owner a site is like one that there is
 * not, and a credential begins only so many sites, and has only so many uploads refused.
 */

import type { ServerMessage, UploadMessage, UploadOperation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { UNAPPLIED_SITE_MS, UPLOAD_WAIT_MS_MAX } from "../../../src/limits.ts";
import { lastUploadOf } from "../../../src/store/taken-upload.ts";
import type { Upload } from "../../../src/store/upload.ts";
import type { SyncServer } from "../../../src/sync/sync-server.ts";
import { UploadAllowance } from "../../../src/sync/upload/upload-allowance.ts";
import { authorityOf } from "../../support/caller.ts";
import { fieldsOf } from "../../support/open-store.ts";
import { openSyncServer, type SyncBench } from "../../support/open-sync-server.ts";
import { SiteUploads } from "../../support/site-uploads.ts";
import { helloOf, SyncClient } from "../../support/sync-client.ts";

const FRESH = "00000000000000ff";

function insert(id: string): UploadOperation {
  return { kind: "insert", collection: "cars", id, fields: { n: 1 } };
}

function messageOf({ number, digest, steps }: Upload): UploadMessage {
  return { t: "upload", number, digest, steps };
}

async function join(bench: SyncBench, token: string, site: string): Promise<SyncClient> {
  const client = new SyncClient(bench.server, bench.platform);
  client.say(helloOf(token, { site }));
  await client.next("welcome");
  return client;
}

function welcomeOf({ heard }: SyncClient): Extract<ServerMessage, { t: "welcome" }> {
  const [first] = heard;
  if (first?.t !== "welcome") throw new Error("expected a welcome");
  return first;
}

/** What a session of a credential hears of a site, whatever it asks, without the name of the site. */
async function heardOf(bench: SyncBench, token: string, site: string): Promise<unknown[]> {
  const client = await join(bench, token, site);
  const other = new SiteUploads(bench.platform, site);
  const heard: unknown[] = [welcomeOf(client).known];
  const first = other.next(insert("x"));
  for (const upload of [other.next(insert("y")), other.next(insert("z"))]) {
    client.say({ t: "site", site });
    heard.push((await client.next("site")).known);
    client.say(messageOf(upload), messageOf({ ...upload, number: upload.number + 1 }));
    const { t, number } = await client.next("forked");
    heard.push([t, number]);
  }
  // One whose digest is that of another content.
  client.say({ t: "site", site });
  client.say(messageOf({ ...first, digest: new Uint8Array(32) }));
  heard.push((await client.next("forked")).number);
  client.connection.closed();
  return heard;
}

test("[S58] `welcome` and `site` give the number of uploads to the owner of a site alone", async () => {
  const bench = await openSyncServer();
  const peer = new SiteUploads(bench.platform);
  const ann = await join(bench, "ann", peer.site);
  const uploads = [peer.next(insert("a")), peer.next(insert("b"))];
  ann.say(...uploads.map(messageOf));
  const outcomes = [];
  while (outcomes.length < 2) outcomes.push(...(await ann.next("committed")).outcomes);
  expect(welcomeOf(await join(bench, "ann", peer.site)).known).toBe(2);
  const bob = await join(bench, "bob", peer.site);
  expect(welcomeOf(bob).known).toBe(0);
  bob.say({ t: "site", site: peer.site });
  expect(await bob.next("site")).toEqual({ t: "site", site: peer.site, known: 0 });
  // Whatever he tries, it is what he hears of a site that there is not.
  const tried = await heardOf(bench, "bob", peer.site);
  expect(tried).toEqual(await heardOf(bench, "bob", FRESH));
  expect(lastUploadOf(bench.store, FRESH)).toBe(0);
  expect(bench.faults).toEqual([]);
});

test("[S58] [S80] a sender under another's site gets `forked`; uploads taken before have their outcome", async () => {
  const bench = await openSyncServer();
  const peer = new SiteUploads(bench.platform);
  const ann = await join(bench, "ann", peer.site);
  const taken = [peer.next(insert("a")), peer.next(insert("b")), peer.next(insert("c"))];
  ann.say(...taken.slice(0, 2).map(messageOf));
  await ann.next("committed");
  const bob = await join(bench, "bob", peer.site);
  // The first outcome was heard; the second was not, and the third upload never came.
  bob.say(...taken.slice(1).map(messageOf));
  expect(await bob.next("forked")).toEqual({ t: "forked", site: peer.site, number: 3 });
  const { outcomes } = await bob.next("committed");
  expect(outcomes.map(({ number, kind }) => [number, kind])).toEqual([[2, "applied"]]);
  expect(fieldsOf(bench.store, "cars", "c")).toBeUndefined();
});

test("[S58] a session that changes its user cannot write under the site of the former user", async () => {
  const bench = await openSyncServer();
  const peer = new SiteUploads(bench.platform);
  const client = await join(bench, "ann", peer.site);
  client.say(messageOf(peer.next(insert("a"))));
  await client.next("committed");
  client.say({ t: "token", token: "bob" });
  await client.next("rights");
  client.say(messageOf(peer.next(insert("b"))));
  expect(await client.next("forked")).toEqual({ t: "forked", site: peer.site, number: 2 });
});

test("[S81] a site without an applied upload expires after a day: its peer takes a new one", async () => {
  const bench = await openSyncServer();
  bench.admissions.set("ann", { authority: authorityOf({}, {}), credential: "ann" });
  const peer = new SiteUploads(bench.platform);
  const ann = await join(bench, "ann", peer.site);
  ann.say(messageOf(peer.next(insert("a"))));
  expect((await ann.next("committed")).outcomes[0]?.kind).toBe("refused");
  bench.platform.nowMs += UNAPPLIED_SITE_MS + 1000;
  await bench.store.transact((transaction) => transaction.apply([insert("z")]));
  await bench.store.maintain();
  ann.say(messageOf(peer.next(insert("b"))));
  expect((await ann.next("forked")).number).toBe(2);
  expect(welcomeOf(await join(bench, "ann", peer.site)).known).toBe(0);
});

interface Limited extends SyncBench {
  readonly server: SyncServer;
  readonly pass: (ms: number) => void;
}

async function limited(newSites: number, refusedUploads: number): Promise<Limited> {
  let nowMs = 0;
  const allowance = new UploadAllowance(() => nowMs, {
    newSites: { most: newSites, refillMs: 2000 },
    refusedUploads: { most: refusedUploads, refillMs: 2000 },
  });
  const bench = await openSyncServer({ allowance });
  bench.admissions.set("ann", { authority: authorityOf({}, {}), credential: "ann" });
  return {
    ...bench,
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

function siteOf(number: number): string {
  return number.toString(16).padStart(16, "0");
}

test("[S59] a credential that starts many sites is disconnected for a while, and loses nothing", async () => {
  const bench = await limited(3, 100);
  const client = await join(bench, "full", siteOf(1));
  const uploads = Array.from({ length: 4 }, (_, i) => {
    return new SiteUploads(bench.platform, siteOf(i + 1)).next(insert(`a${i}`));
  });
  for (const upload of uploads) client.say({ t: "site", site: upload.site }, messageOf(upload));
  expect(await client.next("bye")).toMatchObject({ code: "busy", after: 2000 });
  const applied = (): number =>
    uploads.filter(({ site }) => lastUploadOf(bench.store, site) > 0).length;
  await bench.store.transact(() => undefined);
  expect(applied()).toBe(3);
  // Whoever has a site goes on; so does another credential.
  const known = new SiteUploads(bench.platform, siteOf(1));
  known.next(insert("a0"));
  const first = await join(bench, "full", siteOf(1));
  first.say(messageOf(known.next(insert("more"))));
  expect((await first.next("committed")).outcomes[0]?.kind).toBe("applied");
  const other = await join(bench, "other", siteOf(9));
  other.say(messageOf(new SiteUploads(bench.platform, siteOf(9)).next(insert("o"))));
  expect((await other.next("committed")).outcomes[0]?.kind).toBe("applied");
  bench.pass(2000);
  const again = await join(bench, "full", siteOf(4));
  again.say(...uploads.slice(3).map(messageOf));
  expect((await again.next("committed")).outcomes[0]?.kind).toBe("applied");
});

test("[S59] repeats, forks and failures of a first upload do not count as a new site", async () => {
  const bench = await limited(2, 100);
  const peer = new SiteUploads(bench.platform, siteOf(1));
  const first = peer.next(insert("a"));
  for (let i = 0; i < 5; i++) {
    const client = await join(bench, "full", siteOf(1));
    client.say(messageOf(first));
    await client.next("committed");
    client.say(messageOf({ ...first, digest: new Uint8Array(32) }));
    await client.next("forked");
  }
  const other = await join(bench, "full", siteOf(2));
  other.say(messageOf(new SiteUploads(bench.platform, siteOf(2)).next(insert("b"))));
  expect((await other.next("committed")).outcomes[0]?.kind).toBe("applied");
});

test("[S59] the rate of refused uploads is limited for each credential, over all its sessions", async () => {
  const bench = await limited(1000, 5);
  let records = 0;
  for (let session = 0; session < 10; session++) {
    const peer = new SiteUploads(bench.platform, siteOf(session + 1));
    const client = await join(bench, "ann", peer.site);
    for (let i = 0; i < 4 && !client.isClosed; i++) {
      client.say(messageOf(peer.next(insert(`a${i}`))));
      while (!client.isClosed && lastUploadOf(bench.store, peer.site) <= i)
        await bench.platform.pause();
    }
    records += lastUploadOf(bench.store, peer.site);
    if (client.isClosed) {
      const bye = await client.next("bye");
      expect(bye).toMatchObject({ code: "busy" });
      expect(bye.after).toBeLessThanOrEqual(UPLOAD_WAIT_MS_MAX);
    }
  }
  expect(records).toBe(5);
});
