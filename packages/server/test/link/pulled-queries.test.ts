/**
 * Which queries a link pulls, whoever dialled and whatever is known of the partners.
 */

import { expect, test } from "vitest";
import { addressesOf, isEagerLink, isMeant, pulledQueries } from "../../src/link/pulled-queries.ts";
import type { Replication } from "../../src/registry/replications.ts";

function replication(
  name: string,
  connections: readonly string[],
  queriesByCollection: Replication["queriesByCollection"],
): Replication {
  return { name, appId: "a", connections, queriesByCollection };
}

const NORTH = replication("north", ["North:4040"], { cars: ["true"] });
const SOUTH = replication("south", ["south:4040"], { cars: ["doors > 3"], bikes: ["true"] });
const OPEN = replication("open", [], { boats: ["true"], cars: ["true", "sold"] });
const ALL = [NORTH, SOUTH, OPEN];

const NOBODY = { byAddress: new Map<string, string>(), callers: new Set<string>() };
const KNOWN = { byAddress: new Map([["north:4040", "n"]]), callers: new Set(["n"]) };

test("a dialled link pulls the queries of replications with its address, whatever its case", () => {
  const link = { address: "north:4040", partner: undefined };
  expect(pulledQueries(ALL, link, NOBODY)).toEqual({ cars: ["true"] });
});

test("an accepted link pulls the queries of replications without addresses", () => {
  const link = { address: undefined, partner: undefined };
  expect(pulledQueries(ALL, link, NOBODY)).toEqual({ boats: ["true"], cars: ["true", "sold"] });
});

test("an accepted link of a partner with a known address also pulls the queries of that address", () => {
  const link = { address: undefined, partner: "n" };
  const queries = { cars: ["true", "sold"], boats: ["true"] };
  expect(pulledQueries(ALL, link, KNOWN)).toEqual(queries);
  expect(pulledQueries(ALL, { address: undefined, partner: "s" }, KNOWN)).toEqual({
    boats: ["true"],
    cars: ["true", "sold"],
  });
});

test("a dialled link to a partner that has also called pulls for replications without addresses", () => {
  const link = { address: "north:4040", partner: "n" };
  expect(pulledQueries(ALL, link, KNOWN)).toEqual({ cars: ["true", "sold"], boats: ["true"] });
  const stranger = { address: "north:4040", partner: "x" };
  expect(pulledQueries(ALL, stranger, KNOWN)).toEqual({ cars: ["true"] });
});

test("two addresses of one partner count as one: each pulls for both", () => {
  const byAddress = new Map([
    ["north:4040", "n"],
    ["south:4040", "n"],
  ]);
  const known = { byAddress, callers: new Set<string>() };
  for (const address of byAddress.keys()) {
    expect(pulledQueries([NORTH, SOUTH], { address, partner: "n" }, known)).toEqual({
      cars: ["true", "doors > 3"],
      bikes: ["true"],
    });
  }
});

test("without queries nothing is pulled, and a collection may have any name", () => {
  const link = { address: "north:4040", partner: undefined };
  expect(pulledQueries([replication("n", ["north:4040"], {})], link, NOBODY)).toEqual({});
  const odd = JSON.parse('{"__proto__": ["true"]}') as Replication["queriesByCollection"];
  const pulled = pulledQueries([replication("n", ["north:4040"], odd)], link, NOBODY);
  expect(Object.keys(pulled)).toEqual(["__proto__"]);
});

test("an address is dialled once, however many replications have it", () => {
  const more = replication("more", ["NORTH:4040", "west:4040"], {});
  expect([...addressesOf([...ALL, more])]).toEqual([
    ["north:4040", "North:4040"],
    ["south:4040", "south:4040"],
    ["west:4040", "west:4040"],
  ]);
});

test("a link is listed only under the replications that it serves", () => {
  const link = { address: "north:4040", partner: "x" };
  expect(ALL.filter((each) => isMeant(each, link, NOBODY))).toEqual([NORTH]);
});

test("[M36] a link is eager if one of its replications is", () => {
  const eager: Replication = { ...OPEN, attachments: "eager" };
  const caller = { address: undefined, partner: "s" };
  const dialled = { address: "north:4040", partner: "x" };
  expect(isEagerLink(ALL, caller, KNOWN)).toBe(false);
  expect(isEagerLink([NORTH, SOUTH, eager], caller, KNOWN)).toBe(true);
  expect(isEagerLink([NORTH, SOUTH, eager], dialled, KNOWN)).toBe(false);
});
