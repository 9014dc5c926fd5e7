import { expect, test } from "vitest";
import { sized } from "../../protocol/test/support/test-size.ts";
import { damageStores, silentDamage } from "./support/damaged-stores.ts";

test("[K74] verify finds damage at random places, and no read returns other content", async () => {
  const seeds = Array.from({ length: sized(5, 40) }, (_, i) => i + 1);
  const outcomes = await damageStores(seeds);
  expect(outcomes).toHaveLength(seeds.length);
  expect(silentDamage(outcomes)).toEqual([]);
  const found = outcomes.filter(({ problems }) => problems !== 0).length;
  expect(found).toBeGreaterThan(seeds.length / 4);
});
