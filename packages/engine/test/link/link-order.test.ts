/**
 * The turns of links that follow the same source into the same store.
 */

import { expect, test } from "vitest";
import { LinkOrder } from "../../src/link/link-order.ts";
import { openStore } from "../support/open-store.ts";

async function order(turn: LinkOrder, name: string, reported: string[]): Promise<void> {
  await turn.first();
  reported.push(name);
}

test("[S51] a link is first when all links before it have ended, in any order", async () => {
  const { store } = await openStore();
  const [one, two, three] = [0, 1, 2].map(() => new LinkOrder(store, "a"));
  if (one === undefined || two === undefined || three === undefined) throw new Error("no turns");
  const reported: string[] = [];
  const all = [
    order(one, "one", reported),
    order(two, "two", reported),
    order(three, "three", reported),
  ];
  expect([one, two, three].map(({ isFirst }) => isFirst)).toEqual([true, false, false]);
  two.end();
  await Promise.all(all.slice(0, 2));
  expect([reported, three.isFirst]).toEqual([["one", "two"], false]);
  one.end();
  await Promise.all(all);
  expect([reported, three.isFirst]).toEqual([["one", "two", "three"], true]);
  // Also twice.
  one.end();
  expect(new LinkOrder(store, "a").isFirst).toBe(false);
});

test("[S51] links of other sources, of other stores and ended links do not delay a link", async () => {
  const { store } = await openStore();
  const { store: other } = await openStore();
  const first = new LinkOrder(store, "a");
  expect(new LinkOrder(store, "b").isFirst).toBe(true);
  expect(new LinkOrder(other, "a").isFirst).toBe(true);
  first.end();
  expect(new LinkOrder(store, "a").isFirst).toBe(true);
});
