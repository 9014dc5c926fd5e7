/**
 * Attachments of a store: records, references and orphans are what the documents say after every
 * transaction, whatever changed them.
 */

import {
  type Edit,
  type InsertOperation,
  type Operation,
  type Types,
  timeOfMs,
  type Value,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { EMPTY_STATE, type Kids } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import {
  attachmentOf,
  attachmentReferences,
  orphanedAttachments,
  storedAttachments,
} from "../../src/store/attachment-view.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import type { View } from "../../src/store/view.ts";
import { indexHistory } from "../support/index-history.ts";
import { dump, type OpenStore, openStore, problems } from "../support/open-store.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomAttachmentOperation, randomMerge, randomOperation } from "../support/workload.ts";

const DAY_MS = 86_400_000;

function attach(id: string, by = "ann", len = 3): Operation {
  return { kind: "attach", id, len, by };
}

function detach(id: string): Operation {
  return { kind: "detach", id };
}

/** A document with a token of each content. */
function insert(id: Value, ...contents: string[]): InsertOperation {
  const fields = Object.fromEntries(contents.map((content, i) => [`f${i}`, { id: content }]));
  const types: Types = Object.fromEntries(contents.map((_, i) => [`f${i}`, "attachment"] as const));
  return { kind: "insert", collection: "c", id, fields, types };
}

function update(id: Value, ...edits: Edit[]): Operation {
  return { kind: "update", collection: "c", id, edits };
}

function remove(id: Value): Operation {
  return { kind: "delete", collection: "c", id };
}

function setToken(field: string, content: string): Edit {
  return { kind: "set", path: [field], value: { id: content }, types: "attachment" };
}

async function run(store: Store, ...operations: Operation[]): Promise<string[]> {
  const { result } = await store.transact((transaction) =>
    operations.flatMap((operation) => transaction.apply([operation])),
  );
  return result;
}

function referencesTo(store: Store, content: string, limit?: number): Value[] {
  return store.read((snapshot) =>
    [...attachmentReferences(snapshot, content, limit)].map(({ id }) => id),
  );
}

function orphansOf(store: Store): string[] {
  return store.read((snapshot) =>
    orphanedAttachments(snapshot, Number.MAX_SAFE_INTEGER, 100).map(({ id }) => id),
  );
}

function timeOf(store: Store): number {
  return store.read((snapshot) => snapshot.head.time);
}

function keysOfKind(storage: MemoryKeyValue, kinds: string): string[] {
  return [...dump(storage).keys()].filter((key) => kinds.includes(key.charAt(0)));
}

/** Contents by the documents that name them, from the states alone. */
function tokensOf(view: View): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const collection of view.collections()) {
    for (const { id } of view.changedSince(collection, 0)) {
      const contents = new Set<string>();
      addTokens(view.state(collection, id).state.root, contents);
      for (const content of contents) {
        const documents = found.get(content) ?? [];
        found.set(content, [...documents, `${collection} ${JSON.stringify(id)}`]);
      }
    }
  }
  return found;
}

function addTokens(kids: Kids, contents: Set<string>): void {
  for (const { att, map } of kids.values()) {
    const id = (att?.value as { readonly id?: Value } | undefined)?.id;
    if (typeof id === "string" && id.length > 0 && id.length <= 128) contents.add(id);
    if (map !== undefined) addTokens(map.kids, contents);
  }
}

function checkAttachments(view: View, where: string): void {
  const tokens = tokensOf(view);
  const recorded = [...storedAttachments(view)].map(({ id }) => id);
  for (const id of new Set([...tokens.keys(), ...recorded])) {
    const references = [...attachmentReferences(view, id)];
    const documents = references.map((each) => `${each.collection} ${JSON.stringify(each.id)}`);
    expect(documents.sort(), `${where}, ${id}`).toEqual((tokens.get(id) ?? []).sort());
  }
  const orphans = orphanedAttachments(view, view.head.time, 1000).map(({ id }) => id);
  expect(orphans.sort(), where).toEqual(recorded.filter((id) => !tokens.has(id)).sort());
  for (const id of recorded) {
    expect(attachmentOf(view, id)?.isOrphan, `${where}, ${id}`).toBe(!tokens.has(id));
  }
  expect(view.head.attachments ?? 0, where).toBe(recorded.length);
}

test("[K45] [K46] [K47] attachment records match the documents after every transaction of any history", async () => {
  for (let seed = 1; seed <= histories(60); seed++) {
    const storage = new MemoryKeyValue();
    const store = await indexHistory(storage, {
      seed,
      turns: 25,
      onTurn: (view) => checkAttachments(view, `seed ${seed}`),
    });
    await store.close();
    expect(problems(storage), `seed ${seed}`).toEqual([]);
  }
});

test("[K48] in any history an orphan has the time of the step that orphaned or attached it", async () => {
  let orphaned = 0;
  for (let seed = 1; seed <= histories(40); seed++) {
    const random = seededRandom(seed);
    const { store, platform } = await openStore();
    const expected = new Map<string, number>();
    for (let turn = 0; turn < 60; turn++) {
      platform.nowMs += random.below(50);
      const foreign = timeOfMs(platform.nowMs) - random.below(100_000);
      const operation = random.chance(0.3)
        ? randomAttachmentOperation(random)
        : random.pick([randomOperation(random), randomMerge(random, "00000000000000ee", foreign)]);
      await run(store, operation);
      store.read((view) => {
        const tokens = tokensOf(view);
        for (const { id } of storedAttachments(view)) {
          const isAttached = operation.kind === "attach" && operation.id === id;
          if (tokens.has(id)) expected.delete(id);
          else if (isAttached || !expected.has(id)) expected.set(id, view.head.time);
        }
        for (const id of expected.keys()) {
          if (attachmentOf(view, id) === undefined) expected.delete(id);
        }
        const found = orphanedAttachments(view, view.head.time, 1000).map(({ id, time }) => [
          id,
          time,
        ]);
        expect(new Map(found as [string, number][]), `seed ${seed}`).toEqual(expected);
        orphaned += expected.size;
      });
    }
  }
  expect(orphaned).toBeGreaterThan((5 * histories(40)) / 2);
});

test("[K45] a content is recorded with its length and uploader, and forgotten again", async () => {
  const { store, storage } = await openStore();
  expect(store.read((snapshot) => Object.keys(snapshot.head))).not.toContain("attachments");
  expect(await run(store, attach("a", "ann", 7), attach("b"))).toEqual(["applied", "applied"]);
  store.read((snapshot) => {
    expect(attachmentOf(snapshot, "a")).toEqual({ len: 7, by: ["ann"], isOrphan: true });
    expect(attachmentOf(snapshot, "c")).toBeUndefined();
    expect([...storedAttachments(snapshot)]).toEqual([
      { id: "a", len: 7 },
      { id: "b", len: 3 },
    ]);
    expect([...storedAttachments(snapshot, "a")]).toEqual([{ id: "b", len: 3 }]);
    expect([...storedAttachments(snapshot, "b")]).toEqual([]);
    expect(snapshot.head.attachments).toBe(2);
  });
  expect(await run(store, detach("a"), detach("a"), detach("c"))).toEqual([
    "applied",
    "missing",
    "missing",
  ]);
  expect(store.read((snapshot) => snapshot.head.attachments)).toBe(1);
  expect(keysOfKind(storage, "bor").map((key) => key.charAt(0))).toEqual(["b", "o"]);
  expect(problems(storage)).toEqual([]);
});

test("[K45] the last 64 uploaders are remembered, each once", async () => {
  const { store } = await openStore();
  const names = Array.from({ length: 66 }, (_, i) => `u${i}`);
  await run(store, ...names.map((name) => attach("a", name)), attach("a", "u5"));
  const by = store.read((snapshot) => attachmentOf(snapshot, "a")?.by);
  expect(by).toEqual([...names.slice(2).filter((name) => name !== "u5"), "u5"]);
});

test("[K45] content in use that the same uploader attaches again changes nothing", async () => {
  const { store } = await openStore();
  await run(store, insert(1, "a"), attach("a", "ann"));
  const before = store.read((snapshot) => snapshot.txnId);
  expect(await run(store, attach("a", "ann"))).toEqual(["unchanged"]);
  expect(store.read((snapshot) => snapshot.txnId)).toBe(before);
  expect(await run(store, attach("a", "bob"))).toEqual(["applied"]);
  expect(store.read((snapshot) => attachmentOf(snapshot, "a"))).toEqual({
    len: 3,
    by: ["ann", "bob"],
    isOrphan: false,
  });
});

test("[K45] content that a document refers to is not forgotten", async () => {
  const { store, storage } = await openStore();
  await run(store, attach("a"), insert(1, "a"));
  expect(await run(store, detach("a"))).toEqual(["unchanged"]);
  expect(await run(store, remove(1), detach("a"))).toEqual(["applied", "applied"]);
  expect(keysOfKind(storage, "bor")).toEqual([]);
  // In one step with the write that takes or brings the last reference.
  await run(store, attach("a"), insert(2, "a"));
  const { result } = await store.transact((transaction) => [
    transaction.apply([detach("a"), remove(2), detach("a"), attach("a")]),
    transaction.apply([insert(3, "a"), detach("a")]),
  ]);
  expect(result).toEqual([
    ["unchanged", "applied", "applied", "applied"],
    ["applied", "unchanged"],
  ]);
  expect(store.read((snapshot) => attachmentOf(snapshot, "a")?.isOrphan)).toBe(false);
  expect(problems(storage)).toEqual([]);
});

test("[K46] a document refers to a content once, until its last token of it is gone", async () => {
  const { store, storage } = await openStore();
  await run(store, insert(1, "a", "a", "b"), insert("x", "a"));
  expect(referencesTo(store, "a")).toEqual([1, "x"]);
  expect(referencesTo(store, "a", 1)).toEqual([1]);
  expect(referencesTo(store, "a", 0)).toEqual([]);
  await run(store, update(1, { kind: "unset", path: ["f0"] }));
  expect(referencesTo(store, "a")).toEqual([1, "x"]);
  await run(store, update(1, setToken("f1", "b")));
  expect(referencesTo(store, "a")).toEqual(["x"]);
  expect(referencesTo(store, "b")).toEqual([1]);
  expect(problems(storage)).toEqual([]);
});

test("[K46] references name the collection, and ids with a common prefix are kept apart", async () => {
  const { store, storage } = await openStore();
  const ids = ["a", "a\0", "a\0b", "ab", "\u{1f4ce}"];
  await run(
    store,
    ...ids.map((id, i): Operation => ({ ...insert({ k: i }, id), collection: `c${i}` })),
  );
  for (const [i, id] of ids.entries()) {
    const found = store.read((snapshot) => [...attachmentReferences(snapshot, id)]);
    expect(found).toEqual([{ collection: `c${i}`, id: { k: i } }]);
  }
  expect(problems(storage)).toEqual([]);
});

test("[K46] a hidden variant keeps its content, a delete and an EVICT release it", async () => {
  const { store } = await openStore();
  await run(store, insert(1, "a"), insert(2, "a"), insert(3, "a"));
  await run(store, update(1, { kind: "set", path: ["f0"], value: "hidden now" }));
  await run(store, remove(2), { kind: "evict", collection: "c", id: 3 });
  expect(referencesTo(store, "a")).toEqual([1]);
  await run(store, update(1, { kind: "unset", path: ["f0"] }));
  expect(referencesTo(store, "a")).toEqual([]);
});

/** A store with a dead document that has a token above its tombstone. */
async function withHiddenToken(): Promise<OpenStore> {
  const source = await openStore();
  await run(source.store, insert(1, "old"));
  const seen = source.store.read((snapshot) => snapshot.state("c", 1).state);
  source.platform.nowMs += 1000;
  await run(source.store, update(1, setToken("late", "a")));
  const written = source.store.read((snapshot) => snapshot.state("c", 1).state);
  const target = await openStore();
  const merge = (state: typeof seen): Operation => ({
    kind: "merge",
    collection: "c",
    id: 1,
    state: stateToBytes(state),
  });
  await run(target.store, attach("a"), merge(seen), remove(1), merge(written));
  return target;
}

test("[K46] a token above a tombstone keeps its content until the tombstone is collected", async () => {
  const { store, storage, platform } = await withHiddenToken();
  expect(store.read((snapshot) => snapshot.get("c", 1))).toBeUndefined();
  expect(referencesTo(store, "a")).toEqual([1]);
  expect(referencesTo(store, "old")).toEqual([]);
  expect(orphansOf(store)).toEqual([]);
  platform.nowMs += DAY_MS;
  const { txnId } = store.read((snapshot) => snapshot.head);
  await run(
    store,
    { kind: "trim", upTo: txnId },
    { kind: "horizon", time: timeOfMs(platform.nowMs) - 1 },
  );
  expect(store.read((snapshot) => snapshot.state("c", 1).state)).toEqual(EMPTY_STATE);
  expect(referencesTo(store, "a")).toEqual([]);
  const found = store.read((snapshot) => orphanedAttachments(snapshot, snapshot.head.time, 9));
  expect(found).toEqual([{ id: "a", time: timeOf(store) }]);
  expect(problems(storage)).toEqual([]);
});

test("[K46] an id that is too long for a key, or empty, has no reference and does no harm", async () => {
  const { store, storage } = await openStore();
  const longest = "\u{1f4ce}".repeat(64);
  await run(store, insert("i".repeat(1000), "x".repeat(2000), "", longest));
  expect(keysOfKind(storage, "r")).toHaveLength(1);
  expect(referencesTo(store, longest)).toEqual(["i".repeat(1000)]);
  expect(referencesTo(store, "x".repeat(2000))).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K46] a request that fails leaves no reference, record or orphan", async () => {
  const { store, storage } = await openStore();
  await run(store, attach("a"));
  const before = keysOfKind(storage, "bor");
  const failing = store.transact((transaction) => {
    transaction.apply([insert(1, "a"), attach("b")]);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await run(store, insert(2));
  expect(keysOfKind(storage, "bor")).toEqual(before);
});

test("[K47] a content is an orphan exactly while no document refers to it", async () => {
  const { store, storage } = await openStore();
  await run(store, attach("a"));
  expect(orphansOf(store)).toEqual(["a"]);
  await run(store, insert(1, "a"), insert(2, "a"));
  expect(orphansOf(store)).toEqual([]);
  await run(store, remove(1));
  expect(orphansOf(store)).toEqual([]);
  await run(store, remove(2));
  expect(orphansOf(store)).toEqual(["a"]);
  await run(store, insert(1, "a"));
  expect(orphansOf(store)).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K47] orphans are listed oldest first, up to a time and a number", async () => {
  const { store, platform } = await openStore();
  for (const id of ["c", "a", "b"]) {
    platform.nowMs += 1000;
    await run(store, attach(id));
  }
  store.read((snapshot) => {
    const all = orphanedAttachments(snapshot, snapshot.head.time, 10);
    expect(all.map(({ id }) => id)).toEqual(["c", "a", "b"]);
    const second = all[1]?.time ?? 0;
    expect(orphanedAttachments(snapshot, second, 10)).toEqual(all.slice(0, 2));
    expect(orphanedAttachments(snapshot, second - 1, 10)).toEqual(all.slice(0, 1));
    expect(orphanedAttachments(snapshot, snapshot.head.time, 2)).toEqual(all.slice(0, 2));
    for (const time of [0, -1, -1e12, Number.NaN])
      expect(orphanedAttachments(snapshot, time, 10)).toEqual([]);
    expect(orphanedAttachments(snapshot, Number.POSITIVE_INFINITY, 10)).toEqual(all);
    expect(orphanedAttachments(snapshot, snapshot.head.time, 0)).toEqual([]);
  });
});

test("[K48] an orphan that is attached again restarts its time", async () => {
  const { store, platform } = await openStore();
  await run(store, attach("a"));
  const first = timeOf(store);
  platform.nowMs += DAY_MS;
  expect(await run(store, attach("a"))).toEqual(["applied"]);
  const found = store.read((snapshot) => orphanedAttachments(snapshot, snapshot.head.time, 9));
  expect(found).toEqual([{ id: "a", time: timeOf(store) }]);
  expect(timeOf(store)).toBeGreaterThan(first);
});

test("[K48] a reference that a late write removes leaves an orphan with the current time", async () => {
  const { store, platform } = await openStore();
  const early = timeOfMs(platform.nowMs);
  const site = "00000000000000aa";
  const steps = [
    { time: early + 1, operations: [insert(1, "a")] },
    { time: early + 2, operations: [{ kind: "delete", collection: "c", id: 1 }] },
  ] as const;
  const send = async (number: number, before?: Uint8Array): Promise<Uint8Array> => {
    const sent = steps.slice(number - 1, number);
    const digest = uploadDigest(platform, before, sent);
    await takeUpload(store, { site, number, digest, steps: sent });
    return digest;
  };
  const digest = await send(1);
  platform.nowMs += DAY_MS;
  await run(store, attach("a"));
  expect(orphansOf(store)).toEqual([]);
  const now = timeOf(store);
  await send(2, digest);
  const found = store.read((snapshot) => orphanedAttachments(snapshot, Number.MAX_SAFE_INTEGER, 9));
  expect(found).toEqual([{ id: "a", time: now }]);
});

test("[K49] a token of absent content is written, and counts once the content is attached", async () => {
  const { store, storage } = await openStore();
  await run(store, insert(1, "a"));
  expect(store.read((snapshot) => attachmentOf(snapshot, "a"))).toBeUndefined();
  expect(referencesTo(store, "a")).toEqual([1]);
  expect(await run(store, detach("a"))).toEqual(["missing"]);
  await run(store, attach("a"));
  expect(store.read((snapshot) => attachmentOf(snapshot, "a")?.isOrphan)).toBe(false);
  expect(keysOfKind(storage, "o")).toEqual([]);
  await run(store, remove(1));
  expect(orphansOf(store)).toEqual(["a"]);
  expect(problems(storage)).toEqual([]);
});

test("[K20] the log has attach and detach operations, without document changes for them", async () => {
  const { store } = await openStore();
  const operations = [attach("a"), detach("a")];
  await store.transact((transaction) => transaction.apply(operations));
  store.read((snapshot) => {
    const since = snapshot.changesSince({ historyId: store.identity.historyId, txnId: 0 });
    const [logged] = since.kind === "changes" ? [...since.transactions] : [];
    expect(logged?.record.steps[0]?.operations).toEqual(operations);
    expect(logged?.record.changes).toEqual([]);
  });
});
