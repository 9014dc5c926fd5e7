import type { UploadOperation } from "@bigpeer/protocol";
import { PeerError, timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { MAINTENANCE_BATCH, UNAPPLIED_SITE_MS, UPLOADS_REMEMBERED } from "../../src/limits.ts";
import { siteKey, unappliedKey } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/store.ts";
import { lastUploadOf, takeUpload } from "../../src/store/taken-upload.ts";
import { type CheckUpload, type Upload, uploadDigest } from "../../src/store/upload.ts";
import { dump, fieldsOf, openStore, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";
import { START_MS, testPlatform } from "../support/test-platform.ts";

const SITE = "00000000000000aa";
const platform = testPlatform();

/** Numbers and chains uploads as a peer does. */
function chain(site = SITE, startMs = START_MS): (...operations: UploadOperation[]) => Upload {
  let number = 0;
  let digest: Uint8Array | undefined;
  let time = timeOfMs(startMs) - 1000;
  return (...operations) => {
    const steps = [{ time: ++time, operations }];
    digest = uploadDigest(platform, digest, steps);
    return { site, number: ++number, digest, steps };
  };
}

function insert(id: string): UploadOperation {
  return { kind: "insert", collection: "c", id, fields: { n: 1 } };
}

function increment(id: string): UploadOperation {
  const edits = [{ kind: "increment", path: ["k"], by: 1 }] as const;
  return { kind: "update", collection: "c", id, edits };
}

const REFUSING: CheckUpload = () => () => {
  throw new PeerError("permission.denied", "no");
};

async function answer(store: Store, upload: Upload, owner: string): Promise<string> {
  const given = await takeUpload(store, upload, undefined, { owner });
  if (given.kind !== "taken") return given.kind;
  return `${given.record.outcome}${given.isReplay ? " before" : ""}`;
}

function sites(store: Store): number {
  return store.read(({ reader }) => [...reader.keys({ from: "u", to: "v" })].length);
}

test("[K63] a site belongs to its first sender: others write nothing under it", async () => {
  const { store, storage } = await openStore();
  const next = chain();
  const first = next(insert("a"));
  expect(await answer(store, first, "ann")).toBe("applied");
  const second = next(increment("a"));
  expect(await answer(store, second, "bob")).toBe("forked");
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1 });
  expect(await answer(store, second, "ann")).toBe("applied");
  expect(problems(storage)).toEqual([]);
});

test("[K63] another sender learns nothing of a site except the outcome of the same upload", async () => {
  const { store } = await openStore();
  const next = chain();
  const first = next(insert("a"));
  const second = next(increment("a"));
  await takeUpload(store, first, undefined, { owner: "ann" });
  await takeUpload(store, second, undefined, { owner: "ann" });
  expect(lastUploadOf(store, SITE, "ann")).toBe(2);
  expect(lastUploadOf(store, SITE, "bob")).toBe(0);
  // What was sent and not answered before the user changed has its effect once.
  expect(await answer(store, first, "bob")).toBe("applied before");
  expect(await answer(store, second, "bob")).toBe("applied before");
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, k: 1 });
  // Whatever number is tried, the answer is that of a site which there is not.
  const guess = chain();
  guess(insert("x"));
  for (let i = 0; i < 4; i++) {
    const upload = guess(insert(`x${i}`));
    const fresh = { ...upload, site: "00000000000000bb" };
    const answers = [await answer(store, upload, "bob"), await answer(store, fresh, "bob")];
    expect(answers).toEqual(["forked", "forked"]);
  }
});

test("[K63] a refused upload claims its site; an upload without a sender claims none", async () => {
  const { store } = await openStore();
  await takeUpload(store, chain()(insert("a")), REFUSING, { owner: "ann" });
  expect(await answer(store, chain()(insert("b")), "bob")).toBe("forked");
  const other = chain("00000000000000bb");
  await takeUpload(store, other(insert("c")));
  // As in a store from before: the next sender is the first.
  expect(lastUploadOf(store, "00000000000000bb", "bob")).toBe(1);
  expect(await answer(store, other(increment("c")), "bob")).toBe("applied");
  expect(await answer(store, other(increment("c")), "ann")).toBe("forked");
});

test("[K63] [K64] [K20] owners and times are in the log: a replay gives the same keys and values", async () => {
  const { store, storage, platform: host } = await openStore();
  const next = chain();
  await takeUpload(store, next(insert("a")), REFUSING, { owner: "ann" });
  await takeUpload(store, next(insert("b")), undefined, { owner: "ann" });
  await takeUpload(store, chain("00000000000000bb")(insert("c")), REFUSING, { owner: "bob" });
  host.nowMs += UNAPPLIED_SITE_MS + 1;
  await store.transact((transaction) => transaction.apply([insert("z")]));
  await takeUpload(store, chain("00000000000000cc", host.nowMs)(insert("d")), REFUSING, {
    owner: "bob",
  });
  await store.maintain();
  const made = await replay(storage, store.identity.site);
  const held = dump(storage);
  held.delete("s");
  expect(made).toEqual(held);
  expect(problems(storage)).toEqual([]);
});

test("[K64] a site without an applied upload is forgotten after a day, and its name is free", async () => {
  const { store, storage, platform: host } = await openStore();
  const refused = chain();
  await takeUpload(store, refused(insert("a")), REFUSING, { owner: "ann" });
  const applied = chain("00000000000000bb");
  await takeUpload(store, applied(insert("b")), REFUSING, { owner: "ann" });
  await takeUpload(store, applied(insert("b")), undefined, { owner: "ann" });
  await takeUpload(store, applied(insert("c")), REFUSING, { owner: "ann" });
  host.nowMs += UNAPPLIED_SITE_MS - 1000;
  // Its last upload counts, not its first.
  await takeUpload(store, refused(insert("a")), REFUSING, { owner: "ann" });
  host.nowMs += 2000;
  await store.transact((transaction) => transaction.apply([insert("z")]));
  await store.maintain();
  expect([lastUploadOf(store, SITE), lastUploadOf(store, "00000000000000bb")]).toEqual([2, 3]);
  host.nowMs += UNAPPLIED_SITE_MS;
  await store.transact((transaction) => transaction.apply([increment("z")]));
  await store.maintain();
  expect([lastUploadOf(store, SITE), lastUploadOf(store, "00000000000000bb")]).toEqual([0, 3]);
  expect(problems(storage)).toEqual([]);
  // A peer that goes on is told to take a new site; from its first upload on the name is anybody's.
  expect(await answer(store, refused(insert("d")), "ann")).toBe("forked");
  expect(await answer(store, chain()(insert("e")), "bob")).toBe("applied");
});

test.runIf(isFullSize)("[K64] sites are forgotten in bounded transactions", async () => {
  const { store, platform: host } = await openStore();
  const count = MAINTENANCE_BATCH / 2;
  const uploads = Array.from({ length: count }, (_, i) =>
    takeUpload(store, chain((i + 1).toString(16).padStart(16, "0"))(insert("a")), REFUSING, {
      owner: "ann",
    }),
  );
  const long = chain("ffffffffffffffff");
  for (let i = 0; i < UPLOADS_REMEMBERED + 10; i++) {
    uploads.push(takeUpload(store, long(insert("a")), REFUSING, { owner: "ann" }));
  }
  await Promise.all(uploads);
  expect(sites(store)).toBe(count + 1);
  host.nowMs += UNAPPLIED_SITE_MS + 1000;
  await store.transact((transaction) => transaction.apply([insert("z")]));
  const before = store.txnId;
  await store.maintain();
  expect(sites(store)).toBe(0);
  const sizes = store.read((snapshot) => {
    const since = snapshot.changesSince({ historyId: store.identity.historyId, txnId: before });
    if (since.kind !== "changes") throw new Error(since.kind);
    return [...since.transactions].flatMap(({ record }) =>
      record.steps.flatMap(({ operations }) =>
        operations.flatMap((each) => (each.kind === "forget_sites" ? [each.sites.length] : [])),
      ),
    );
  });
  // Three records each: the last one is alone with its many.
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAINTENANCE_BATCH / 3 + 1);
  expect(sizes.reduce((a, b) => a + b, 0)).toBe(count + 1);
});

test("[K30] verify finds a wrong index of sites without an applied upload, in both directions", async () => {
  const { store, storage } = await openStore();
  await takeUpload(store, chain()(insert("a")), REFUSING, { owner: "ann" });
  await takeUpload(store, chain("00000000000000bb")(insert("b")), undefined, { owner: "ann" });
  expect(problems(storage)).toEqual([]);
  const { unappliedAt } = dump(storage).get(siteKey(SITE)) as { unappliedAt: number };
  await storage.commit(new Map([[unappliedKey(unappliedAt, SITE), undefined]]));
  await storage.commit(new Map([[unappliedKey(5, "00000000000000bb"), true]]));
  expect(problems(storage)).toHaveLength(2);
});
