/**
 * The caller in permission queries: filled in as literals, whatever the claims are.
 */
import { describe, expect, test } from "vitest";
import { Authority } from "../../../src/query/permission/authority.ts";
import { bindPermissions } from "../../../src/query/permission/bound-permissions.ts";
import type { Caller } from "../../../src/query/permission/caller.ts";
import { readPermissions } from "../../../src/query/permission/permissions.ts";
import { Filters } from "../../../src/sync/stream/filter.ts";
import { openStatements } from "../../support/run-statements.ts";
import { testPlatform } from "../../support/test-platform.ts";

const USERS = { isOfUsers: true };
const ADA: Caller = { userId: "ada", claims: { team: "red", teams: ["red", "blue"], level: -5 } };

function permissionsOf(query: string) {
  const rule = { queriesByCollection: { notes: [query] } };
  return readPermissions({ read: rule, write: rule }, "permissions", USERS);
}

function authorityOf(query: string, caller: Caller): Authority {
  return new Authority(bindPermissions(permissionsOf(query), caller), caller.userId);
}

const NOTES = [
  { _id: "1", owner: "ada", team: "red", level: -5 },
  { _id: "2", owner: "bob", team: "blue", level: 5 },
  { _id: "3", owner: null, team: "green" },
  { _id: "4", owner: "ada'); true; --", team: "red" },
];

async function idsFor(query: string, caller: Caller): Promise<unknown[]> {
  const { runner, execute } = await openStatements();
  await execute("INSERT INTO notes DOCUMENTS (:notes)", { notes: NOTES });
  const statement = "SELECT _id FROM notes ORDER BY _id";
  const { items } = await runner.execute({ statement, authority: authorityOf(query, caller) });
  return items.map((item) => Object.values(item as object)[0]);
}

test.each<[string, Caller, string[]]>([
  ["owner == :userId", ADA, ["1"]],
  ["owner == :userId", { userId: "ada'); true; --", claims: {} }, ["4"]],
  ["owner == :userId", { userId: '" == "" || true || "', claims: {} }, []],
  ["team == :claims.team", ADA, ["1", "4"]],
  ["team IN :claims.teams", ADA, ["1", "2", "4"]],
  ["level -:claims.level == 0", ADA, ["1"]],
  ["team == :claims.deep.`a b`", { userId: "x", claims: { deep: { "a b": "blue" } } }, ["2"]],
  ["owner == :userId && team == :claims.team", ADA, ["1"]],
  // Who does not have a claim is not somebody whose claim is null.
  ["owner == :claims.owner", { userId: "x", claims: {} }, []],
  ["owner == :claims.owner", { userId: "x", claims: { owner: null } }, []],
  ["owner == :claims.toString", { userId: "x", claims: {} }, []],
  ["owner == :claims.owner || true", { userId: "x", claims: { owner: { a: 1 } } }, []],
])("[P22] %s selects by the caller", async (query, caller, ids) => {
  expect(await idsFor(query, caller)).toEqual(ids);
});

describe("[P22] the caller", () => {
  test("decides writes as well as reads", async () => {
    const { runner, execute } = await openStatements();
    await execute("INSERT INTO notes DOCUMENTS (:notes)", { notes: NOTES });
    const authority = authorityOf("owner == :userId", ADA);
    const run = (statement: string): Promise<unknown> => runner.execute({ statement, authority });
    await run("UPDATE notes SET text = 'mine'");
    expect((await execute("SELECT _id FROM notes WHERE text = 'mine'")).items).toHaveLength(1);
    const foreign = run("INSERT INTO notes DOCUMENTS ({'_id': '5', 'owner': 'bob'})");
    await expect(foreign).rejects.toMatchObject({ code: "permission.denied" });
    await run("INSERT INTO notes DOCUMENTS ({'_id': '6', 'owner': 'ada'})");
  });

  test("changes the filter of a subscription and the rights digest with its claims", () => {
    const filters = new Filters(testPlatform());
    const query = "team == :claims.team";
    const keyOf = (caller: Caller): string =>
      filters.prepare("SELECT * FROM notes", {}, authorityOf(query, caller)).filterKey;
    const blue: Caller = { ...ADA, claims: { ...ADA.claims, team: "blue" } };
    expect(keyOf(ADA)).toBe(keyOf({ userId: "bob", claims: { team: "red" } }));
    expect(keyOf(ADA)).not.toBe(keyOf(blue));
    expect(authorityOf(query, ADA).value).not.toEqual(authorityOf(query, blue).value);
  });

  test("is part of a lookup: the rule has a key, as with literals", () => {
    const { key } = authorityOf("owner == :userId", ADA).readRule("notes");
    expect(key).toEqual({ paths: [["owner"]], tuples: [["ada"]] });
  });

  test("leaves permissions that do not name it unchanged", () => {
    const permissions = permissionsOf("owner == 'ada'");
    expect(bindPermissions(permissions, ADA)).toBe(permissions);
  });

  test("cannot make permissions longer than the limit", () => {
    const query = Array.from({ length: 40 }, () => "a == :claims.long").join(" || ");
    const caller = { userId: "x", claims: { long: "y".repeat(10_000) } };
    expect(() => bindPermissions(permissionsOf(query), caller)).toThrow(
      "at most 262144 characters",
    );
  });
});

test.each([
  ["owner == :user", "expected :userId or :claims.name, found the parameter user at "],
  ["owner == :userid", "did you mean :userId?"],
  ["owner == :claims", "found :claims without a name"],
  ["owner == $args.userId", "found the parameter userId at "],
  ["owner == :userId && now() > 1", "now depends on the request"],
])("[P22] a query with another name is refused: %s", (query, message) => {
  expect(() => permissionsOf(query)).toThrow(message);
});

test("[P22] an API key has no caller, so its permissions cannot name one", () => {
  const read = { queriesByCollection: { notes: ["owner == :userId"] } };
  expect(() => readPermissions({ read })).toThrow(/found the parameter userId at .*; the caller, /);
});

test.each(["false", "1 == 2", "'owner' == 'ada'", "null", '"owner" == "ada"'])(
  "[P23] a query that names no field and is not true is refused when it is saved: %s",
  (query) => {
    const read = { queriesByCollection: { notes: [query] } };
    const message = /expected true, or a query about a field .* at permissions.read.*notes\[0\]/;
    expect(() => readPermissions({ read }, "permissions", { isSaved: true })).toThrow(message);
    // What a token or a webhook says for one user may well be no.
    readPermissions({ read }, "permissions", USERS);
  },
);

test("[P23] true, and a query that names a field or the caller, is saved", () => {
  for (const query of ["true", "owner == 'ada'", "_id == 1", ":claims.isAdmin == true"]) {
    const read = { queriesByCollection: { notes: [query] } };
    const source = { isSaved: true, isOfUsers: true };
    expect(readPermissions({ read }, "permissions", source).read).toMatchObject(read);
  }
});

const SAVED_OF_USERS = { isSaved: true, isOfUsers: true };

function saved(query: string): () => unknown {
  const read = { queriesByCollection: { notes: [query] } };
  return () => readPermissions({ read }, "permissions", SAVED_OF_USERS);
}

test.each([
  ["owner == userId", "userId", ":userId"],
  ["team == 'red' && userId = owner", "userId", ":userId"],
  ["team == claims.team", "claims.team", ":claims.team"],
  ["team IN claims.org.teams", "claims.org.teams", ":claims.org.teams"],
  ["contains(members, userId)", "userId", ":userId"],
])(
  "[P24] a comparison of a field with a caller name without its colon is refused when saved: %s",
  (query, field, meant) => {
    expect(saved(query)).toThrow(
      `expected a value or the caller, found the field ${field} at permissions.read`,
    );
    expect(saved(query)).toThrow(
      `; did you mean ${meant}? a field of that name stands in backticks`,
    );
    // What was kept before, and what a token or a webhook says, is taken as it is.
    const read = { queriesByCollection: { notes: [query] } };
    expect(readPermissions({ read }, "permissions", USERS).read).toMatchObject(read);
  },
);

test.each([
  "userId == :userId",
  "userId == 'ada'",
  "owner == `userId`",
  "claims.state == 'open'",
  "userId != null",
])("[P24] a field named like the caller may be compared with another value: %s", (query) => {
  expect(saved(query)).not.toThrow();
});

test("[P24] an API key has no caller: userId is a field", () => {
  const read = { queriesByCollection: { notes: ["owner == userId"] } };
  expect(readPermissions({ read }, "permissions", { isSaved: true }).read).toMatchObject(read);
});

test("[P22] $userId is not the syntax of the caller", () => {
  expect(saved("owner == $userId")).toThrow("; did you mean :userId?");
});
