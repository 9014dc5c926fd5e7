/**
 * The check of statements for other peers.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
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
])("refused with its place: %s", async (_, statement, code, column) => {
  const { runner } = await openStatements();
  const error = errorOf(() => runner.checkRemote({ statement, args: { x: 1 } }));
  expect(error.code).toBe(code);
  expect(error.place?.column).toBe(column);
});

test("a text without the clause is told what is expected", async () => {
  const { runner } = await openStatements();
  const error = errorOf(() => runner.checkRemote({ statement: "DELETE FROM c" }));
  expect(error.message).toContain("expected SYNC CONTEXT ( PEERS [WHERE …] )");
});

test("arguments that are no object are refused", async () => {
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
