/**
 * See as: a statement of the console with the permissions of another caller.
 */

import { expect, test, vi } from "vitest";
import { openConsole } from "../support/console-client.ts";
import { BIG_PEER } from "../support/management-api.ts";

const { api, client } = await openConsole();
const APP = `${BIG_PEER}/app/default`;

const OWN = {
  read: { queriesByCollection: { notes: ["owner == :userId", "team == :claims.team"] } },
};
const ADA = { read: { queriesByCollection: { notes: ["owner == 'ada'"] } } };

await client.execute(
  "INSERT INTO notes DOCUMENTS ({'_id': 1, 'owner': 'ada'}), ({'_id': 2, 'owner': 'bob'}), ({'_id': 3, 'owner': 'eve', 'team': 'red'})",
);
const created = await client.ask("POST", `${APP}/apiKey`, {
  name: "ada",
  permissions: { ...ADA, write: { everything: true } },
});
const key = created.body as string;
await client.ask("POST", `${APP}/provider`, {
  name: "users",
  config: { type: "jwt", secret: "a secret of the tests that is long enough", permission: OWN },
});
await client.ask("POST", `${APP}/provider`, {
  name: "hook",
  config: { type: "tokenWebhook", webhookUrl: "https://hooks.example.com/" },
});
await client.ask("POST", `${APP}/provider`, {
  name: "guests",
  config: {
    type: "anonymous",
    sharedToken: "open sesame, please",
    sessionLength: 60,
    permission: OWN,
  },
});

/** The ids that the other caller sees. */
async function seen(as: unknown): Promise<unknown> {
  return client.items("SELECT _id FROM notes ORDER BY _id", { as });
}

async function failure(statement: string, as: unknown): Promise<string> {
  const { status, body } = await client.execute(statement, { as });
  return `${status} ${(body as { error: { description: string } }).error.description}`;
}

test("[M56] a key sees what its own requests get", async () => {
  for (const statement of [
    "SELECT * FROM notes",
    "SELECT COUNT(*) AS n FROM notes",
    "SELECT * FROM notes WHERE _id = 2",
    "SELECT * FROM system:collections",
    "EXPLAIN SELECT * FROM notes",
    "SHOW ALL",
  ]) {
    const own = await api.call("execute", { statement }, { headers: bearer(key) });
    const other = await client.execute(statement, { as: { key: "ada" } });
    expect([other.status, other.body], statement).toEqual([own.status, own.body]);
  }
  expect(await seen({ key: "ada" })).toEqual([{ _id: 1 }]);
});

test("[M56] a key with all permissions sees everything", async () => {
  expect(await seen({ key: "quickstart" })).toEqual([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
});

test("[M56] a user of a provider sees what the claims give", async () => {
  expect(await seen({ provider: "users", userId: "bob" })).toEqual([{ _id: 2 }]);
  const claims = { sub: "bob", team: "red" };
  expect(await seen({ provider: "users", claims })).toEqual([{ _id: 2 }, { _id: 3 }]);
  const permissions = { read: { queriesByCollection: { notes: ["team == :claims.team"] } } };
  expect(await seen({ provider: "users", claims: { ...claims, permissions } })).toEqual([
    { _id: 3 },
  ]);
  expect(await seen({ provider: "guests", userId: "ada" })).toEqual([{ _id: 1 }]);
});

test("[M56] permissions are tried without a key, also those that name the caller", async () => {
  expect(await seen({ permissions: ADA })).toEqual([{ _id: 1 }]);
  expect(await seen({ permissions: OWN, userId: "eve" })).toEqual([{ _id: 3 }]);
  expect(await seen({ permissions: OWN, userId: "x", claims: { team: "red" } })).toEqual([
    { _id: 3 },
  ]);
  expect(await failure("SELECT * FROM notes", { permissions: {} })).toMatch(
    /^403 .*no permission for the collection notes.*permission\.denied/,
  );
});

test.each([
  "INSERT INTO notes DOCUMENTS ({'_id': 4, 'owner': 'ada'})",
  "UPDATE notes SET owner = 'ada'",
  "DELETE FROM notes",
  "EVICT FROM notes WHERE _id = 1",
  "PROFILE DELETE FROM notes",
  "CREATE INDEX by_owner ON notes (owner)",
  "DELETE FROM system:request_history",
  "ALTER SYSTEM SET CARDINALITY_LIMIT = 5",
])(
  "[M56] %s is 403 and changes nothing, whatever the other caller may write",
  async (statement) => {
    const before = api.server.apps.open[0]?.store.txnId;
    for (const as of [{ key: "ada" }, { key: "quickstart" }]) {
      expect(await failure(statement, as)).toMatch(/^(403|400) /);
    }
    expect(api.server.apps.open[0]?.store.txnId).toBe(before);
    expect(await failure("DELETE FROM notes", { key: "quickstart" })).toBe(
      "403 expected a statement that reads: nothing is written with the permissions of others (permission.denied)",
    );
  },
);

test.each([
  [{}, "400", "one of key, provider and permissions"],
  [{ key: "ada", permissions: {} }, "400", "one of key, provider and permissions"],
  [{ key: "nobody" }, "404", "no API key named"],
  [{ provider: "nowhere", userId: "x" }, "404", "no auth provider named"],
  [{ provider: "users" }, "400", "the id of a user"],
  [{ provider: "hook", userId: "x" }, "400", "permissions in place of provider"],
  [{ permissions: { read: { everything: 1 } } }, "400", "true or false"],
  [{ permissions: { read: { queriesByCollection: { a: [":userId == x"] } } } }, "400", "userId"],
  [{ other: 1 }, "400", "no other fields"],
  ["ada", "400", "as"],
])("[M56] as %j is refused", async (as, status, reason) => {
  const found = await failure("SELECT * FROM notes", as);
  expect(found).toMatch(new RegExp(`^${status} `));
  expect(found).toContain(reason);
});

test("[M56] an API key that has expired is refused, as its own requests are", async () => {
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const made = await client.ask("POST", `${APP}/apiKey`, {
    name: "old",
    permissions: ADA,
    expiresAt,
  });
  const statement = "SELECT _id FROM notes";
  const old = { headers: bearer(made.body as string) };
  expect((await api.call("execute", { statement }, old)).status).toBe(200);
  expect(await seen({ key: "old" })).toEqual([{ _id: 1 }]);
  const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 120_000);
  try {
    expect((await api.call("execute", { statement }, old)).status).toBe(401);
    expect(await failure(statement, { key: "old" })).toContain(
      `400 expected an API key that is valid, found "old", which expired at ${expiresAt}`,
    );
  } finally {
    later.mockRestore();
  }
});

test("[M56] the other caller does not see the statement in its history", async () => {
  const text = "SELECT _id FROM notes WHERE owner = 'seen by the console'";
  for (const as of [{ key: "ada" }, { permissions: ADA }]) await client.items(text, { as });
  await ownItems("SELECT _id FROM notes WHERE owner = 'of the key itself'");
  const history = JSON.stringify(await ownItems("SELECT text FROM system:request_history"));
  expect(history).toContain("of the key itself");
  expect(history).not.toContain("seen by the console");
  expect(
    await client.items("SELECT text FROM system:request_history WHERE text = :text", {
      args: { text },
    }),
  ).toEqual([{ text }, { text }]);
});

async function ownItems(statement: string): Promise<unknown[]> {
  const { status, body } = await api.call("execute", { statement }, { headers: bearer(key) });
  expect(status).toBe(200);
  return (body as { items: unknown[] }).items;
}

function bearer(text: string): Record<string, string> {
  return { authorization: `Bearer ${text}` };
}
