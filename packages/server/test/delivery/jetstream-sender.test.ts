/** What a sender to JetStream leaves behind. A real nats-server is in sink.long.test.ts. */

import { getEventListeners, once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { stringifyJson, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { JetStreamSender } from "../../src/delivery/jetstream-sender.ts";
import type { PlacedChange } from "../../src/delivery/sender.ts";
import { DEFAULT_SUBJECT, type Sink } from "../../src/registry/sinks.ts";

/** No server listens there. */
const SINK: Sink = {
  id: "s1",
  appId: "a1",
  name: "events",
  collection: "orders",
  isPaused: false,
  start: { id: "1" },
  servers: ["nats://127.0.0.1:1"],
  subject: DEFAULT_SUBJECT,
};

interface Published {
  readonly subject: string;
  readonly id: string;
  readonly event: string;
}

/** What a sink publishes for the insert of a document. */
function publishedFor(id: Value, sink: Sink = SINK): Published {
  const sender = new JetStreamSender(sink, { timeoutMs: 1 });
  const at = "2026-01-31T12:00:00.000Z";
  const change = { type: "insert", collection: "orders", id, txnId: 7, at, by: null } as const;
  const json = stringifyJson({ ...change });
  const placed: PlacedChange = { cursor: "h1.7.0", change, txnId: 7, json };
  const [published] = JSON.parse(sender.compose([placed])) as Published[];
  if (published === undefined) throw new Error("expected a message");
  return published;
}

test.each<[Value, string]>([
  ["o1", "orders/o1"],
  [9_007_199_254_740_993n, "orders/9007199254740993"],
  [{ till: 9_007_199_254_740_993n, n: 1 }, 'orders/{"till":9007199254740993,"n":1}'],
])("[M49] the id %o is exact in the subject of an event", (id, subject) => {
  expect(JSON.parse(publishedFor(id).event)).toMatchObject({ subject });
});

test("[M49] two sinks of an app that publish the same change into one stream have ids of their own", () => {
  const other = { ...SINK, id: "s2", name: "others" };
  expect(publishedFor("o1").id).toBe("s1.h1.7.0");
  expect(publishedFor("o1", other).id).toBe("s2.h1.7.0");
  const events = [SINK, other].map((sink) => JSON.parse(publishedFor("o1", sink).event) as object);
  expect(events).toMatchObject([
    { id: "h1.7.0", source: "/app/a1/sink/events" },
    { id: "h1.7.0", source: "/app/a1/sink/others" },
  ]);
});

test("closing does not wait for a server that accepts connections and does not answer", async () => {
  const silent = createServer((socket) => socket.on("error", () => {}));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const sink = { ...SINK, servers: [`nats://127.0.0.1:${port}`] };
  const sender = new JetStreamSender(sink, { timeoutMs: 60_000 });
  const stopping = new AbortController();
  const sent = sender.send({ id: "m1", payload: "[]" }, stopping.signal);
  const [socket] = await once(silent, "connection");
  stopping.abort();
  expect(await sent).toMatchObject({ message: "the delivery was stopped" });
  await sender.close();
  expect(socket.destroyed, "closed before the attempt has ended").toBe(false);
});

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
