import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { problems } from "../support/open-store.ts";
import { peerPair } from "../support/peer-pair.ts";
import { PeerWalk } from "../support/peer-walk.ts";

test("[S34] for any sequence of events, the shown state is the pending layer over the confirmed state", async () => {
  for (let seed = 1; seed <= sized(10, 30); seed++) {
    const pair = await peerPair(seed);
    const walk = new PeerWalk(pair, seed);
    const path: string[] = [];
    for (let i = 0; i < 60; i++) {
      path.push(await walk.step());
      const where = `seed ${seed}, ${path.slice(-6).join(" ")} (${i})`;
      expect(walk.faults(), where).toEqual([]);
    }
    expect(problems(pair.storage), `seed ${seed}`).toEqual([]);
    await pair.peer.close();
  }
});
