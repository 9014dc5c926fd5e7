/**
 * A process with many small peers that run statements of others, each in one manner, for the test of
 * statements on a whole fleet.
 *
 *   node device-process.mjs <url> <appId> <token> <manner> <from> <to>
 *
 * Each peer holds one document of its own in `own`; a `large` one also holds documents in `large`, as
 * much as an answer may have. Whether a `slow` or `killed` one runs a statement, it never says. Tells
 * {"ready": true} when all are connected and nothing waits to be uploaded, and ends with its input.
 */

import { once } from "node:events";
import { openPeer, type Peer, type PeerOptions } from "../../src/index.ts";
import { whenStatus } from "./peer-status.ts";

const [url = "", appId = "", token = "", manner = "", from = "0", to = "0"] = process.argv.slice(2);

/** Rows of a large answer: together a little below the bound of one peer, 4 MB. */
const LARGE_ROWS = 400;
const LARGE_TEXT = "x".repeat(10_000);

const peers: Peer[] = [];

function policyOf(): PeerOptions["remote"] {
  if (manner === "refusing") return "off";
  // It never says, so the deadline does.
  if (manner === "slow" || manner === "killed") return () => new Promise(() => undefined);
  return "read";
}

async function begin(number: number): Promise<void> {
  const peer = await openPeer({
    appId,
    url,
    token,
    memory: true,
    deviceName: `${manner}-${number}`,
    metadata: { manner, number },
    remote: policyOf() ?? "read",
  });
  peers.push(peer);
  const own = { _id: number, manner };
  await peer.store.execute("INSERT INTO own DOCUMENTS (:own)", { own });
  if (manner === "large") await fill(peer, number);
  peer.sync.start();
  await whenStatus(peer, ({ state, pendingCount }) => state === "connected" && pendingCount === 0);
}

async function fill(peer: Peer, number: number): Promise<void> {
  await peer.store.transaction(async (transaction) => {
    for (let i = 0; i < LARGE_ROWS; i++) {
      const d = { _id: `${number}-${i}`, text: LARGE_TEXT };
      await transaction.execute("INSERT INTO large DOCUMENTS (:d)", { d });
    }
  });
}

const numbers = Array.from({ length: Number(to) - Number(from) }, (_, i) => Number(from) + i);
for (const number of numbers) await begin(number);
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
await once(process.stdin.resume(), "end");
for (const peer of peers) await peer.close();
