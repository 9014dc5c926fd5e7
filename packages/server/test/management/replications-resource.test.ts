/**
 * Replications by the management API.
 */

import { expect, test } from "vitest";
import { openManagement, reported } from "../support/management-api.ts";

const api = await openManagement();
const REPLICATIONS = "/app/default/bigPeerReplication";
const NORTH = `${REPLICATIONS}/north`;

async function makeNorth(body: object = {}): Promise<unknown> {
  return api.must("POST", REPLICATIONS, { name: "north", ...body });
}

const EMPTY = { name: "north", connections: [], queriesByCollection: {} };
const FULL = {
  name: "north",
  connections: ["north.example.com:4040", "192.0.2.1:1", "[2001:db8::1]:65535"],
  queriesByCollection: { cars: ["color == 'blue'", "true"], trains: [] },
};

test("[M24] a replication has its addresses and queries, each once, and none by default", async () => {
  for (const body of [{}, { connections: null, queriesByCollection: null }]) {
    expect(await makeNorth(body)).toEqual(EMPTY);
    await api.must("DELETE", NORTH);
  }
  const [first] = FULL.connections;
  expect(await makeNorth({ ...FULL, connections: [...FULL.connections, first] })).toEqual(FULL);
  expect(await api.get(NORTH)).toEqual(FULL);
  expect(await api.must("DELETE", NORTH)).toBeNull();
});

test.each([
  [{ connections: ["example.com"] }, "connections[0]"],
  [{ connections: ["a.example.com:1", "https://example.com:443"] }, "connections[1]"],
  [{ connections: [1] }, "connections[0]"],
  [{ connections: "a:1" }, "connections"],
  [{ queriesByCollection: { cars: ["color ="] } }, "queriesByCollection.cars[0]"],
  [{ queriesByCollection: { cars: "true" } }, "queriesByCollection.cars"],
  [{ queriesByCollection: [] }, "queriesByCollection"],
  [{ attachments: "never" }, "attachments"],
  [{ status: 1 }, "status"],
])("[M24] %j is 400 with the place, and nothing changes", async (change, place) => {
  for (const [method, path, given] of [
    ["POST", REPLICATIONS, { name: "south", ...change }],
    ["PATCH", NORTH, change],
  ] as const) {
    await makeNorth();
    const { status, body } = await api.ask(method, path, given);
    expect({ status, body }).toEqual({
      status: 400,
      body: { title: "InvalidRequest", detail: expect.stringContaining(` at ${place}`) },
    });
    expect(await api.get(REPLICATIONS)).toEqual({
      data: [EMPTY],
      meta: { page: 1, size: 1, totalPages: 1 },
    });
    await api.must("DELETE", NORTH);
  }
});

test("[M24] names are unique over all apps", async () => {
  await makeNorth();
  await api.must("POST", "/app", { name: "shop" });
  for (const app of ["default", "shop"]) {
    expect(await api.fail("POST", `/app/${app}/bigPeerReplication`, { name: "north" })).toBe(
      "409 BigPeerReplicationNameNotUnique",
    );
  }
  expect(await api.fail("POST", REPLICATIONS, { name: "North" })).toBe("400 InvalidName");
  const none = "/app/none/bigPeerReplication";
  expect(await api.fail("POST", none, { name: "south" })).toBe("404 AppNotFound");
  expect(await api.fail("GET", none)).toBe("404 AppNotFound");
  await api.must("DELETE", "/app/shop");
  await api.must("DELETE", NORTH);
});

test.each(["PUT", "PATCH"])(
  "[M25] %s changes the given fields, and null clears them",
  async (method) => {
    await makeNorth(FULL);
    const { connections, queriesByCollection } = FULL;
    const change = (body: object): Promise<unknown> => api.must(method, NORTH, body);
    expect(await change({})).toEqual(FULL);
    expect(await change({ connections: null })).toEqual({ ...FULL, connections: [] });
    expect(await change({ queriesByCollection: null })).toEqual(EMPTY);
    expect(await change({ queriesByCollection })).toEqual({ ...FULL, connections: [] });
    expect(await change({ connections })).toEqual(FULL);
    expect(await change({ connections: [], queriesByCollection: { cars: ["true"] } })).toEqual({
      ...EMPTY,
      queriesByCollection: { cars: ["true"] },
    });
    expect(await api.get(NORTH)).toEqual({ ...EMPTY, queriesByCollection: { cars: ["true"] } });
    await api.must("DELETE", NORTH);
  },
);

test.each(["PUT", "PATCH"])(
  "[M31] the GET body of a replication can be sent back by %s, with its own name and no other",
  async (method) => {
    await makeNorth(FULL);
    expect(await api.must(method, NORTH, FULL)).toEqual(FULL);
    expect(await api.must(method, NORTH, { name: null })).toEqual(FULL);
    const detail = "expected north, which cannot be changed, found another text at name";
    expect(reported(await api.ask(method, NORTH, { ...EMPTY, name: "south" }))).toEqual({
      status: 400,
      body: { title: "InvalidRequest", detail },
    });
    expect(await api.get(NORTH)).toEqual(FULL);
    await api.must("DELETE", NORTH);
  },
);

test("[M36] eager attachments are set by POST, PUT and PATCH, shown, and reset by onDemand or null", async () => {
  const eager = { ...EMPTY, attachments: "eager" };
  for (const attachments of ["onDemand", null]) {
    expect(await makeNorth({ attachments })).toEqual(EMPTY);
    await api.must("DELETE", NORTH);
  }
  expect(await makeNorth({ attachments: "eager" })).toEqual(eager);
  for (const method of ["PUT", "PATCH"]) {
    for (const none of ["onDemand", null]) {
      expect(await api.must(method, NORTH, { connections: [] })).toEqual(eager);
      expect(await api.must(method, NORTH, eager)).toEqual(eager);
      expect(await api.must(method, NORTH, { attachments: none })).toEqual(EMPTY);
      expect(await api.get(NORTH)).toEqual(EMPTY);
      expect(await api.must(method, NORTH, { attachments: "eager" })).toEqual(eager);
    }
  }
  expect(await api.get(NORTH)).toEqual(eager);
  const { data } = (await api.get("/audit?size=1")) as {
    data: { action: string; detail: string }[];
  };
  expect(data.map(({ action, detail }) => [action, detail])).toEqual([
    ["bigPeerReplication.update", "attachments"],
  ]);
  await api.must("DELETE", NORTH);
});

test("[M26] an unknown replication is 404, one of another app is 400, whether or not that app exists", async () => {
  await makeNorth();
  await api.must("POST", "/app", { name: "shop" });
  for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
    const body = method === "GET" || method === "DELETE" ? undefined : { connections: null };
    for (const app of ["default", "shop", "none"]) {
      const path = `/app/${app}/bigPeerReplication/south`;
      expect(await api.fail(method, path, body)).toBe("404 BigPeerReplicationNotFound");
    }
    for (const app of ["shop", "none"]) {
      const path = `/app/${app}/bigPeerReplication/north`;
      expect(await api.fail(method, path, body)).toBe("400 AppNameMismatch");
    }
  }
  expect(await api.get(NORTH)).toEqual(EMPTY);
  await api.must("DELETE", "/app/shop");
  await api.must("DELETE", NORTH);
});

test("[M11] replications are listed in the order of their names", async () => {
  for (const name of ["south", "north"]) await api.must("POST", REPLICATIONS, { name });
  expect(await api.get(REPLICATIONS)).toEqual({
    data: [EMPTY, { ...EMPTY, name: "south" }],
    meta: { page: 1, size: 2, totalPages: 1 },
  });
});
