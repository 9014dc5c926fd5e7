/**
 * Trials: what permissions make visible before they are saved, and what a token is worth.
 */

import { expect, test } from "vitest";
import { ConsoleClient, openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";
import { secretToken } from "../support/signed-token.ts";

const { api, client } = await openConsole();
const APP = `${BIG_PEER}/app/default`;
const TRY = `${APP}/permission/try`;

const documents = Array.from({ length: 40 }, (_, i) => {
  return `({'_id': ${i}, 'owner': '${i < 12 ? "ada" : "bob"}', 'team': 'red'})`;
});
await client.execute(`INSERT INTO orders DOCUMENTS ${documents.join(", ")}`);
await client.execute("INSERT INTO others DOCUMENTS ({'_id': 1})");

function reading(queriesByCollection: Record<string, string[]>): object {
  return { read: { queriesByCollection } };
}

test("[M61] permissions are tried against the documents before they are saved", async () => {
  const permissions = reading({ orders: ["owner == 'ada'"] });
  expect((await client.ask("POST", TRY, { permissions })).body).toEqual({
    collections: [
      { collection: "orders", visible: 12, total: 40 },
      { collection: "others", visible: 0, total: 1 },
    ],
  });
  const all = { permissions: { read: { everything: true } }, collections: ["orders", "nowhere"] };
  expect((await client.ask("POST", TRY, all)).body).toEqual({
    collections: [
      { collection: "orders", visible: 40, total: 40 },
      { collection: "nowhere", visible: 0, total: 0 },
    ],
  });
});

test("[M61] permissions that name the caller are tried with a user and claims", async () => {
  const permissions = reading({ orders: ["owner == :userId"], others: ["team == :claims.team"] });
  const asked = { permissions, userId: "bob", claims: { team: "blue" } };
  expect((await client.ask("POST", TRY, asked)).body).toMatchObject({
    collections: [{ visible: 28 }, { visible: 0 }],
  });
});

test.each([
  [{ permissions: reading({ orders: ["owner =="] }) }, "queriesByCollection.orders"],
  [{ permissions: reading({ orders: ["owner == :userId"] }) }, "userId"],
  [{ permissions: {}, collections: Array.from({ length: 101 }, String) }, "at most 100"],
  [{}, "permissions"],
])("[M61] %j is 400", async (body, reason) => {
  const reply = await client.ask("POST", TRY, body);
  expect([reply.status, reply.body]).toEqual([
    400,
    { title: "InvalidRequest", detail: expect.stringContaining(reason) },
  ]);
});

test("[M61] [M62] trials need a session or the admin token", async () => {
  const stranger = new ConsoleClient(client.url);
  expect((await stranger.ask("POST", TRY, { permissions: {} })).status).toBe(401);
  const path = `${APP}/provider/development/test`;
  expect((await stranger.ask("POST", path, { token: "x" })).status).toBe(401);
  expect((await stranger.ask("GET", `${APP}/collection`)).status).toBe(401);
});

async function verdict(provider: string, token: string): Promise<unknown> {
  const { status, body } = await client.ask("POST", `${APP}/provider/${provider}/test`, { token });
  return status === 200 ? body : [status, body];
}

test("[M62] the token of an anonymous provider is known or not", async () => {
  const { developmentToken = "" } = api.quickstart;
  expect(await verdict("development", developmentToken)).toMatchObject({
    isValid: true,
    userId: null,
    permissions: { read: { everything: true } },
  });
  expect(await verdict("development", "wrong")).toEqual({
    isValid: false,
    reason: "it is not the shared token",
  });
  expect(await verdict("nowhere", "x")).toMatchObject([404, { title: "AuthProviderNotFound" }]);
});

test("[M62] a JWT is accepted with its user, or refused with the reason", async () => {
  const secret = "a secret of the tests that is long enough";
  await client.ask("POST", `${APP}/provider`, {
    name: "users",
    config: { type: "jwt", secret, permission: reading({ orders: ["owner == :userId"] }) },
  });
  const claims = { sub: "ada", aud: api.quickstart.appId, exp: Math.floor(Date.now() / 1000) + 60 };
  expect(await verdict("users", secretToken(claims, secret))).toMatchObject({
    isValid: true,
    userId: "ada",
    permissions: { read: { queriesByCollection: { orders: [expect.stringContaining("ada")] } } },
  });
  for (const wrong of [
    "no token",
    secretToken(claims, "another secret that is long enough too"),
    secretToken({ ...claims, exp: 1 }, secret),
    secretToken({ ...claims, aud: "another" }, secret),
    secretToken({ aud: claims.aud, exp: claims.exp }, secret),
  ]) {
    expect(await verdict("users", wrong)).toEqual({
      isValid: false,
      reason: expect.stringMatching(/\w{3}/),
    });
  }
});
