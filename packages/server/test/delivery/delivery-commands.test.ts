/** What an operator asks of dead letters. The store is real. */

import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { expect, onTestFinished, test } from "vitest";
import { type CommandTarget, runDeliveryCommand } from "../../src/delivery/delivery-commands.ts";
import { DeliveryJournal } from "../../src/delivery/delivery-journal.ts";
import type { Sender } from "../../src/delivery/sender.ts";
import type { Destination } from "../../src/registry/destination.ts";

const COMMAND = { kind: "webhook", appId: "a1", name: "orders" } as const;

/** A webhook with this many dead letters; `send` gets what is sent again. */
async function targetOf(count: number, send: Sender["send"]): Promise<CommandTarget> {
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  onTestFinished(() => store.close());
  const journal = new DeliveryJournal(store);
  const letter = { atMs: 0, attempts: 1, error: "", messageId: "m", payload: "[]", changes: 1 };
  for (let i = 0; i < count; i++) {
    await journal.bury("w1", { start: "s1", cursor: "0" }, letter, count);
  }
  return {
    destination: { id: "w1", name: "orders", start: { id: "s1" } } as Destination,
    store,
    journal,
    delivery: undefined,
    platform: nodePlatform,
    createSender: () => ({ compose: () => "", send, close: async () => {} }),
    pause: async () => {},
  };
}

test("[M45] the list of dead letters lets other work proceed after each of them", async () => {
  const target = await targetOf(3, async () => ({ kind: "delivered" }));
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  const shown = await runDeliveryCommand({ ...target, pause }, { ...COMMAND, command: "letters" });
  expect(shown?.["letters"]).toHaveLength(3);
  expect(pauses).toBe(3);
});

test("[M45] a dead letter that is discarded while it is sent again stays discarded", async () => {
  const target = await targetOf(1, async () => {
    const [letter] = target.journal.letterIds("w1");
    await runDeliveryCommand(target, { ...COMMAND, command: "discard", letter });
    return { kind: "failed", message: "no answer" };
  });
  const outcome = await runDeliveryCommand(target, { ...COMMAND, command: "retry" });
  expect(outcome).toEqual({ delivered: 0, left: 0, error: "no answer" });
});
