/** Newcomers: who gives way to whom, by counts and by a clock that the test moves. */

import { expect, test } from "vitest";
import { Newcomers } from "../../src/limits/newcomers.ts";

function newcomers(silentMsMax?: number) {
  const cut: string[] = [];
  const refused = { count: 0 };
  const clock = { now: 0 };
  const made = new Newcomers<string>({
    max: 5,
    perAddressMax: 3,
    ...(silentMsMax !== undefined && { silentMsMax }),
    elapsed: () => clock.now,
    onRefused: () => refused.count++,
  });
  const come = (key: string, address: string): boolean => {
    if (!made.makeRoom(address)) return false;
    made.add(key, address, () => cut.push(key));
    return true;
  };
  return { made, cut, refused, clock, come };
}

test("[H45] connections of an address are limited, and other addresses are not affected", () => {
  const { made, come, cut, refused } = newcomers(1_000);
  expect(["a", "b", "c", "d"].map((key) => come(key, "192.0.2.1"))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(come("e", "192.0.2.2")).toBe(true);
  expect([made.count, cut, refused.count]).toEqual([4, [], 1]);
  made.remove("b");
  expect(come("f", "192.0.2.1")).toBe(true);
});

test("[H45] beyond the limit the longest silent one is ended, unless its credential is being checked", () => {
  const { made, come, cut, clock } = newcomers(1_000);
  for (const key of ["a", "b", "c"]) come(key, "192.0.2.1");
  made.hold("a", true);
  clock.now = 999;
  expect(come("d", "192.0.2.1")).toBe(false);
  clock.now = 1_000;
  expect(come("d", "192.0.2.1")).toBe(true);
  expect(cut).toEqual(["b"]);
  made.hold("a", false);
  expect(come("e", "192.0.2.1")).toBe(true);
  expect(cut).toEqual(["b", "a"]);
});

test("[H45] without a silence limit no connection of a full address is ended", () => {
  const { come, cut, clock } = newcomers();
  for (const key of ["a", "b", "c"]) come(key, "192.0.2.1");
  clock.now = 1e9;
  expect([come("d", "192.0.2.1"), cut]).toEqual([false, []]);
});

test("[H45] when there are too many in all, the first is ended; if none can be, the new one is refused", () => {
  const { made, come, cut } = newcomers(1_000);
  for (const [i, key] of ["a", "b", "c", "d", "e"].entries()) come(key, `192.0.2.${i}`);
  expect([come("f", "192.0.2.9"), cut, made.count]).toEqual([true, ["a"], 5]);
  for (const key of ["b", "c", "d", "e", "f"]) made.hold(key, true);
  expect([come("g", "192.0.2.8"), cut]).toEqual([false, ["a"]]);
});

test("[H45] one IPv6 /64 counts as one address, and IPv4 is the same on an IPv6 listener", () => {
  const { come } = newcomers();
  const addresses = ["2001:db8::1", "2001:db8:0:0:1::2", "2001:db8::ffff:3", "2001:db8::4"];
  expect(addresses.map((address) => come(address, address))).toEqual([true, true, true, false]);
  expect(come("other", "2001:db8:0:1::1")).toBe(true);
  const mapped = newcomers();
  const forms = ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:192.0.2.1", "192.0.2.1"];
  expect(forms.map((form, i) => mapped.come(String(i), form))).toEqual([true, true, true, false]);
});
