/** What a sender to JetStream leaves behind. A real nats-server is in sink.long.test.ts. */

import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { JetStreamSender } from "../../src/delivery/jetstream-sender.ts";
import type { Sink } from "../../src/registry/sinks.ts";

/** No server listens there. */
const SINK = { name: "events", servers: ["nats://127.0.0.1:1"] } as unknown as Sink;

test("a delivery that goes on collects no listeners of what was sent", async () => {
  const sender = new JetStreamSender(SINK, { timeoutMs: 1 });
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) {
    expect(await sender.send({ id: "m1", payload: "[]" }, signal)).toMatchObject({
      kind: "failed",
    });
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await sender.close();
});
