import { expect, test } from "vitest";
import { damageStores, silentDamage } from "./support/damaged-stores.ts";

test("[K74] verify finds damage at hundreds of random places, and no read returns other content", async () => {
  const seeds = Array.from({ length: 500 }, (_, i) => 1000 + i);
  expect(silentDamage(await damageStores(seeds))).toEqual([]);
}, 1_800_000);
