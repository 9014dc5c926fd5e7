/**
 * What the log tells of requests, of slow statements and of those that ran on peers, and what it does not.
 */

import { StatementRunner } from "@bigpeer/engine/query";
import { MemoryKeyValue, Store } from "@bigpeer/engine/store";
import { nodePlatform } from "@bigpeer/node";
import { expect, test } from "vitest";
import type { LogFields, LogLevel } from "../../src/observability/log.ts";
import {
  remoteRunLine,
  requestLine,
  slowStatementLine,
} from "../../src/observability/log-events.ts";

interface Event {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

function keptLog() {
  const events: Event[] = [];
  const log = (level: LogLevel, message: string, fields?: LogFields): void => {
    events.push({ level, message, fields });
  };
  return { log, events };
}

test("a request that failed in the server is an error, every other is logged at debug level", () => {
  const { log, events } = keptLog();
  const remoteAddress = "192.0.2.1";
  const request = { requestId: "r1", operation: "execute", method: "POST", remoteAddress };
  for (const status of [200, 404, 499, 500, 503]) {
    requestLine(log, { ...request, status, elapsedMs: 1.23456 });
  }
  expect(events.map(({ level }) => level)).toEqual(["debug", "debug", "debug", "error", "debug"]);
  expect(events[0]).toEqual({
    level: "debug",
    message: "a request was answered",
    fields: { ...request, status: 200, elapsedMs: 1.235 },
  });
});

test("a slow statement is logged with its text, truncated, and without its arguments", async () => {
  const { log, events } = keptLog();
  const store = await Store.open(new MemoryKeyValue(), nodePlatform);
  const statements = new StatementRunner({
    store,
    platform: nodePlatform,
    appId: "a1",
    // Every statement is slow.
    settings: { dql_slow_request_warn_seconds: 1e-9 },
    onSlow: (row) => slowStatementLine(log, row),
  });
  const statement = `SELECT * FROM cars WHERE owner = :owner ${"-- long ".repeat(200)}`;
  await statements.execute({ statement, args: { owner: "private" }, requestId: "r1" });
  expect(events).toEqual([
    {
      level: "warn",
      message: "a statement was slow",
      fields: {
        requestId: "r1",
        appId: "a1",
        statement: `${statement.slice(0, 999)}…`,
        outcome: "completed",
        elapsedMs: expect.any(Number),
      },
    },
  ]);
  expect(JSON.stringify(events)).not.toContain("private");
});

test("a statement that its time limit stopped is logged as such, with its duration", () => {
  const { log, events } = keptLog();
  const text = "SELECT * FROM cars";
  const fields = { app_id: "a1", text, state: "timed_out", times: { elapsed: 30_000.5 } };
  slowStatementLine(log, { id: "r1", fields, types: {} });
  expect(events).toEqual([
    {
      level: "warn",
      message: "a statement was stopped at its time limit",
      fields: {
        requestId: "r1",
        appId: "a1",
        statement: text,
        outcome: "timed_out",
        elapsedMs: 30_000.5,
      },
    },
  ]);
});

test("a statement that ran on peers is logged with the number of answers, and the failures of the others", () => {
  const { log, events } = keptLog();
  const results = ["answered", "lost", "answered", "timeout"];
  const run = { requestId: "r1", appId: "a", credentialId: "k", elapsedMs: 1.23456 };
  remoteRunLine(log, { ...run, results });
  expect(events).toEqual([
    {
      level: "info",
      message: "a statement ran on peers",
      fields: { ...run, elapsedMs: 1.235, peers: 4, answered: 2, lost: 1, timeout: 1 },
    },
  ]);
});
