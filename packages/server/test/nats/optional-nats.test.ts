import { expect, test } from "vitest";
import { loadWithNats } from "../../src/nats/optional-nats.ts";

async function failWith(message: string, code: string): Promise<never> {
  throw Object.assign(new Error(message), { code });
}

test("without the packages of NATS, the error says what to install", async () => {
  const missing = "Cannot find package '@nats-io/jetstream' imported from /a/nats-connection.js";
  await expect(loadWithNats(() => failWith(missing, "ERR_MODULE_NOT_FOUND"))).rejects.toThrow(
    "install the packages @nats-io/jetstream and @nats-io/transport-node",
  );
});

test("any other error stays as it is", async () => {
  const other = "Cannot find module './cluster.js'";
  await expect(loadWithNats(() => failWith(other, "ERR_MODULE_NOT_FOUND"))).rejects.toThrow(other);
  expect(await loadWithNats(async () => 7)).toBe(7);
});
