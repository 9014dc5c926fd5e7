/**
 * Sites of Big Peers: nobody uploads under them, at any store that has heard of them (S60, K75).
 */

import { timeOfMs, type UploadOperation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { SERVER_SITES_MAX } from "../../src/limits.ts";
import { LINK_LIMITS } from "../../src/link/link-state.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { IDENTITY_KEY } from "../../src/store/keys.ts";
import { noteServerSites, serverSites } from "../../src/store/server-sites.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import type { Upload } from "../../src/store/upload.ts";
import {
  ALL,
  follow,
  followBoth,
  type LinkedStore,
  LinkWire,
  linkedStore,
  NONE_PULLED,
  settled,
  shown,
} from "../support/linked-stores.ts";
import { dump } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";
import { SiteUploads } from "../support/site-uploads.ts";

const DEVICE = "00000000000000dd";

const EDITS = [{ kind: "increment", path: ["n"], by: 1, counter: "counter" }] as const;
const INCREMENT: UploadOperation = { kind: "update", collection: "cars", id: "tea", edits: EDITS };

/** Increments of a counter as a peer numbers them. */
function increments({ platform }: LinkedStore, site: string, time: number): () => Upload {
  const uploads = new SiteUploads(platform, site, time);
  return () => uploads.next(INCREMENT);
}

/** What a credential hears that uploads an increment under a site, with a stamp of the future. */
async function forge(at: LinkedStore, { store: { identity } }: LinkedStore): Promise<string> {
  const time = timeOfMs(at.platform.nowMs + 240_000);
  const upload = increments(at, identity.site, time)();
  return (await takeUpload(at.store, upload, undefined, { owner: "mallory" })).kind;
}

async function count(at: LinkedStore, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await at.execute("UPDATE cars APPLY n INCREMENT BY 1 WHERE _id = 'tea'");
  }
}

async function tea(at: LinkedStore): Promise<void> {
  await at.execute("INSERT INTO cars DOCUMENTS ({'_id': 'tea'})");
  await count(at, 1);
}

test("[S60] [K75] uploads under the site of a Big Peer at another one do not lose its increments", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  await tea(b);
  const first = follow(a, b);
  await settled([a, b], [first]);
  first.cut();
  await count(b, 10);
  expect(await forge(a, b)).toBe("forked");
  const second = followBoth(a, b);
  await settled([a, b], [second]);
  expect([shown(a), shown(b)]).toEqual([{ tea: { n: 11 } }, { tea: { n: 11 } }]);
});

test("[S60] the same holds at a side that pulls nothing, and in both directions", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  const wire = new LinkWire({ at: a, queries: NONE_PULLED }, { at: b, queries: ALL });
  await settled([a, b], [wire]);
  expect([await forge(a, b), await forge(b, a)]).toEqual(["forked", "forked"]);
  const kept = [...dump(a.storage)].filter(([key]) => key !== IDENTITY_KEY);
  expect(await replay(a.storage, siteOf(a))).toEqual(new Map(kept));
});

test("[S60] a site is passed on: in `linked` to new links, with a ping to existing ones", async () => {
  const [a, hub, b] = [await linkedStore("a"), await linkedStore("hub"), await linkedStore("b")];
  const early = follow(a, hub);
  await settled([a, hub], [early]);
  const late = follow(hub, b);
  await settled([a, hub, b], [early, late]);
  expect(serverSites(a.store.snapshot())).not.toContain(b.store.identity.site);
  pass(early, a, hub);
  await settled([a, hub, b], [early, late]);
  expect(await forge(a, b)).toBe("forked");
  expect(await forge(b, a)).toBe("forked");
  const pings = early.dial.heard.filter(({ t }) => t === "ping");
  expect(pings).toMatchObject([{ sites: expect.arrayContaining([hub, a, b].map(siteOf)) }]);
});

test("[S60] a known site makes no transaction, and is not sent again", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  const first = follow(a, b);
  await settled([a, b], [first]);
  first.cut();
  await settled([a, b], [first]);
  const before = [a.store.txnId, b.store.txnId];
  const second = follow(a, b);
  await settled([a, b], [second]);
  pass(second, a, b);
  await settled([a, b], [second]);
  expect([a.store.txnId, b.store.txnId]).toEqual(before);
  const pings = second.dial.heard.filter(({ t }) => t === "ping");
  expect(pings.map((ping) => "sites" in ping)).toEqual([false]);
});

test("[K75] a sender that used the site of a Big Peer first cannot upload under it once it is known", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  await a.put("cars", { _id: "tea" });
  const next = increments(a, siteOf(b), timeOfMs(a.platform.nowMs));
  expect((await takeUpload(a.store, next(), undefined, { owner: "mallory" })).kind).toBe("taken");
  const wire = follow(a, b);
  await settled([a, b], [wire]);
  expect((await takeUpload(a.store, next(), undefined, { owner: "mallory" })).kind).toBe("forked");
  expect(shown(a)).toEqual({ tea: { n: 1 } });
});

test("[K26] [K75] a restored store takes no uploads under its former site, and sends that site to others", async () => {
  const former = await linkedStore("a");
  await tea(former);
  await renewIdentity(former.storage, former.platform);
  const a = await linkedStore("a", { platform: former.platform, disk: former.disk });
  expect(await forge(a, former)).toBe("forked");
  const b = await linkedStore("b");
  const wire = follow(b, a);
  await settled([a, b], [wire]);
  expect(await forge(b, former)).toBe("forked");
  expect(await forge(b, a)).toBe("forked");
});

test("[S30] [K75] a device can use its site that came over a link: uploads offered again count once", async () => {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  await a.put("cars", { _id: "tea" });
  const wire = followBoth(b, a);
  await settled([a, b], [wire]);
  const next = increments(a, DEVICE, timeOfMs(a.platform.nowMs));
  const uploads = [next(), next()];
  for (const upload of uploads)
    await takeUpload(a.store, upload, undefined, { owner: "dora at a" });
  await settled([a, b], [wire]);
  expect(shown(b)).toEqual({ tea: { n: 2 } });
  for (const upload of [...uploads, next()]) {
    expect((await takeUpload(b.store, upload, undefined, { owner: "dora at b" })).kind).toBe(
      "taken",
    );
  }
  await settled([a, b], [wire]);
  expect([shown(a), shown(b)]).toEqual([{ tea: { n: 3 } }, { tea: { n: 3 } }]);
});

test("[K75] a store keeps a bounded number of sites", async () => {
  const { store } = await linkedStore("a");
  const reported = Array.from({ length: SERVER_SITES_MAX + 10 }, (_, i) =>
    `${i}`.padStart(16, "0"),
  );
  await noteServerSites(store, reported);
  expect(serverSites(store.snapshot())).toHaveLength(SERVER_SITES_MAX);
});

/** Lets the time of a ping pass. */
function pass(wire: LinkWire, ...stores: readonly LinkedStore[]): void {
  const elapsedMs = performance.now() + LINK_LIMITS.pingMs;
  for (const { platform } of stores) Object.assign(platform, { elapsed: () => elapsedMs });
  wire.tick();
}

function siteOf({ store }: LinkedStore): string {
  return store.identity.site;
}
