/**
 * Statements for other peers: their check, the choice of the peers, and what is sent to them.
 */

import { PeerError, type ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import type { SystemRow } from "../../../src/query/system/system-collections.ts";
import { authorityOf } from "../../support/caller.ts";
import { openStatements } from "../../support/run-statements.ts";

const PEERS = "SYNC CONTEXT (PEERS)";

function peersBy(condition: string): string {
  return `SYNC CONTEXT (PEERS WHERE ${condition})`;
}

test.each<[string, unknown]>([
  ["SYNC CONTEXT (PEERS) SELECT * FROM c", undefined],
  ["SYNC CONTEXT (PEERS WHERE peerKeyString = :p) UPDATE c SET x = 1 WHERE y = :y", { p: 1, y: 2 }],
  ["sync context ( peers where peerMetadata.os = 'x' ) DELETE FROM c;", {}],
])("%s could run", async (statement, args) => {
  const { runner } = await openStatements();
  runner.checkRemote({ statement, args });
  expect(() => runner.prepare(statement)).toThrow("remote_execute");
});

test.each<[string, string, string, number]>([
  ["the clause is missing", "SELECT * FROM c", "query.semantic", 1],
  ["it is no statement", "nonsense", "query.syntax", 1],
  ["there is no statement for the peers", "SYNC CONTEXT (PEERS)", "query.syntax", 21],
  ["the inner one is no statement", "SYNC CONTEXT (PEERS) SELEC 1", "query.syntax", 22],
  ["the inner one is for peers again", `${PEERS} ${PEERS} SELECT * FROM c`, "query.semantic", 22],
  ["the inner one cannot be bound", `${PEERS} SELECT nope(1) FROM c`, "query.semantic", 29],
  ["the inner one lacks a parameter", `${PEERS} SELECT :p FROM c`, "query.semantic", 29],
  ["the condition cannot be bound", `${peersBy("nope(1)")} DELETE FROM c`, "query.semantic", 27],
  ["the condition lacks a parameter", `${peersBy("a = :p")} DELETE FROM c`, "query.semantic", 31],
])("checkRemote refuses with the place: %s", async (_, statement, code, column) => {
  const { runner } = await openStatements();
  const error = errorOf(() => runner.checkRemote({ statement, args: { x: 1 } }));
  expect(error.code).toBe(code);
  expect(error.place?.column).toBe(column);
});

test("a statement without the clause gets an error that describes the clause", async () => {
  const { runner } = await openStatements();
  const error = errorOf(() => runner.checkRemote({ statement: "DELETE FROM c" }));
  expect(error.message).toContain("expected SYNC CONTEXT ( PEERS [WHERE …] )");
});

test("a second SYNC CONTEXT clause is refused", async () => {
  const { runner } = await openStatements();
  const error = errorOf(() => runner.checkRemote({ statement: `${PEERS} ${PEERS} DELETE FROM c` }));
  expect(error.message).toContain("found SYNC CONTEXT again");
});

test("arguments that are not an object are refused", async () => {
  const { runner } = await openStatements();
  const statement = "SYNC CONTEXT (PEERS) SELECT * FROM c";
  expect(errorOf(() => runner.checkRemote({ statement, args: 5 })).code).toBe("query.arguments");
});

function errorOf(work: () => void): PeerError {
  try {
    work();
  } catch (error) {
    if (error instanceof PeerError) return error;
    throw error;
  }
  throw new Error("expected a failure");
}

/** What is known of three devices, as `system:peers` has it. */
const ROWS: readonly SystemRow[] = [
  row("a", { deviceName: "Kasse 1", os: "linux", peerMetadata: { shop: { city: "Zürich" } } }),
  row("b", { deviceName: "Kasse 2", os: "ios", peerMetadata: { shop: { city: "Oslo" }, n: 3 } }),
  row("c", { deviceName: "Büro 🖥️", os: "linux", userId: "mia", peerMetadata: {} }),
];

function row(key: string, fields: ValueObject): SystemRow {
  return { id: key, fields: { peerKeyString: key, ...fields } };
}

async function chosen(condition: string, args: ValueObject = {}): Promise<string> {
  const { runner } = await openStatements();
  const statement = `${peersBy(condition)} SELECT * FROM c`;
  const { selected } = await runner.selectPeers({ statement, args }, ROWS);
  return selected.map(({ id }) => (typeof id === "string" ? id : "?")).join("");
}

describe("the selection of peers", () => {
  test.each<[string, string, ValueObject]>([
    ["os = 'linux'", "ac", {}],
    ["peerKeyString = :key", "b", { key: "b" }],
    ["_id IN ['a', 'c']", "ac", {}],
    ["peers.deviceName LIKE 'Kasse %'", "ab", {}],
    ["peerMetadata.shop.city = 'Zürich'", "a", {}],
    ["`deviceName` = :name", "c", { name: "Büro 🖥️" }],
    ["deviceName ILIKE 'büro%'", "c", {}],
    ["userId IS MISSING", "ab", {}],
    ["object_length(peerMetadata) = 0 OR peerMetadata.n + 1 = 4", "bc", {}],
    ["lower(os) IN :list", "b", { list: ["ios", "android"] }],
    ["/* who */ os -- which\n = /*+ {} */ 'ios'", "b", {}],
    ["nothing.of.the.kind = 1", "", {}],
    ["nothing", "", {}],
    ["upper(peerMetadata) = 'X'", "", {}],
    ["true", "abc", {}],
    ["NULL", "", {}],
  ])("%s selects %j", async (condition, expected, args) => {
    expect(await chosen(condition, args)).toBe(expected);
  });

  test("without a condition all peers are selected, in order, or none if there are none", async () => {
    const { runner } = await openStatements();
    const statement = "sYnC\nConText(PeerS)select * from c";
    expect((await runner.selectPeers({ statement }, ROWS)).selected).toEqual(ROWS);
    expect((await runner.selectPeers({ statement }, [])).selected).toEqual([]);
  });

  test("the selection runs in slices, and ends with the time limit of the request", async () => {
    let elapsed = 0;
    let pauses = 0;
    const pause = async (): Promise<void> => void pauses++;
    const { runner } = await openStatements({}, { pause, elapsed: () => (elapsed += 1) });
    const statement = `${peersBy("os = 'linux'")} SELECT * FROM c`;
    const many = Array.from({ length: 3000 }, (_, i) =>
      row(`${i}`, { os: i % 2 ? "ios" : "linux" }),
    );
    const { selected } = await runner.selectPeers({ statement }, many);
    expect(selected).toHaveLength(1500);
    expect(pauses).toBeGreaterThan(10);
    const late = runner.selectPeers({ statement, timeoutMs: 100 }, many);
    await expect(late).rejects.toMatchObject({ code: "query.timeout" });
  });

  test("the selection is in the request history", async () => {
    const { runner, rows } = await openStatements();
    const statement = `${peersBy("os = 'linux'")} DELETE FROM c`;
    await runner.selectPeers({ statement, requestId: "r1" }, ROWS);
    const trace =
      "SELECT text, requestType, resultCount FROM system:request_history WHERE _id = 'r1'";
    expect(await rows(trace)).toEqual([
      { text: statement, requestType: "remote_execute", resultCount: 2 },
    ]);
  });

  test("the selection refuses what checkRemote refuses, with the same message", async () => {
    const { runner } = await openStatements();
    for (const statement of [
      "DELETE FROM c",
      `${peersBy("nope(1)")} DELETE FROM c`,
      `${PEERS} x`,
    ]) {
      const { code, message } = errorOf(() => runner.checkRemote({ statement }));
      const refused = runner.selectPeers({ statement }, ROWS);
      await expect(refused).rejects.toMatchObject({ code, message });
    }
    const statement = `${peersBy("_id = (SELECT 1 FROM c)")} DELETE FROM c`;
    await expect(runner.selectPeers({ statement }, ROWS)).rejects.toMatchObject({
      code: "query.semantic",
    });
  });

  test("[P20] the selection needs remoteQuery, whatever the statement", async () => {
    const { runner } = await openStatements();
    const authority = authorityOf(true, true);
    const refused = runner.selectPeers({ statement: "nonsense", authority }, ROWS);
    await expect(refused).rejects.toMatchObject({ code: "permission.denied" });
  });
});

describe("the statement that the peers get", () => {
  async function sent(statement: string, args: ValueObject = {}) {
    const { runner } = await openStatements();
    const {
      statement: text,
      args: given,
      isWrite,
    } = await runner.selectPeers({ statement, args }, []);
    return { text, given, isWrite };
  }

  test.each<[string, string]>([
    [`${PEERS} SELECT * FROM c`, "SELECT * FROM c"],
    [`${PEERS}\n  SELECT 'ü)' AS x\n FROM c ; -- done \n`, "SELECT 'ü)' AS x\n FROM c ; -- done"],
    [`${peersBy("a = ') SELECT 🖥️'")} SELECT * FROM \`ç\``, "SELECT * FROM `ç`"],
    [`${PEERS} /* gone */ SELECT /* stays */ 1 FROM c`, "SELECT /* stays */ 1 FROM c"],
  ])("%j keeps its text as written", async (statement, expected) => {
    expect((await sent(statement)).text).toBe(expected);
  });

  test("directives before the statement are sent with it, those inside stay in place", async () => {
    const text = `/*+ {"#a": 1} */ SYNC CONTEXT (PEERS --+ {"#b": "*/"}\n) /*+ {"#c": 3} */ SELECT /*+ {"#d": 4} */ 1 FROM c`;
    const { text: forPeers } = await sent(text);
    expect(parseStatement(forPeers).directives).toEqual(parseStatement(text).directives);
    expect(forPeers).toContain('SELECT /*+ {"#d": 4} */ 1 FROM c');
  });

  test("the peers get only the arguments that the statement names, anywhere in it", async () => {
    const given = { os: "linux", a: 1, b: 2, c: 3, d: 4, unused: 5 };
    const condition = peersBy("os = :os");
    const args = async (statement: string): Promise<ValueObject> =>
      (await sent(`${condition} ${statement}`, given)).given;
    expect(await args("SELECT * FROM c")).toEqual({});
    expect(await args("UPDATE c SET x = :a WHERE y = :b")).toEqual({ a: 1, b: 2 });
    expect(await args("EXPLAIN SELECT :a FROM c LIMIT :b")).toEqual({ a: 1, b: 2 });
    expect(await args("PROFILE DELETE FROM c WHERE x = :c")).toEqual({ c: 3 });
    expect(await args("INSERT INTO c DOCUMENTS (:d)")).toEqual({ d: 4 });
    expect(
      await args(
        "SELECT x FROM (SELECT :a AS x FROM c) q WHERE x IN (SELECT :b FROM d WHERE y = :c)",
      ),
    ).toEqual({ a: 1, b: 2, c: 3 });
    expect(await args("SELECT :os AS os FROM c")).toEqual({ os: "linux" });
  });

  test("a missing argument is not an error for the selection", async () => {
    expect(await sent(`${PEERS} UPDATE c SET x = :a`)).toEqual({
      text: "UPDATE c SET x = :a",
      given: {},
      isWrite: true,
    });
  });

  test("a parameter named __proto__ is an ordinary one", async () => {
    const args = JSON.parse('{"__proto__": 7}') as ValueObject;
    const { given } = await sent(`${PEERS} SELECT :__proto__ AS x FROM c`, args);
    expect(Object.getOwnPropertyDescriptor(given, "__proto__")?.value).toBe(7);
  });

  test.each<[string, boolean]>([
    ["SELECT * FROM c", false],
    ["SELECT * FROM c UNION SELECT * FROM d", false],
    ["EXPLAIN DELETE FROM c", false],
    ["ADVISE DELETE FROM c", false],
    ["SHOW ALL", false],
    ["EXECUTE FUNCTION upper('a')", false],
    ["INSERT INTO c DOCUMENTS ({'_id': 1})", true],
    ["UPDATE c SET x = 1", true],
    ["DELETE FROM c", true],
    ["EVICT FROM c", true],
    ["PROFILE DELETE FROM c", true],
    ["ADVISE AND PROVISION SELECT * FROM c", true],
    ["CREATE INDEX i ON c (x)", true],
    ["ALTER SYSTEM RESET ALL", true],
    ["DELETE FROM system:request_history", true],
  ])("%s writes: %s", async (statement, isWrite) => {
    expect((await sent(`${PEERS} ${statement}`)).isWrite).toBe(isWrite);
  });
});
