import type { UploadOperation, Value } from "@bigpeer/protocol";
import { PeerError, timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import { lastUploadOf, takeUpload } from "../../src/store/taken-upload.ts";
import { type CheckUpload, type Upload, uploadDigest } from "../../src/store/upload.ts";
import type { UploadStep } from "../../src/store/upload-step.ts";
import { fieldsOf, type OpenStore, openStore, problems } from "../support/open-store.ts";
import { outcomeOf, SiteUploads } from "../support/site-uploads.ts";
import { START_MS, testPlatform } from "../support/test-platform.ts";

const SITE = "00000000000000aa";
const platform = testPlatform();
const NOW = timeOfMs(START_MS);

/** Numbers and chains uploads as a peer does. */
function chain(site = SITE): (...operations: UploadOperation[]) => Upload {
  let number = 0;
  let digest: Uint8Array | undefined;
  let time = NOW - 1000;
  return (...operations) => {
    const steps: UploadStep[] = [{ time: ++time, operations }];
    digest = uploadDigest(platform, digest, steps);
    return { site, number: ++number, digest, steps };
  };
}

function insert(id: string, fields: Record<string, Value>): UploadOperation {
  return { kind: "insert", collection: "c", id, fields };
}

function increment(id: string, by: number): UploadOperation {
  return { kind: "update", collection: "c", id, edits: [{ kind: "increment", path: ["k"], by }] };
}

async function outcome(store: Store, upload: Upload): Promise<string> {
  const answer = await takeUpload(store, upload);
  if (answer.kind !== "taken") return answer.kind;
  return `${answer.record.outcome}${answer.isReplay ? " before" : ""} at ${answer.record.txnId}`;
}

test("[K27] an upload applies once, and a repeat gets the recorded outcome", async () => {
  const { store, storage } = await openStore();
  const next = chain();
  const first = next(insert("a", { n: 1 }));
  const second = next(increment("a", 5));
  expect(await outcome(store, first)).toBe("applied at 1");
  expect(await outcome(store, second)).toBe("applied at 2");
  expect(await outcome(store, second)).toBe("applied before at 2");
  expect(await outcome(store, first)).toBe("applied before at 1");
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, k: 5 });
  expect(problems(storage)).toEqual([]);
});

test("[K27] a repeat that arrives while the first is being flushed applies once", async () => {
  const { store } = await openStore();
  const next = chain();
  await takeUpload(store, next(insert("a", {})));
  const upload = next(increment("a", 1));
  const answers = await Promise.all([outcome(store, upload), outcome(store, upload)]);
  expect(answers).toEqual(["applied at 2", "applied before at 2"]);
  expect(fieldsOf(store, "c", "a")).toEqual({ k: 1 });
});

test("[K27] a repeat with the same digest and other steps is a fork, and reveals nothing of them", async () => {
  const { store } = await openStore();
  const next = chain();
  const first = next(insert("a", {}));
  const second = next(increment("a", 1));
  await takeUpload(store, first);
  await takeUpload(store, second);
  const others: readonly unknown[] = [
    insert("b", {}),
    { id: "b" },
    { collection: 5, id: "b" },
    null,
  ];
  for (const { steps: _, ...named } of [first, second]) {
    for (const other of others) {
      const steps = [{ time: NOW, operations: [other as UploadOperation] }];
      expect(await takeUpload(store, { ...named, steps })).toEqual({ kind: "forked" });
    }
  }
  const again = await takeUpload(store, second);
  expect(again.kind === "taken" && again.documents).toEqual([{ collection: "c", id: "a" }]);
});

test("[K27] two stores that write as one site are detected", async () => {
  const { store } = await openStore();
  const original = chain();
  const clone = chain();
  const shared = original(insert("a", {}));
  clone(insert("a", {}));
  await takeUpload(store, shared);
  await takeUpload(store, original(increment("a", 1)));
  expect(await outcome(store, clone(increment("a", 7)))).toBe("forked");
  expect(await outcome(store, clone(increment("a", 1)))).toBe("forked");
  expect(fieldsOf(store, "c", "a")).toEqual({ k: 1 });
});

test("[K27] an upload that claims this store's own site is a fork", async () => {
  const { store } = await openStore();
  const next = chain(store.identity.site);
  expect(await outcome(store, next(insert("a", {})))).toBe("forked");
});

test("[K27] a gap in the uploads of a site is answered with the known number", async () => {
  const { store } = await openStore();
  const next = chain();
  await takeUpload(store, next(insert("a", {})));
  next(increment("a", 1));
  expect(await takeUpload(store, next(increment("a", 1)))).toEqual({
    kind: "unknown_site",
    known: 1,
  });
});

test("[K27] a refused upload changes nothing, is remembered, and does not delay later ones", async () => {
  const { store, storage } = await openStore();
  const next = chain();
  const bad = next(insert("a", { n: 1 }), increment("nowhere", 1));
  expect(await outcome(store, bad)).toBe("refused at 1");
  expect(await outcome(store, bad)).toBe("refused before at 1");
  expect(fieldsOf(store, "c", "a")).toBeUndefined();
  expect(await outcome(store, next(insert("b", { n: 2 })))).toBe("applied at 2");
  expect(problems(storage)).toEqual([]);
});

test("[K27] an upload of a wrong shape is refused with the place", async () => {
  const { store } = await openStore();
  const next = chain();
  const odd = { kind: "update", collection: "c", id: "a", edits: [{ kind: "paint" }] };
  const answer = await takeUpload(store, next(odd as unknown as UploadOperation));
  expect(answer).toMatchObject({ kind: "taken", record: { outcome: "refused" } });
  expect(answer.kind === "taken" && answer.record.reason).toContain("edits[0]");
});

test("[D25] an upload from a clock too far ahead is not applied, and may be sent again", async () => {
  const { store }: OpenStore = await openStore();
  const steps: UploadStep[] = [
    { time: timeOfMs(START_MS + 86_400_000), operations: [insert("a", {})] },
  ];
  const upload: Upload = {
    site: SITE,
    number: 1,
    digest: uploadDigest(platform, undefined, steps),
    steps,
  };
  await expect(takeUpload(store, upload)).rejects.toMatchObject({ code: "clock.ahead" });
  expect(await outcome(store, chain()(insert("a", {})))).toBe("applied at 1");
});

test("[D6] increments of many sites add up, each with its own sum", async () => {
  const { store } = await openStore();
  const first = chain("00000000000000aa");
  const second = chain("00000000000000bb");
  await takeUpload(store, first(insert("a", {})));
  await takeUpload(store, first(increment("a", 1)));
  await takeUpload(store, second(increment("a", 10)));
  await takeUpload(store, first(increment("a", 2)));
  await store.transact((transaction) => transaction.apply([increment("a", 100)]));
  expect(fieldsOf(store, "c", "a")).toEqual({ k: 113 });
});

test("[K27] stamps of a site that do not increase are refused", async () => {
  const { store } = await openStore();
  const next = chain();
  await takeUpload(store, next(insert("a", {})));
  const first = next(increment("a", 10));
  await takeUpload(store, first);
  const steps: UploadStep[] = [{ time: NOW - 5000, operations: [increment("a", 10)] }];
  const digest = uploadDigest(platform, first.digest, steps);
  expect(await outcome(store, { site: SITE, number: 3, digest, steps })).toBe("refused at 3");
  expect(fieldsOf(store, "c", "a")).toEqual({ k: 10 });
});

test("[K27] malformed data is refused as an upload and not remembered", async () => {
  const { store } = await openStore();
  const good = chain()(insert("a", {}));
  for (const odd of [
    { number: Number.NaN },
    { number: 0 },
    { number: 0.5 },
    { site: "zz" },
    { site: "0".repeat(16) },
  ]) {
    await expect(takeUpload(store, { ...good, ...odd })).rejects.toMatchObject({
      code: "operation.invalid",
    });
  }
  expect(await outcome(store, good)).toBe("applied at 1");
});

test("[S27] a refused upload does not delay the next, even if both arrive at once", async () => {
  const { store, storage } = await openStore();
  const next = chain();
  const uploads = [
    next(insert("a", { n: 1 })),
    next(insert("b", {}), increment("nowhere", 1)),
    next(increment("a", 5)),
    next(insert("", {}), { kind: "paint" } as unknown as UploadOperation),
    next(increment("a", 7)),
  ];
  const outcomes = await Promise.all(uploads.map((upload) => outcome(store, upload)));
  expect(outcomes).toEqual([
    "applied at 1",
    "refused at 2",
    "applied at 3",
    "refused at 4",
    "applied at 5",
  ]);
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, k: 12 });
  expect(fieldsOf(store, "c", "b")).toBeUndefined();
  expect(problems(storage)).toEqual([]);
});

test("[S28] the answer names each written document once, also for a repeated upload", async () => {
  const { store } = await openStore();
  const next = chain();
  const first = next(insert("a", { n: 1 }), insert("b", {}));
  const documents = [
    { collection: "c", id: "a" },
    { collection: "c", id: "b" },
  ];
  const answers = [await takeUpload(store, first), await takeUpload(store, first)];
  for (const answer of answers) {
    expect(answer.kind === "taken" && answer.documents).toEqual(documents);
  }
  const refused = await takeUpload(store, next(increment("a", 1), increment("nowhere", 1)));
  expect(refused.kind === "taken" && refused.documents).toEqual([]);
});

test("[S4] the number of the last upload is known for each site", async () => {
  const { store } = await openStore();
  const next = chain();
  expect(lastUploadOf(store, SITE)).toBe(0);
  await takeUpload(store, next(insert("a", {})));
  await takeUpload(store, next(increment("nowhere", 1)));
  expect(lastUploadOf(store, SITE)).toBe(2);
  expect(lastUploadOf(store, "00000000000000bb")).toBe(0);
});

test("[S26] a permission checker sees each step before and after; a refused upload leaves no trace", async () => {
  const { store, storage } = await openStore();
  const seen: unknown[] = [];
  const checker: CheckUpload = () =>
    function* checkStep(step, apply) {
      const look = (): unknown => step.transaction.view.get("c", "a")?.fields["n"] ?? "none";
      const before = look();
      const outcomes = yield* apply();
      seen.push([before, outcomes, look(), step.stamp.site]);
      if (look() === 2) throw new PeerError("permission.denied", "no twos");
      return outcomes;
    };
  const next = chain();
  await takeUpload(store, next(insert("a", { n: 1 })), checker);
  const edits = [{ kind: "set", path: ["n"], value: 2 }] as const;
  const answer = await takeUpload(
    store,
    next({ kind: "update", collection: "c", id: "a", edits }),
    checker,
  );
  expect(answer.kind === "taken" && answer.record).toMatchObject({
    outcome: "refused",
    reason: "no twos",
  });
  expect(seen).toEqual([
    ["none", ["applied"], 1, SITE],
    [1, ["applied"], 2, SITE],
  ]);
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1 });
  expect(problems(storage)).toEqual([]);
});

test("[S24] another site's INITIAL is below the writes that it did not see, whichever came first", async () => {
  const seed = (id: string): UploadOperation => ({
    kind: "initial",
    collection: "c",
    id,
    fields: { n: 0, color: "red" },
  });
  const { store } = await openStore();
  const first = chain();
  const second = chain("00000000000000bb");
  await takeUpload(store, first(insert("a", { n: 1 })));
  await takeUpload(store, second(seed("a")));
  await takeUpload(store, second(seed("b")));
  await takeUpload(store, first(insert("b", { n: 1 })));
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, color: "red" });
  expect(fieldsOf(store, "c", "b")).toEqual({ n: 1, color: "red" });
  await takeUpload(store, first({ kind: "delete", collection: "c", id: "a" }));
  await takeUpload(store, second(seed("a")));
  expect(fieldsOf(store, "c", "a")).toBeUndefined();
});

test("[K27] the digest of a large upload, and its document list, are computed a few operations at a time", async () => {
  let read = 0;
  let most = 0;
  let nowMs = 0;
  const hurried = {
    ...testPlatform(),
    elapsed: (): number => (nowMs += 20),
    pause: (): Promise<void> => {
      read = 0;
      return Promise.resolve();
    },
  };
  const store = await Store.open(new MemoryKeyValue(new MemoryDisk()), hurried);
  const operations = Array.from({ length: 5000 }, (_, i): UploadOperation => {
    return {
      kind: "insert",
      collection: "c",
      get id() {
        most = Math.max(most, ++read);
        return `id ${i}`;
      },
      fields: { n: i },
    };
  });
  const upload = chain()(...operations);
  for (const isReplay of [false, true]) {
    read = 0;
    most = 0;
    const answer = await takeUpload(store, upload);
    expect(answer).toMatchObject({ kind: "taken", isReplay, record: { outcome: "applied" } });
    expect(answer.kind === "taken" && answer.documents.length).toBe(5000);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(500);
  }
  await store.close();
});

test("[S26] an upload that writes nothing is refused: no permission would be checked", async () => {
  const { store } = await openStore();
  const uploads = new SiteUploads(platform, SITE, NOW - 1000);
  const empty = [
    uploads.ofSteps(),
    uploads.ofSteps([]),
    uploads.ofSteps([insert("a", { n: 1 })], []),
  ];
  const reported = [];
  for (const upload of empty) reported.push(outcomeOf(await takeUpload(store, upload)));
  expect(reported).toEqual([
    "refused: expected at least one step at steps",
    "refused: expected at least one operation at steps[0].operations",
    "refused: expected at least one operation at steps[1].operations",
  ]);
  expect(fieldsOf(store, "c", "a")).toBeUndefined();
});
