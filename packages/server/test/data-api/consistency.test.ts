/**
 * The header X-SERVICE-TXN-ID over HTTP.
 */

import { beforeAll, expect, test } from "vitest";
import { TRANSACTION_HEADERS } from "../../src/data-api/consistency.ts";
import { type OperationName, openDataApi } from "../support/data-api.ts";

const api = await openDataApi({ transactionWaitMs: 50 });

const BODIES: { readonly [name in OperationName]?: object } = {
  count: { collection: "cars", query: "true" },
  find: { collection: "cars", query: "true" },
  findbyid: { collection: "cars", id: "c1" },
  execute: { statement: "SELECT * FROM cars" },
  write: { commands: [{ method: "upsert", collection: "cars", id: "c2", value: {} }] },
};
const OPERATIONS = Object.keys(BODIES) as OperationName[];

beforeAll(async () => {
  await api.upsert("cars", { c1: {} });
});

function call(operation: OperationName, headers: Record<string, string>) {
  return api.call(operation, BODIES[operation], { headers });
}

test.each(OPERATIONS)("[H18] %s proceeds when the transaction has been reached", async (name) => {
  for (const txnId of ["0", "1", "-5", "+1", "-9223372036854775808"]) {
    expect((await call(name, { "x-service-txn-id": txnId })).status).toBe(200);
  }
});

test.each(
  OPERATIONS.flatMap((name) => TRANSACTION_HEADERS.map((header) => [name, header] as const)),
)(
  "[H18] %s with a later transaction in %s waits, then is refused: execute 404, others 400",
  async (name, header) => {
    const { status, body } = await call(name, { [header]: "1000000" });
    expect(status).toBe(name === "execute" ? 404 : 400);
    expect(JSON.stringify(body)).toContain("has not reached transaction 1000000");
  },
);

test.each(["x", "", "1.5", "1e3", "9223372036854775808", "-9223372036854775809", "1, x", "0x10"])(
  "[H18] the value %j is not an int64 and is 400",
  async (value) => {
    for (const name of OPERATIONS) {
      const { status, body } = await call(name, { "x-service-txn-id": value });
      expect(status).toBe(400);
      expect(JSON.stringify(body)).toContain("expected an integer of 64 bits");
    }
  },
);

test("[H18] of several headers the largest counts", async () => {
  const headers = { "x-service-txn-id": "1", "x-ditto-txn-id": "1000000" };
  expect((await call("count", headers)).status).toBe(400);
  expect((await call("count", { "x-service-txn-id": "0, 1" })).status).toBe(200);
  expect((await call("count", { "x-service-txn-id": "0, 1000000" })).status).toBe(400);
});

test("[H18] a write that is refused has written nothing", async () => {
  const commands = [{ method: "upsert", collection: "cars", id: "late", value: {} }];
  const headers = { "x-service-txn-id": "1000000" };
  expect((await api.call("write", { commands }, { headers })).status).toBe(400);
  const { body } = await api.call("findbyid", { collection: "cars", id: "late" });
  expect(body).toEqual({ id: "late", fields: null, txnId: expect.any(Number) });
});

test("[H18] a waiting request proceeds as soon as the transaction is reached", async () => {
  const patient = await openDataApi({ transactionWaitMs: 30_000 });
  await patient.upsert("cars", { c1: {} });
  const headers = { "x-service-txn-id": "2" };
  const reads = [1, 2, 3].map(() =>
    patient.call("findbyid", { collection: "cars", id: "c9" }, { headers }),
  );
  await patient.upsert("cars", { c9: { next: true } });
  for (const { status, body } of await Promise.all(reads)) {
    expect(status).toBe(200);
    expect(body).toEqual({ id: "c9", fields: { next: true }, txnId: 2 });
  }
});
