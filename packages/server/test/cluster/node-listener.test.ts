/**
 * Where other nodes reach this one: calls with the secret of the cluster, within their bounds.
 */

import { isObject, SYNC_MESSAGE_BYTES_MAX, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import { NodeClient } from "../../src/cluster/node-client.ts";
import { CALL_SIZE_MAX, listenForNodes } from "../../src/cluster/node-listener.ts";

const SECRET = "a-secret-of-all-nodes";

/** Returns a function that calls the procedure `measure`, which returns the size of its bytes. */
async function startListener(secret = SECRET): Promise<(size: number) => Promise<Value>> {
  const http = await listenForNodes({
    host: "127.0.0.1",
    port: 0,
    secret: SECRET,
    tls: undefined,
    procedures: { measure: async (value) => sizeOf(value) },
    endpoints: [],
    answerOf: () => undefined,
    takeLink: () => false,
    sequenceOf: () => undefined,
    log: () => {},
  });
  onTestFinished(() => http.close());
  const client = new NodeClient(secret, undefined);
  onTestFinished(() => client.close());
  return (size) => client.call(http.url, "measure", { bytes: new Uint8Array(size) });
}

function sizeOf(value: Value): number {
  const bytes = isObject(value) ? value["bytes"] : undefined;
  return bytes instanceof Uint8Array ? bytes.length : -1;
}

test("a call may have the largest upload of a peer", async () => {
  const measure = await startListener();
  expect(await measure(3)).toBe(3);
  expect(await measure(SYNC_MESSAGE_BYTES_MAX)).toBe(SYNC_MESSAGE_BYTES_MAX);
});

test("a call that is too large is refused, and the next one is answered", async () => {
  const measure = await startListener();
  await expect(measure(CALL_SIZE_MAX)).rejects.toThrow("cannot be reached");
  expect(await measure(3)).toBe(3);
});

test("a call without the secret is refused", async () => {
  const measure = await startListener("another-secret");
  await expect(measure(3)).rejects.toThrow("cannot be reached");
});
