/**
 * DELETE and EVICT on a real store.
 */

import { NONE } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { COLLECTION, MutationDesk } from "../../support/mutation.ts";

const DOCUMENTS = [{ _id: "1", a: 1 }, { _id: "2", a: 2 }, { _id: "3" }];

test.each(["delete", "tombstone", "evict"] as const)(
  "%s removes the rows, in order, and returns their former content",
  async (method) => {
    const desk = await MutationDesk.open(...DOCUMENTS);
    const { ids, documents } = await desk.remove(method, ["2", "1", "2"]);
    expect(ids).toEqual(["2", "1"]);
    expect(documents.map(({ id, fields }) => ({ id, fields }))).toEqual([
      { id: "2", fields: { a: 2 } },
      { id: "1", fields: { a: 1 } },
    ]);
    expect(desk.ids()).toEqual(["3"]);
  },
);

test.each(["delete", "evict"] as const)("%s of nothing changes nothing", async (method) => {
  const desk = await MutationDesk.open(...DOCUMENTS);
  const before = desk.store.read((view) => view.head.txnId);
  expect(await desk.remove(method, ["nobody"])).toEqual({ ids: [], documents: [] });
  expect(desk.store.read((view) => view.head.txnId)).toBe(before);
});

test.each(["delete", "evict"] as const)("after %s an insert starts clean", async (method) => {
  const desk = await MutationDesk.open({ _id: "1", a: 1 });
  await desk.update({ apply: [["k", "increment", 5]] });
  await desk.remove(method);
  expect(await desk.update({ set: [["a", 5]] }, ["1"])).toEqual({ ids: [], documents: [] });
  await desk.insert([{ _id: "1", b: 2 }]);
  expect(desk.read("1")).toEqual({ b: 2 });
});

test("a delete leaves a tombstone, an eviction leaves none", async () => {
  const desk = await MutationDesk.open(...DOCUMENTS);
  await desk.remove("delete", ["1"]);
  await desk.remove("evict", ["2"]);
  desk.store.read((view) => {
    expect(view.state(COLLECTION, "1").state.dead).not.toEqual(NONE);
    expect(view.state(COLLECTION, "2").state.dead).toEqual(NONE);
  });
});
