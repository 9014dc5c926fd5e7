/**
 * Real browsers that are killed while tabs write to their peer, a few times. `npm run prove --
 * browser` does it a hundred times.
 */

import { expect, test } from "vitest";
import { Random } from "../../../../compare/random.mjs";
import { killPeer } from "../../../../prove/browser/killed-peer.mjs";
import { browsers } from "../support/real-browsers.ts";

for (const { name, absence } of browsers) {
  const because = absence === undefined ? "" : ` (left out: ${absence})`;
  test.runIf(absence === undefined)(
    `${name}: a killed browser loses no acknowledged write, and uploads each once${because}`,
    async () => {
      const seed = Math.floor(Math.random() * 1e6);
      const random = new Random(seed);
      const kills = name === "chromium" ? 2 : 1;
      const result = await killPeer(name, { kills, random: () => random.next() });
      expect(result.failures, `seed ${seed}`).toEqual([]);
      expect(result.kills).toBe(kills);
    },
  );
}
