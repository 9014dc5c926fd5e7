/**
 * A server that is killed with SIGKILL while it delivers, and a receiver whose connections are cut
 * and that fails at random: it gets every change, in order, at least once.
 */

import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { bundleScript } from "../../../node/test/support/script.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { askManagement } from "../support/managed-app.ts";
import { callOnce, type Served, serveFolder, verifyFolder } from "../support/served-folder.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";

const WORDS = ["--management-port", "0"];
const KILLS = 3;
const WRITES = 40;

/** From 0 to below 1, the same in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function write(served: Served, id: number): Promise<boolean> {
  const statement = "INSERT INTO orders DOCUMENTS (:d) ON ID CONFLICT DO UPDATE";
  try {
    await callOnce(served, "/store/execute", { statement, args: { d: { _id: id } } });
    return true;
  } catch {
    return false;
  }
}

test("[M44] killed servers and failing receivers lose no change, and their order holds", async () => {
  const chance = seeded(7);
  const script = await bundleScript("server/src/main");
  onTestFinished(() => script.remove());
  const dataDir = join(temporaryFolder(), "data");
  let served = await serveFolder(script, dataDir, WORDS);
  const receiver = await WebhookReceiver.start();
  const body = { name: "orders", url: receiver.url, collection: "orders", allowPrivate: true };
  const made = await askManagement(served, "POST", "/app/default/webhook", body);
  receiver.secret = (made as { readonly body: { readonly secret: string } }).body.secret;
  let isFailing = true;
  receiver.behaviour = (_, response) => {
    if (!isFailing || chance() < 0.8) return 200;
    if (chance() < 0.5) return 500;
    response.destroy();
    return undefined;
  };
  const written: number[] = [];
  let next = 0;
  for (let kill = 0; kill <= KILLS; kill++) {
    const until = next + WRITES;
    while (next < until) {
      next++;
      if (await write(served, next)) written.push(next);
    }
    // In the middle of a delivery or between two.
    await vi.waitFor(() => expect(receiver.taken.length).toBeGreaterThan(kill * 15), {
      timeout: 30_000,
      interval: 1,
    });
    if (kill === KILLS) break;
    served.process.kill("SIGKILL");
    await served.process.ended;
    served = await serveFolder(script, dataDir, WORDS);
  }
  isFailing = false;
  await receiver.holds(written);
  const ids = new Map<string, string>();
  for (const { id, body: text } of receiver.received) {
    expect(ids.get(id) ?? text, "a repeated id has the same body").toBe(text);
    ids.set(id, text);
  }
  served.process.kill("SIGTERM");
  await served.process.ended;
  expect((await verifyFolder(script, dataDir)).code).toBe(0);
});
