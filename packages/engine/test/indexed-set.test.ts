/**
 * Indexed set: the same members as a set would have, whoever comes and goes.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { IndexedSet, type Placed } from "../src/indexed-set.ts";

interface Member extends Placed {
  readonly name: number;
}

test("an indexed set has the same members as a Set, and `remove` returns whether the member was in it", () => {
  const changes = fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 100 });
  fc.assert(
    fc.property(changes, (steps) => {
      const members = Array.from({ length: 10 }, (_, name): Member => ({ name, place: -1 }));
      const indexedSet = new IndexedSet<Member>();
      const expected = new Set<Member>();
      for (const [name, isComing] of steps) {
        const member = members[name];
        if (member === undefined) continue;
        if (!isComing) expect(indexedSet.remove(member)).toBe(expected.delete(member));
        else if (!expected.has(member)) {
          indexedSet.add(member);
          expected.add(member);
        }
        expect(indexedSet.size).toBe(expected.size);
        expect(new Set(indexedSet.list())).toEqual(expected);
      }
    }),
  );
});

test("members may be removed while the list is iterated", () => {
  const indexedSet = new IndexedSet<Member>();
  for (let name = 0; name < 5; name++) indexedSet.add({ name, place: -1 });
  const seen: number[] = [];
  for (const member of indexedSet.list()) {
    seen.push(member.name);
    indexedSet.remove(member);
  }
  expect(seen).toEqual([0, 1, 2, 3, 4]);
  expect(indexedSet.size).toBe(0);
});
