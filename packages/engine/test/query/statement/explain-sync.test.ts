/**
 * EXPLAIN SYNC as a statement: what it asks its host, who may ask, and where nobody answers.
 */

import type { Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import type { Authority } from "../../../src/query/permission/authority.ts";
import type { StatementResult } from "../../../src/query/request.ts";
import { StatementRunner } from "../../../src/query/statement-runner.ts";
import { authorityOf } from "../../support/caller.ts";
import { openStore } from "../../support/open-store.ts";
import { failureOf, openStatements } from "../../support/run-statements.ts";
import { faultOf, parsed } from "../syntax/parsed.ts";

/** A store whose host says what it was asked. */
async function openAsked() {
  const { store, platform } = await openStore();
  const facts = {
    // In turns, as a host with many peers does.
    *explainSync(asked: object) {
      yield;
      return [{ ...asked }];
    },
  };
  const runner = new StatementRunner({ store, platform, appId: "test", systemData: facts });
  const execute = (
    statement: string,
    args?: unknown,
    authority?: Authority,
  ): Promise<StatementResult> => runner.execute({ statement, args, authority });
  return { runner, execute };
}

describe("syntax", () => {
  test("EXPLAIN SYNC names a collection, an id and a peer", () => {
    expect(parsed("explain sync `täsks`, {'a': 1} for :peer")).toEqual({
      kind: "explain_sync",
      collection: { name: "täsks" },
      id: {
        kind: "object",
        entries: [{ key: { kind: "literal", value: "a" }, value: { kind: "literal", value: 1 } }],
      },
      peerKey: { kind: "parameter", name: "peer" },
    });
  });

  test("any collection name is allowed", () => {
    for (const name of ["sync", "context", "peers", "selection", "`for`", "COLLECTION"]) {
      expect(parsed(`EXPLAIN SYNC ${name}, 1 FOR 'k'`)).toMatchObject({
        kind: "explain_sync",
        collection: { name: name.replaceAll("`", "") },
      });
    }
  });

  test("EXPLAIN of a plan still works, also for a collection named sync", () => {
    expect(parsed("EXPLAIN SELECT * FROM sync")).toMatchObject({ kind: "explain" });
    expect(parsed("EXPLAIN DELETE FROM sync")).toMatchObject({ kind: "explain" });
    expect(parsed("EXPLAIN SYNC CONTEXT (PEERS) SELECT * FROM c")).toMatchObject({
      kind: "explain",
      statement: { kind: "sync_context" },
    });
  });

  test.each([
    ["EXPLAIN SYNC", "expected the name of a collection, found the end"],
    ["EXPLAIN SYNC c", 'expected ",", found the end'],
    ["EXPLAIN SYNC c, 'a'", "FOR, found the end"],
    ["EXPLAIN SYNC c, 'a' FOR 'k' x", 'found "x"'],
    ["PROFILE SYNC c, 'a' FOR 'k'", 'expected CONTEXT, found "c"'],
  ])("%s gets an error that names the missing part", (text, message) => {
    expect(faultOf(text).message).toContain(message);
  });
});

describe("the question", () => {
  test.each<[string, unknown, Value]>([
    ["EXPLAIN SYNC tasks, 't1' FOR 'p'", {}, { collection: "tasks", id: "t1", peerKey: "p" }],
    [
      "EXPLAIN SYNC default:sync, :id FOR :key",
      { id: { b: 1, a: [2] }, key: "ü" },
      {
        collection: "sync",
        id: { a: [2], b: 1 },
        peerKey: "ü",
      },
    ],
    ["EXPLAIN SYNC c, 1 + 1 FOR upper('p')", {}, { collection: "c", id: 2, peerKey: "P" }],
    ["PROFILE EXPLAIN SYNC c, true FOR ''", {}, { collection: "c", id: true, peerKey: "" }],
  ])("%s", async (statement, args, expected) => {
    const { execute } = await openAsked();
    const { items, queryType } = await execute(statement, args);
    expect(items[0]).toEqual(expected);
    expect(queryType).toBe("select");
  });

  test.each<[string, string, number]>([
    ["EXPLAIN SYNC c, name FOR 'k'", "expected a constant, found the name 'name'", 17],
    ["EXPLAIN SYNC c, (SELECT 1 FROM c) FOR 'k'", "SELECT", 18],
    ["EXPLAIN SYNC c, null FOR 'k'", "expected what can be the id of a document", 17],
    ["EXPLAIN SYNC c, upper({}) FOR 'k'", "expected what can be the id of a document", 17],
    ["EXPLAIN SYNC c, 1 FOR 7", "expected the key of a peer, which is text", 23],
    ["EXPLAIN SYNC c, :id FOR 'k'", "parameter id was not provided", 17],
    ["EXPLAIN SYNC system:peers, 'p' FOR 'k'", "expected a collection that is synced", 14],
    ["EXPLAIN SYNC other:c, 'p' FOR 'k'", "unknown namespace 'other'", 14],
    ["EXPLAIN EXPLAIN SYNC c, 1 FOR 'k'", "there is no plan for explain_sync", 1],
  ])("%s is refused", async (statement, message, column) => {
    const { runner } = await openAsked();
    const error = await failureOf(runner, { statement });
    expect(error.message).toContain(message);
    expect(error.place?.column).toBe(column);
  });

  test("a store without peers refuses EXPLAIN SYNC", async () => {
    const { failure } = await openStatements();
    const error = await failure("EXPLAIN SYNC c, 1 FOR 'k'");
    expect(error.code).toBe("query.semantic");
    expect(error.message).toContain(
      "EXPLAIN SYNC is answered by the server that peers sync with, not by this store",
    );
  });
});

describe("permission", () => {
  const statement = "EXPLAIN SYNC c, 1 FOR 'k'";

  test("[P8] a caller that may read everything gets an answer, even if it may not write", async () => {
    const { execute } = await openAsked();
    const authority = authorityOf(true);
    expect((await execute(statement, {}, authority)).items).toHaveLength(1);
  });

  test("[P8] every other caller is refused, also for readable documents", async () => {
    const { runner } = await openAsked();
    const authority = authorityOf({ c: ["true"] });
    for (const text of [statement, `PROFILE ${statement}`]) {
      const error = await failureOf(runner, { statement: text, authority });
      const message = "the credential has no permission to see other peers";
      expect([error.code, error.message]).toEqual(["permission.denied", message]);
    }
  });
});
