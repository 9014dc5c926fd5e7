/** Webhooks and sinks of a server that starts. That they deliver: webhooks.test.ts. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { nodePlatform } from "../../../node/src/index.ts";
import { Deliveries } from "../../src/delivery/deliveries.ts";
import type { Log } from "../../src/observability/log.ts";

test("a node whose roles change before its server has started leaves webhooks to the start", async () => {
  const log = vi.fn<Log>();
  const deliveries = new Deliveries({
    platform: nodePlatform,
    log,
    attemptsMax: 1,
    timeoutMs: 1_000,
    isClustered: true,
    changesOf: (app) => app.changes,
  });
  deliveries.rolesChanged();
  await nextTurn();
  expect(log).not.toHaveBeenCalled();
  const all = vi.fn<() => never[]>(() => []);
  const registry = { webhooks: { all }, sinks: { all } };
  deliveries.start({ registry, apps: { use: vi.fn<() => never>() } } as never);
  expect(all).toHaveBeenCalledTimes(2);
  await deliveries.close();
});
