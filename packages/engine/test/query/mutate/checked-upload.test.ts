/**
 * Judged uploads: what a small peer may write, by the permissions of its session.
 */

import { timeOfMs, type UploadOperation, type Value, type ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { DOCUMENT_FIELDS_MAX, DOCUMENT_SIZE_MAX, ROW_STEPS_FREE } from "../../../src/limits.ts";
import { uploadChecker } from "../../../src/query/mutate/checked-upload.ts";
import type { Authority } from "../../../src/query/permission/authority.ts";
import type { Store } from "../../../src/store/store.ts";
import { lastUploadOf, takeUpload } from "../../../src/store/taken-upload.ts";
import type { CheckUpload, Upload } from "../../../src/store/upload.ts";
import { authorityOf, type Rules } from "../../support/caller.ts";
import { fieldsOf, openStore, problems } from "../../support/open-store.ts";
import { outcomeOf, SiteUploads } from "../../support/site-uploads.ts";
import { START_MS } from "../../support/test-platform.ts";

const DENIED =
  "refused: the credential has no permission to write this document of the collection cars";
const NO_COLLECTION = "refused: the credential has no permission for the collection cars";
const NO_TOKEN = "refused: the credential has no permission to refer to this attachment";

const OWN: Rules = { cars: ["owner == 'ada'"] };
const PUBLIC: Rules = { cars: ["owner == 'ada'", "owner == 'all'"] };

interface Bench {
  readonly store: Store;
  readonly peer: SiteUploads;
  readonly as: (rights: Authority | undefined, upload: Upload) => Promise<string>;
  /** Sends the operations as one upload of ada, who may read and write what the rules say. */
  readonly ada: (read: Rules, write: Rules, ...operations: UploadOperation[]) => Promise<string>;
  readonly fields: (id: Value) => Value | undefined;
  readonly problems: () => string[];
}

async function bench(): Promise<Bench> {
  const { store, storage, platform } = await openStore();
  const peer = new SiteUploads(platform);
  const as: Bench["as"] = async (rights, upload) => {
    const checker: CheckUpload = uploadChecker({ platform, appId: "app", authority: () => rights });
    return outcomeOf(await takeUpload(store, upload, checker));
  };
  await store.transact((transaction) => {
    transaction.apply([
      insert("mine", { owner: "ada", n: 1 }),
      insert("his", { owner: "bob", n: 1 }),
      insert("everybody", { owner: "all", n: 1 }),
    ]);
  });
  return {
    store,
    peer,
    as,
    ada: (read, write, ...operations) => as(authorityOf(read, write), peer.next(...operations)),
    fields: (id) => fieldsOf(store, "cars", id),
    problems: () => problems(storage),
  };
}

function insert(id: string, fields: ValueObject, more: object = {}): UploadOperation {
  return { kind: "insert", collection: "cars", id, fields, ...more };
}

function initial(id: string, fields: ValueObject): UploadOperation {
  return { kind: "initial", collection: "cars", id, fields };
}

function set(id: string, name: string, value: Value): UploadOperation {
  return { kind: "update", collection: "cars", id, edits: [{ kind: "set", path: [name], value }] };
}

function remove(id: string): UploadOperation {
  return { kind: "delete", collection: "cars", id };
}

test("[S26] writes that the session may make are applied", async () => {
  const { ada, fields, problems: found } = await bench();
  expect(await ada(OWN, OWN, insert("new", { owner: "ada" }))).toBe("applied");
  expect(await ada(OWN, OWN, set("mine", "n", 2), set("new", "n", 3))).toBe("applied");
  expect(fields("mine")).toEqual({ owner: "ada", n: 2 });
  expect(fields("new")).toEqual({ owner: "ada", n: 3 });
  expect(await ada(OWN, OWN, remove("mine"))).toBe("applied");
  expect(fields("mine")).toBeUndefined();
  expect(found()).toEqual([]);
});

test("[S26] a session that may do everything is not checked", async () => {
  const { as, peer, fields } = await bench();
  expect(await as(undefined, peer.next(set("his", "n", 2)))).toBe("applied");
  expect(await as(authorityOf(true, true), peer.next(set("his", "n", 3)))).toBe("applied");
  expect(fields("his")).toEqual({ owner: "bob", n: 3 });
});

test("[S26] the permissions are those at the time when the upload is applied", async () => {
  const { store, peer, fields } = await bench();
  const { platform } = await openStore();
  let rights: Authority | undefined = authorityOf(OWN, OWN);
  const checker = uploadChecker({ platform, appId: "app", authority: () => rights });
  const upload = peer.next(set("mine", "n", 2));
  rights = authorityOf(OWN, { parts: ["true"] });
  expect(outcomeOf(await takeUpload(store, upload, checker))).toBe(NO_COLLECTION);
  expect(fields("mine")).toEqual({ owner: "ada", n: 1 });
});

describe("[S26] refused with the same message", () => {
  const cases: readonly (readonly [string, UploadOperation])[] = [
    ["an update of an unreadable document", set("his", "n", 2)],
    ["an update of a missing document", set("nosuch", "n", 2)],
    ["a delete of an unreadable document", remove("his")],
    ["a delete of a read-only document", remove("everybody")],
    ["an update of a read-only document", set("everybody", "n", 2)],
    ["an update that gives it away", set("mine", "owner", "bob")],
    ["an insert for another owner", insert("new", { owner: "bob" })],
    ["an insert over an unreadable document", insert("his", { owner: "ada" })],
    [
      "a clean insert over an unreadable document",
      insert("his", { owner: "ada" }, { clean: true }),
    ],
    ["an insert over a read-only document", insert("everybody", { owner: "ada" })],
    ["an INITIAL over an unreadable document", initial("his", { owner: "ada" })],
    ["an INITIAL for another owner", initial("new", { owner: "bob" })],
  ];
  test.each(cases)("%s", async (_, operation) => {
    const { ada, fields } = await bench();
    expect(await ada(PUBLIC, OWN, operation)).toBe(DENIED);
    expect(fields("mine")).toEqual({ owner: "ada", n: 1 });
    expect(fields("his")).toEqual({ owner: "bob", n: 1 });
    expect(fields("everybody")).toEqual({ owner: "all", n: 1 });
    expect(fields("new")).toBeUndefined();
  });
});

test("[S26] a collection without a rule is refused whether it exists or not", async () => {
  const { ada } = await bench();
  expect(await ada(OWN, { parts: ["true"] }, insert("x", {}))).toBe(NO_COLLECTION);
  expect(await ada({ parts: ["true"] }, OWN, set("mine", "n", 2))).toBe(NO_COLLECTION);
  expect(await ada({ parts: ["true"] }, OWN, remove("nosuch"))).toBe(NO_COLLECTION);
  // An insert reads nothing.
  expect(await ada({ parts: ["true"] }, OWN, insert("x", { owner: "ada" }))).toBe("applied");
});

test("[S26] an insert over a document that the session may write is an update of it", async () => {
  const { ada, fields } = await bench();
  expect(await ada(OWN, OWN, insert("mine", { owner: "ada", m: 1 }))).toBe("applied");
  expect(fields("mine")).toEqual({ owner: "ada", n: 1, m: 1 });
  const clean = insert("mine", { owner: "ada" }, { clean: true });
  expect(await ada(OWN, OWN, clean)).toBe("applied");
});

test("[S26] a write that loses to a newer one is checked as if it had won", async () => {
  const { as, peer, fields } = await bench();
  const rights = authorityOf(OWN, OWN);
  const old = timeOfMs(START_MS - 60_000);
  // The owner was written later than this says: it would stay ada.
  expect(await as(rights, peer.at(old, [set("mine", "owner", "bob")]))).toBe(DENIED);
  const fields2 = { owner: "bob" };
  expect(await as(rights, peer.at(old + 10, [insert("mine", fields2)]))).toBe(DENIED);
  const clean = insert("mine", fields2, { clean: true });
  expect(await as(rights, peer.at(old + 20, [clean]))).toBe(DENIED);
  expect(await as(rights, peer.at(old + 30, [set("mine", "n", 9)]))).toBe("applied");
  expect(fields("mine")).toEqual({ owner: "ada", n: 1 });
});

test("[S26] a step is checked by its own result, not by the result of later steps", async () => {
  const { as, peer, fields } = await bench();
  const rights = authorityOf(OWN, OWN);
  const steps = [[set("mine", "owner", "bob")], [set("mine", "owner", "ada")]];
  expect(await as(rights, peer.ofSteps(...steps))).toBe(DENIED);
  const made = [[insert("new", { owner: "ada" })], [set("new", "n", 1)], [remove("new")]];
  expect(await as(rights, peer.ofSteps(...made))).toBe("applied");
  expect(fields("new")).toBeUndefined();
});

test("[S27] one refused operation refuses the whole upload, and the next is applied", async () => {
  const { store, peer, as, fields, problems: found } = await bench();
  const rights = authorityOf(OWN, OWN);
  const bad = peer.next(set("mine", "n", 2), insert("new", { owner: "ada" }), set("his", "n", 2));
  const good = peer.next(set("mine", "n", 3));
  // Both are under way at once: the second finds the number of the first taken.
  expect(await Promise.all([as(rights, bad), as(rights, good)])).toEqual([DENIED, "applied"]);
  expect(fields("new")).toBeUndefined();
  expect(fields("mine")).toEqual({ owner: "ada", n: 3 });
  expect(lastUploadOf(store, peer.site)).toBe(2);
  expect(await as(rights, bad)).toBe(DENIED);
  expect(found()).toEqual([]);
});

test("[S26] an upload may refer only to contents that the session uploaded or may read", async () => {
  const { store, ada } = await bench();
  const token = (id: string): object => ({ types: { pic: "attachment" }, fields: fieldsWith(id) });
  const fieldsWith = (id: string): ValueObject => ({ owner: "ada", pic: { id, len: 1 } });
  for (const [id, by] of [
    ["by-ada", "ada"],
    ["by-bob", "bob"],
  ] as const) {
    await store.transact((transaction) => transaction.apply([{ kind: "attach", id, len: 1, by }]));
  }
  expect(await ada(OWN, OWN, insert("a", {}, token("by-ada")))).toBe("applied");
  expect(await ada(OWN, OWN, insert("b", {}, token("by-bob")))).toBe(NO_TOKEN);
  expect(await ada(OWN, OWN, insert("c", {}, token("nosuch")))).toBe(NO_TOKEN);
  const pic = { id: "by-bob", len: 1 };
  const edits = [{ kind: "set", path: ["pic"], value: pic, types: "attachment" }] as const;
  const edit: UploadOperation = { kind: "update", collection: "cars", id: "mine", edits };
  expect(await ada(OWN, OWN, edit)).toBe(NO_TOKEN);
  await store.transact((transaction) =>
    transaction.apply([insert("p", { owner: "ada", pic }, { types: { pic: "attachment" } })]),
  );
  expect(await ada(OWN, OWN, edit)).toBe("applied");
});

test("[S73] a document that grew too large is refused; its size is hidden from a session that may not read it", async () => {
  const { ada, as, peer } = await bench();
  const half = "x".repeat(DOCUMENT_SIZE_MAX / 2 + 1);
  expect(await as(undefined, peer.next(set("his", "a", half)))).toBe("applied");
  const tooLarge = /^refused: the document "his" is too large: its size is \d+ bytes/;
  expect(await as(undefined, peer.next(set("his", "b", half)))).toMatch(tooLarge);
  expect(await ada(OWN, OWN, set("his", "b", half))).toBe(DENIED);
});

test("[S26] no operation writes _id", async () => {
  const { as, peer } = await bench();
  const refused = "refused: expected fields without _id";
  expect(await as(undefined, peer.next(insert("x", { _id: "y" })))).toBe(refused);
  expect(await as(undefined, peer.next(set("mine", "_id", "y")))).toBe(refused);
  const edits = [{ kind: "set", path: [], value: { _id: "y" } }] as const;
  const root: UploadOperation = { kind: "update", collection: "cars", id: "mine", edits };
  expect(await as(undefined, peer.next(root))).toBe(refused);
});

test("[S26] a rule that takes too long refuses the upload", async () => {
  const { store, platform } = await openStore();
  const peer = new SiteUploads(platform);
  let time = 0;
  // Every look at the clock finds it half a second later.
  const slow = { ...platform, elapsed: () => (time += 500) };
  const rule = "EVERY x IN list SATISFIES x >= 0 END";
  const authority = authorityOf({ cars: ["true"] }, { cars: [rule] });
  const checker = uploadChecker({ platform: slow, appId: "app", authority: () => authority });
  const list = Array.from({ length: ROW_STEPS_FREE + 5000 }, (_, i) => i);
  const answer = await takeUpload(store, peer.next(insert("x", { list })), checker);
  expect(outcomeOf(answer)).toBe("refused: the permissions took too long to judge the upload");
});

test("[S73] an upload that gives a document too many fields is refused", async () => {
  const { as, peer } = await bench();
  const fields = Object.fromEntries(
    Array.from({ length: DOCUMENT_FIELDS_MAX }, (_, i) => [`f${i}`, i]),
  );
  expect(await as(undefined, peer.next(insert("wide", fields)))).toBe("applied");
  const edits = [{ kind: "set", path: ["g"], value: 1 }] as const;
  const update = { kind: "update", collection: "cars", id: "wide", edits } as const;
  expect(await as(undefined, peer.next(update))).toContain("expected at most 20000 fields");
});
