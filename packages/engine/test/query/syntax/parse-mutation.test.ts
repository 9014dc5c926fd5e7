/**
 * INSERT, UPDATE, DELETE, EVICT, TOMBSTONE: what each may say, and in which order.
 */
import { expect, test } from "vitest";
import { faultOf, parsed } from "./parsed.ts";

test("INSERT accepts several documents, each in parentheses", () => {
  expect(parsed("INSERT INTO c DOCUMENTS ({'_id': 1}), (:d)")).toEqual({
    kind: "insert",
    into: { name: "c" },
    isInitial: false,
    source: {
      kind: "documents",
      documents: [
        {
          kind: "object",
          entries: [
            { key: { kind: "literal", value: "_id" }, value: { kind: "literal", value: 1 } },
          ],
        },
        { kind: "parameter", name: "d" },
      ],
    },
    conflict: "fail",
  });
  expect(parsed("INSERT INTO c VALUES (:d)")).toEqual(parsed("INSERT INTO c DOCUMENTS (:d)"));
});

test("a parameter stands for a whole document", () => {
  expect(faultOf("INSERT INTO c DOCUMENTS (:d.inner)").message).toBe('expected ")", found "."');
  expect(faultOf("INSERT INTO c DOCUMENTS (:d[0])").code).toBe("query.syntax");
});

test("INSERT accepts the rows of a SELECT, with the policy after them", () => {
  const text = "INSERT INTO c SELECT a FROM b JOIN d ON x ON ID CONFLICT DO NOTHING RETURNING *";
  expect(parsed(text)).toMatchObject({
    source: { kind: "select", joins: [{}] },
    conflict: "nothing",
    returning: [{ kind: "all" }],
  });
});

test.each([
  ["FAIL", "fail"],
  ["DO NOTHING", "nothing"],
  ["DO UPDATE", "update"],
  ["DO MERGE", "merge"],
  ["DO UPDATE_LOCAL_DIFF", "update_local_diff"],
])("ON ID CONFLICT %s is a policy", (text, conflict) => {
  expect(parsed(`INSERT INTO c DOCUMENTS (:d) ON ID CONFLICT ${text}`)).toMatchObject({ conflict });
});

test("there is no DO FAIL, and INITIAL has no policy and no SELECT", () => {
  const message = 'expected NOTHING, UPDATE, MERGE or UPDATE_LOCAL_DIFF, found "FAIL"';
  expect(faultOf("INSERT INTO c DOCUMENTS (:d) ON ID CONFLICT DO FAIL").message).toBe(message);
  expect(parsed("INSERT INTO c INITIAL VALUES (:d) RETURNING a")).toMatchObject({
    isInitial: true,
  });
  expect(faultOf("INSERT INTO c INITIAL DOCUMENTS (:d) ON ID CONFLICT FAIL").code).toBe(
    "query.syntax",
  );
  expect(faultOf("INSERT INTO c INITIAL SELECT a FROM b").code).toBe("query.syntax");
});

test("UPDATE has APPLY, SET and UNSET in this order, and at least one of them", () => {
  const text =
    "UPDATE COLLECTION c (k COUNTER) x USE IDS 'i' APPLY k INCREMENT BY 1, l.m PN_INCREMENT BY -2, n RESTART, o RESTART WITH :z SET a = b, `d e`.f = 1 UNSET g, h.i WHERE j ORDER BY k LIMIT 1 RETURNING *";
  expect(parsed(text)).toMatchObject({
    kind: "update",
    term: { alias: "x", use: { kind: "ids" }, collection: { types: { k: "counter" } } },
    apply: [
      { path: ["k"], method: "increment", value: { value: 1 } },
      { path: ["l", "m"], method: "pn_increment", value: { value: -2 } },
      { path: ["n"], method: "restart" },
      { path: ["o"], method: "restart", value: { name: "z" } },
    ],
    set: [
      { path: ["a"], value: { name: "b" } },
      { path: ["d e", "f"], value: { value: 1 } },
    ],
    unset: [{ path: ["g"] }, { path: ["h", "i"] }],
    where: { name: "j" },
    limit: { value: 1 },
    returning: [{ kind: "all" }],
  });
  expect(faultOf("UPDATE c WHERE a = 1").message).toBe(
    'expected AS, USE, APPLY, SET or UNSET, found "WHERE"',
  );
  expect(faultOf("UPDATE c UNSET a SET b = 1").code).toBe("query.syntax");
});

test("the target of SET is a path of names", () => {
  for (const target of ["a[0]", "upper(a)", "1", ":f", "a.*", "a."]) {
    expect(faultOf(`UPDATE c SET ${target} = 1`).code).toBe("query.syntax");
  }
  expect(faultOf("UPDATE c SET a == 1").message).toBe('expected "=", found "=="');
  expect(parsed("UPDATE c SET order = 1, a.from = 2")).toMatchObject({
    set: [{ path: ["order"] }, { path: ["a", "from"] }],
  });
});

test("DELETE, EVICT and TOMBSTONE are one statement with three methods", () => {
  for (const method of ["delete", "evict", "tombstone"]) {
    expect(
      parsed(`${method} FROM c x WHERE a ORDER BY b LIMIT 1 OFFSET 2 RETURNING _id`),
    ).toMatchObject({
      kind: "remove",
      method,
      term: { alias: "x" },
      orderBy: [{}],
      limit: { value: 1 },
      offset: { value: 2 },
      returning: [{ kind: "column" }],
    });
  }
  expect(faultOf("DELETE * FROM c").message).toBe('expected FROM, found "*"');
});

test("after RETURNING, RAW is a name", () => {
  expect(parsed("DELETE FROM c RETURNING RAW a")).toMatchObject({
    returning: [{ kind: "column", expression: { name: "RAW" }, alias: "a" }],
  });
});
