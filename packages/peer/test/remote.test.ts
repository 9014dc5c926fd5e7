/**
 * Statements of others on a peer: what its app allows, within which bounds, and how they end.
 */
import type { RunPiece } from "@bigpeer/engine/peer";
import { encodeCbor, type RunMessage, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { LocalStore } from "../src/local-store.ts";
import { nodeHost } from "../src/node/node-host.ts";
import type { RemotePolicy, RemoteStatement } from "../src/options.ts";
import { Remote, type RemoteRun } from "../src/remote.ts";
import { openLocalStore } from "./support/open-local-store.ts";
import { until } from "./support/turns.ts";

interface Asked {
  readonly local: LocalStore;
  readonly remote: Remote;
  readonly reported: RemoteRun[];
  readonly errors: unknown[];
}

async function openRemote(policy: RemotePolicy = "read"): Promise<Asked> {
  const { local } = await openLocalStore();
  const reported: RemoteRun[] = [];
  const errors: unknown[] = [];
  const remote = new Remote({
    host: nodeHost,
    runner: local.runner,
    policy,
    onRun: (run) => reported.push(run),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => remote.close());
  return { local, remote, reported, errors };
}

const RUN: RunMessage = {
  t: "run",
  id: 1,
  statement: "SELECT * FROM tasks",
  args: {},
  ms: 10_000,
  rows: 10_000,
  bytes: 8 * 1024 * 1024,
};

interface Whole {
  readonly items: readonly Value[];
  readonly pieces: readonly RunPiece[];
  readonly end: NonNullable<RunPiece["end"]>;
}

/** All pieces of an answer, when the last one has come. */
function ask(remote: Remote, change: Partial<RunMessage>): Promise<Whole> {
  return new Promise((resolve) => {
    const pieces: RunPiece[] = [];
    remote.run({ ...RUN, ...change }, (piece) => {
      pieces.push(piece);
      const { end } = piece;
      if (end !== undefined) resolve({ items: pieces.flatMap(({ items }) => items), pieces, end });
    });
  });
}

async function fill({ local }: Asked, count: number, text = ""): Promise<void> {
  await local.transaction(async (transaction) => {
    for (let i = 0; i < count; i++) {
      const task = { _id: i, text };
      await transaction.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
    }
  });
}

test("[S45] a statement that reads runs with its arguments, and the app is notified", async () => {
  const asked = await openRemote();
  await fill(asked, 3);
  const statement = "SELECT _id FROM tasks WHERE _id >= :least ORDER BY _id";
  const { items, end } = await ask(asked.remote, { statement, args: { least: 1 } });
  expect(items).toEqual([{ _id: 1 }, { _id: 2 }]);
  expect(end).toEqual({ elapsedMs: expect.any(Number), warnings: [], totalWarnings: 0 });
  expect(asked.reported).toEqual([
    { statement, args: { least: 1 }, isWrite: false, itemCount: 2, elapsedMs: expect.any(Number) },
  ]);
});

test.each([
  "EXPLAIN SELECT * FROM tasks",
  "SHOW ALL",
  "SELECT * FROM system:system_info",
  "SELECT * FROM system:dual",
])("[S45] %s reads, and runs", async (statement) => {
  const { remote } = await openRemote();
  const { items, end } = await ask(remote, { statement });
  expect(end.error).toBeUndefined();
  expect(items.length).toBeGreaterThan(0);
});

const WRITES = [
  "INSERT INTO tasks DOCUMENTS ({'_id': 'new'})",
  "UPDATE tasks SET text = 'x'",
  "DELETE FROM tasks",
  "EVICT FROM tasks",
  "CREATE INDEX by_text ON tasks (text)",
  "ALTER SYSTEM SET DQL_STRICT_MODE = true",
  "DELETE FROM system:request_history",
  "PROFILE UPDATE tasks SET text = 'x'",
  "ADVISE AND PROVISION SELECT * FROM tasks WHERE text = 'x'",
  "PROFILE ALTER SYSTEM SET DQL_STRICT_MODE = true",
  "PROFILE DELETE FROM system:request_history",
  "DROP INDEX IF EXISTS by_text ON tasks",
];

test.each(WRITES)("[S45] %s writes, and is refused unless the app allows it", async (statement) => {
  const asked = await openRemote("read");
  await fill(asked, 1, "kept");
  const { items, end } = await ask(asked.remote, { statement });
  expect(items).toEqual([]);
  const message = "the app of this peer runs only statements that read";
  expect(end.error).toEqual({ code: "remote.refused", message });
  expect(asked.reported.map(({ isWrite, error }) => [isWrite, error])).toEqual([[true, end.error]]);
  expect((await asked.local.execute("SELECT * FROM tasks")).items).toEqual([
    { _id: 0, text: "kept" },
  ]);
});

test("[S45] an allowed write is an ordinary write of this peer", async () => {
  const asked = await openRemote("write");
  const { items, end } = await ask(asked.remote, {
    statement: "INSERT INTO tasks DOCUMENTS (:task)",
    args: { task: { _id: "new" } },
  });
  expect([items, end.error]).toEqual([[], undefined]);
  expect((await asked.local.execute("SELECT * FROM tasks")).items).toEqual([{ _id: "new" }]);
});

test("[S45] with off nothing runs, and the answer reveals nothing about the statement", async () => {
  const { remote } = await openRemote("off");
  const error = {
    code: "remote.refused",
    message: "the app of this peer runs no statements of others",
  };
  expect((await ask(remote, {})).end.error).toEqual(error);
  expect((await ask(remote, { statement: "SELEKT" })).end.error).toEqual(error);
});

test("[S45] a function of the app decides, at once or later", async () => {
  const seen: RemoteStatement[] = [];
  const asked = await openRemote(async (request) => {
    seen.push(request);
    return !request.isWrite;
  });
  expect((await ask(asked.remote, { args: { a: 1 } })).end.error).toBeUndefined();
  const write = await ask(asked.remote, { statement: "DELETE FROM tasks" });
  expect(write.end.error).toEqual({
    code: "remote.refused",
    message: "the app of this peer did not allow the statement",
  });
  expect(seen).toEqual([
    { statement: "SELECT * FROM tasks", args: { a: 1 }, isWrite: false },
    { statement: "DELETE FROM tasks", args: {}, isWrite: true },
  ]);
});

test("[S45] a function that fails allows nothing, and only the app sees the error", async () => {
  const asked = await openRemote(() => {
    throw new Error("a secret of the app");
  });
  const { end } = await ask(asked.remote, {});
  expect(end.error?.code).toBe("remote.refused");
  expect(end.error?.message).not.toContain("secret");
  expect(asked.errors).toEqual([new Error("a secret of the app")]);
});

test("[S45] any result except true refuses the statement", async () => {
  const asked = await openRemote((() => "yes") as unknown as RemotePolicy);
  expect((await ask(asked.remote, {})).end.error?.code).toBe("remote.refused");
});

test("[S44] a function that does not decide in time is query.timeout", async () => {
  const asked = await openRemote(() => new Promise<boolean>(() => undefined));
  expect((await ask(asked.remote, { ms: 20 })).end.error).toEqual({
    code: "query.timeout",
    message: "the app of this peer has not decided within 20 ms",
  });
});

test("an invalid statement is answered with its place", async () => {
  const { remote } = await openRemote();
  const { end } = await ask(remote, { statement: "SELECT * FORM tasks" });
  expect(end.error?.code).toBe("query.syntax");
  expect(end.error?.message).toContain("line 1, column 10");
  const missing = await ask(remote, { statement: "SELECT * FROM tasks WHERE _id = :id" });
  expect(missing.end.error?.code).toBe("query.semantic");
});

test("[S45] more rows than allowed are query.too_large, and none is sent", async () => {
  const asked = await openRemote();
  await fill(asked, 4);
  expect((await ask(asked.remote, { rows: 4 })).items).toHaveLength(4);
  const { items, end } = await ask(asked.remote, { rows: 3 });
  expect(items).toEqual([]);
  expect(end.error).toEqual({
    code: "query.too_large",
    message: "expected at most 3 rows, found 4; narrow it with WHERE or LIMIT",
  });
  expect(asked.reported.map(({ itemCount }) => itemCount)).toEqual([4, 0]);
});

test("[S45] rows are sent in pieces of about 32 KB, never more bytes than allowed", async () => {
  const asked = await openRemote();
  await fill(asked, 100, "x".repeat(20_000));
  const sizes = ({ pieces }: Whole): number[] =>
    pieces.map(({ items }) =>
      items.reduce<number>((sum, item) => sum + encodeCbor(item).length, 0),
    );
  const whole = await ask(asked.remote, {});
  expect(whole.items).toHaveLength(100);
  expect(whole.pieces.length).toBeGreaterThan(7);
  expect(Math.max(...sizes(whole))).toBeLessThanOrEqual(32 * 1024);
  const cut = await ask(asked.remote, { bytes: 1024 * 1024 });
  expect(cut.end.error?.code).toBe("query.too_large");
  expect(sizes(cut).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1024 * 1024);
});

test("warnings about documents are sent, the first ten of them and their number", async () => {
  const asked = await openRemote();
  await fill(asked, 12, "x");
  const { end } = await ask(asked.remote, { statement: "SELECT abs(text) AS n FROM tasks" });
  expect(end.totalWarnings).toBe(12);
  expect(end.warnings).toHaveLength(10);
  expect(end.warnings[0]).toEqual({ description: expect.any(String), id: 0 });
});

/** Takes minutes when nobody stops it. */
const LONG = "SELECT count(*) AS n FROM tasks a JOIN tasks b ON true JOIN tasks c ON true";

async function activeIn({ local }: Asked): Promise<unknown[]> {
  const own = "SELECT text FROM system:active_requests WHERE text LIKE 'SELECT count%'";
  return (await local.execute(own)).items;
}

test("[S46] a cancelled statement is stopped, and answers nothing", async () => {
  const asked = await openRemote();
  await fill(asked, 1000);
  const pieces: RunPiece[] = [];
  const run = asked.remote.run({ ...RUN, statement: LONG }, (piece) => pieces.push(piece));
  await until(async () => (await activeIn(asked)).length > 0);
  run.cancel();
  await until(() => asked.reported.length === 1);
  expect(await activeIn(asked)).toEqual([]);
  expect(pieces).toEqual([]);
  expect(asked.reported[0]?.error).toEqual({
    code: "query.timeout",
    message: "the caller does not wait for the statement any more",
  });
  const history = "SELECT state FROM system:request_history WHERE text LIKE 'SELECT count%'";
  expect((await asked.local.execute(history)).items).toEqual([{ state: "cancelled" }]);
});

test("[S46] a statement that is cancelled while the app decides never runs", async () => {
  let allow: (isAllowed: boolean) => void = () => undefined;
  const asked = await openRemote(() => new Promise((resolve) => (allow = resolve)));
  const pieces: RunPiece[] = [];
  const statement = "INSERT INTO tasks DOCUMENTS ({'_id': 1})";
  const run = asked.remote.run({ ...RUN, statement }, (piece) => pieces.push(piece));
  run.cancel();
  allow(true);
  await until(() => asked.reported.length === 1);
  expect(pieces).toEqual([]);
  expect((await asked.local.execute("SELECT * FROM tasks")).items).toEqual([]);
});

test("[S45] a statement that takes more time than allowed is query.timeout", async () => {
  const asked = await openRemote();
  await fill(asked, 1000);
  const { end } = await ask(asked.remote, { statement: LONG, ms: 30 });
  expect(end.error?.code).toBe("query.timeout");
  expect(end.error?.message).toContain("was stopped");
});

test("[S44] cancelled statements that have not stopped count: no more than 64 are started", async () => {
  const decided: ((isAllowed: boolean) => void)[] = [];
  const asked = await openRemote(() => new Promise((resolve) => decided.push(resolve)));
  for (let i = 0; i < 64; i++) asked.remote.run(RUN, () => undefined).cancel();
  const busy = await ask(asked.remote, {});
  expect(busy.end.error).toEqual({
    code: "query.busy",
    message: "expected at most 64 statements that are running or about to stop",
  });
  expect(decided).toHaveLength(64);
  for (const decide of decided) decide(false);
  await until(() => asked.reported.length === 65);
  const asking = ask(asked.remote, {});
  await until(() => decided.length === 65);
  decided[64]?.(true);
  expect((await asking).end.error).toBeUndefined();
});

test("[S44] a time limit beyond the range of timers is not treated as zero", async () => {
  // A timer takes no more than 2^31 ms: beyond it it ends at once, before this one.
  const asked = await openRemote(() => new Promise((allow) => setTimeout(allow, 5, true)));
  const { end } = await ask(asked.remote, { ms: Number.MAX_SAFE_INTEGER });
  expect(end.error).toBeUndefined();
});

test("[S45] a write that returns too many rows reports that it was applied", async () => {
  const asked = await openRemote("write");
  await fill(asked, 3);
  const statement = "UPDATE tasks SET text = 'new' RETURNING *";
  const { items, end } = await ask(asked.remote, { statement, rows: 2 });
  expect(items).toEqual([]);
  expect(end.error).toEqual({
    code: "query.too_large",
    message:
      "expected at most 2 rows, found 3; narrow it with WHERE or LIMIT; what the statement has written stays",
  });
  const left = await asked.local.execute("SELECT * FROM tasks WHERE text = 'new'");
  expect(left.items).toHaveLength(3);
});
