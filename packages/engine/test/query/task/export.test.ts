/**
 * Exports that take longer than a snapshot may be held.
 */

import { expect, test } from "vitest";
import { openCommands, upsertOf } from "../../support/run-commands.ts";

test("an export renews its snapshot as it goes forward, and is as of one transaction", async () => {
  const { runner, storage } = await openCommands();
  const count = 1_000;
  const commands = Array.from({ length: count }, (_, n) => upsertOf({ _id: n }));
  await runner.write({ commands });
  let renewals = 0;
  let forward = 0;
  const take = storage.snapshot.bind(storage);
  storage.snapshot = () => Object.assign(take(), { renew: () => void renewals++ });
  const ids = new Set<unknown>();
  const result = await runner.export({
    collection: "cars",
    onDocument: ({ id }) => {
      ids.add(id);
      if (renewals > forward) forward = renewals;
      // Written behind the state that is exported.
      return id === 0
        ? runner.write({ commands: [upsertOf({ _id: "later" })] }).then(() => {})
        : undefined;
    },
  });
  expect(result.count).toBe(count);
  expect(ids.size).toBe(count);
  expect(forward).toBeGreaterThan(1);
});
