/**
 * Forms of requests and answers over HTTP: JSON and CBOR both ways, compression, what is refused.
 */

import { encodeCbor, type Value } from "@bigpeer/protocol";
import { beforeAll, expect, test } from "vitest";
import { type OperationName, openDataApi } from "../support/data-api.ts";

const api = await openDataApi();

const BODIES: { readonly [name in OperationName]: Value } = {
  count: { collection: "cars", query: "true" },
  find: { collection: "cars", query: "true" },
  findbyid: { collection: "cars", id: "c1" },
  execute: { statement: "SELECT * FROM cars" },
  write: { commands: [] },
  remote_execute: { statement: "SYNC CONTEXT (PEERS) SELECT * FROM cars" },
};
const OPERATIONS = Object.keys(BODIES) as OperationName[];

beforeAll(async () => {
  await api.upsert("cars", { c1: { color: "blue" } });
});

test.each(OPERATIONS)("[H4] %s accepts its request in JSON and in CBOR", async (name) => {
  const json = await api.call(name, BODIES[name]);
  const cbor = await api.callCbor(name, BODIES[name]);
  expect(json.status).toBe(200);
  expect(cbor.status).toBe(200);
  expect(cbor.body).toEqual(json.body);
  expect(cbor.headers.get("content-type")).toBe("application/json");
});

test.each([
  [undefined, "application/json"],
  ["*/*", "application/json"],
  ["application/json", "application/json"],
  ["application/cbor", "application/cbor"],
  ["application/cbor, application/json;q=0.5", "application/cbor"],
  ["application/cbor;q=0.5, application/json", "application/json"],
  ["text/html", "application/json"],
])("[H33] with Accept %s the answer is %s", async (accept, type) => {
  for (const name of OPERATIONS) {
    const { status, headers } = await api.call(name, BODIES[name], { headers: { accept } });
    expect(status).toBe(200);
    const expected = name === "execute" ? "application/json" : type;
    expect(headers.get("content-type"), name).toBe(expected);
  }
});

test("[H33] errors are CBOR if Accept asks for it, also a 401 before the body; those of execute are JSON", async () => {
  for (const name of OPERATIONS) {
    const accept = "application/cbor";
    const type = name === "execute" ? "application/json" : "application/cbor";
    const wrong = await api.call(name, [], { headers: { accept } });
    expect(wrong.status).toBe(400);
    expect(wrong.headers.get("content-type"), name).toBe(type);
    const nobody = await api.call(name, {}, { headers: { accept, authorization: undefined } });
    expect(nobody.status).toBe(401);
    expect(nobody.headers.get("content-type"), name).toBe(type);
  }
});

test("[H11] binary and 64-bit integers survive in CBOR, and are base64 and digits in JSON", async () => {
  const value = {
    bytes: new Uint8Array([0, 255, 7]),
    max: 9_223_372_036_854_775_807n,
    min: -9_223_372_036_854_775_808n,
    safe: 9_007_199_254_740_993n,
    fraction: 0.1,
  };
  const command = { method: "upsert", collection: "exact", id: new Uint8Array([1]), value };
  expect((await api.callCbor("write", { commands: [command] })).status).toBe(200);
  const find = { collection: "exact", query: "true" };
  const cbor = await api.callCbor("find", find, { headers: { accept: "application/cbor" } });
  const found = cbor.body as unknown as { documents: Value[] };
  expect(found.documents).toEqual([{ id: new Uint8Array([1]), fields: value }]);
  const json = await api.call("find", find);
  const reported = json.body as unknown as { documents: Value[] };
  expect(reported.documents).toEqual([{ id: "AQ==", fields: { ...value, bytes: "AP8H" } }]);
});

test("[H6] binary is not an object, even if it is empty", async () => {
  const valueTypeOverrides = new Uint8Array();
  const command = { method: "upsert", collection: "cars", id: 1, value: {}, valueTypeOverrides };
  const { status, body } = await api.callCbor("write", { commands: [command] });
  expect(status).toBe(400);
  const message = "expected an object, found binary at commands[0].valueTypeOverrides";
  expect(body).toEqual({ message: `${message} (value.invalid)` });
});

test("[H11] 64-bit integers in a JSON request are kept", async () => {
  const text =
    '{"commands":[{"method":"upsert","collection":"exact","id":"j","value":{"n":9223372036854775807}}]}';
  expect((await api.send("write", text)).status).toBe(200);
  const { body } = await api.call("findbyid", { collection: "exact", id: "j" });
  const n = 9_223_372_036_854_775_807n;
  expect(body).toEqual({ id: "j", fields: { n }, txnId: expect.any(Number) });
});

test.each([["1e400"], ["-1E+999"], [`1${"0".repeat(400)}`]])(
  "[H11] %s in a JSON request is 400: no float holds it, and null was not sent",
  async (number) => {
    const value = `{"a":[{"b":${number}}]}`;
    const text = `{"commands":[{"method":"upsert","collection":"exact","id":"far","value":${value}}]}`;
    const { status, body } = await api.send("write", text);
    expect(status).toBe(400);
    const message = "expected a number that a float can hold at commands[0].value.a[0].b";
    expect(body).toEqual({ message: `${message} (value.invalid)` });
    const read = await api.call("findbyid", { collection: "exact", id: "far" });
    expect(read.body).toMatchObject({ fields: null });
  },
);

test("[H6] a body that is only a number too large for a float, bare or deeply nested, is 400 as well", async () => {
  for (const text of ["1e400", `${"[".repeat(200_000)}1e400${"]".repeat(200_000)}`]) {
    expect((await api.send("write", text)).status).toBe(400);
  }
});

test("[H11] infinities are accepted in CBOR, and the largest floats in both", async () => {
  const value = { far: Number.POSITIVE_INFINITY, max: Number.MAX_VALUE, min: 5e-324 };
  const command = { method: "upsert", collection: "exact", id: "inf", value };
  expect((await api.callCbor("write", { commands: [command] })).status).toBe(200);
  const text = `{"commands":[{"method":"upsert","collection":"exact","id":"max","value":{"max":1.7976931348623157e308,"min":5e-324,"text":"1e400"}}]}`;
  expect((await api.send("write", text)).status).toBe(200);
  const accept = "application/cbor";
  const find = { collection: "exact", query: "_id == 'inf' || _id == 'max'" };
  const { body } = await api.callCbor("find", find, { headers: { accept } });
  expect(body).toMatchObject({
    documents: [
      { id: "inf", fields: value },
      { id: "max", fields: { max: Number.MAX_VALUE, min: 5e-324, text: "1e400" } },
    ],
  });
});

test.each([
  ["text/plain"],
  ["application/x-www-form-urlencoded"],
  ["multipart/form-data; boundary=x"],
  ["application/json; charset=latin1"],
  [undefined],
])("[H4] a request of the type %s is 415", async (type) => {
  for (const name of OPERATIONS) {
    // As bytes: a text would get a type of its own.
    const body = new TextEncoder().encode("{}");
    const { status } = await api.send(name, body, { headers: { "content-type": type } });
    expect(status, name).toBe(415);
  }
});

test.each<[string, string | Uint8Array, string]>([
  ["broken JSON", '{"a":', "application/json"],
  ["nothing", "", "application/json"],
  ["two values", "{} {}", "application/json"],
  ["bytes that are no UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "application/json"],
  ["an integer that is too large", '{"collection":1e999999}', "application/json"],
  ["broken CBOR", new Uint8Array([0xa1, 0x61]), "application/cbor"],
  ["more than one CBOR item", new Uint8Array([0xa0, 0xa0]), "application/cbor"],
])("[H6] %s is 400", async (_, body, type) => {
  for (const name of OPERATIONS) {
    const { status } = await api.send(name, body, { headers: { "content-type": type } });
    expect(status, name).toBe(400);
  }
});

test.each(OPERATIONS)(
  "[H1] %s is served under /api/v5 and after the id of the app",
  async (name) => {
    const { appId } = api.quickstart;
    for (const prefix of ["/api/v5", `/${appId}/api/v4`, `/${appId}/api/v5`]) {
      expect((await api.call(name, BODIES[name], { prefix })).status).toBe(200);
    }
    const other = await api.call(name, BODIES[name], { prefix: `/${appId.slice(1)}0/api/v4` });
    expect(other.status).toBe(401);
  },
);

test.each(OPERATIONS)("[H12] %s accepts only POST", async (name) => {
  for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
    const { status, headers } = await api.send(name, undefined, { method });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("POST");
  }
});

test.each([
  ["gzip", "gzip"],
  ["br", "br"],
  ["gzip, br", "br"],
  ["gzip;q=1, br;q=0.5", "gzip"],
  ["identity", null],
  ["zstd", null],
])("[H34] with Accept-Encoding %s a large answer is %s", async (accepted, coding) => {
  await api.upsert("large", { a: { text: "x".repeat(5000) } });
  const headers = { "accept-encoding": accepted };
  const { headers: reported, body } = await api.call(
    "findbyid",
    { collection: "large", id: "a" },
    { headers },
  );
  expect(reported.get("content-encoding")).toBe(coding);
  expect(body).toEqual({
    id: "a",
    fields: { text: "x".repeat(5000) },
    txnId: expect.any(Number),
  });
});

test("[H34] a small answer is not compressed", async () => {
  const headers = { "accept-encoding": "gzip, br" };
  const { headers: reported } = await api.call("findbyid", BODIES.findbyid, { headers });
  expect(reported.get("content-encoding")).toBe(null);
  expect(reported.get("vary")).toMatch(/accept-encoding/i);
});

test("a value has the same CBOR bytes as the codec writes", async () => {
  const response = await fetch(`${api.server.url}/api/v4/store/findbyid`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${api.quickstart.apiKey}`,
      "content-type": "application/json",
      accept: "application/cbor",
    },
    body: JSON.stringify({ collection: "cars", id: "c1" }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { body } = await api.call("findbyid", { collection: "cars", id: "c1" });
  expect(bytes).toEqual(encodeCbor(body));
});
