/**
 * Statements on connected peers: who is asked, what comes of it, and what is bounded.
 */

import type { RunEnd, RunMessage, Value } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import type { PeerAnswer, RemoteRun, RunningRemote } from "../../../src/sync/device/remote-runs.ts";
import { openSyncServer } from "../../support/open-sync-server.ts";
import type { SyncClient } from "../../support/sync-client.ts";

const RUN: RemoteRun = {
  statement: "SELECT * FROM cars WHERE n > :n",
  args: { n: 1 },
  ms: 5000,
  rows: 10,
  bytes: 100_000,
  allBytes: 1_000_000,
};
const END: RunEnd = { elapsedMs: 7, warnings: [], totalWarnings: 0 };

function askedOf(client: SyncClient): RunMessage {
  const found = client.heard.findLast((message) => message.t === "run");
  if (found === undefined) throw new Error("expected to be asked");
  return found;
}

function cancelsOf(client: SyncClient): number[] {
  return client.heard.flatMap((message) => (message.t === "cancel" ? [message.id] : []));
}

function answer(client: SyncClient, items: readonly Value[], end: RunEnd = END): void {
  client.say({ t: "answer", id: askedOf(client).id, items, end });
}

/** A piece that is not the last. */
function piece(client: SyncClient, items: readonly Value[]): void {
  client.say({ t: "answer", id: askedOf(client).id, items });
}

/** Without the reports, which have tests of their own. */
function bare(answers: readonly PeerAnswer[]): Omit<PeerAnswer, "report">[] {
  return answers.map(({ report, ...rest }) => {
    expect(report?.session ?? rest.session).toBe(rest.session);
    return rest;
  });
}

async function codesOf({ done }: RunningRemote): Promise<string[]> {
  return (await done).map(({ error }) => error?.code ?? "good");
}

describe("asking", () => {
  test("[S44] each session is asked once, and has one answer, in the order of the sessions", async () => {
    const { server, join } = await openSyncServer();
    const [a, b, c] = [join("a"), join("b"), join("c")];
    const running = server.run([3, 1, 3], RUN);
    const { statement, args, ms, rows, bytes } = RUN;
    expect(a.heard.slice(1)).toEqual([{ t: "run", id: 1, statement, args, ms, rows, bytes }]);
    expect(c.heard.slice(1)).toEqual(a.heard.slice(1));
    expect(b.heard.slice(1)).toEqual([]);
    const warnings = [{ description: "no index", id: "x" }];
    piece(a, [{ n: 1 }]);
    answer(a, [{ n: 2 }], { elapsedMs: 9, warnings, totalWarnings: 3 });
    answer(c, []);
    const answers = await running.done;
    const ofC = { session: 3, items: [], ...END };
    expect(bare(answers)).toEqual([
      ofC,
      { session: 1, items: [{ n: 1 }, { n: 2 }], elapsedMs: 9, warnings, totalWarnings: 3 },
      ofC,
    ]);
    expect(answers.map(({ report }) => report?.description.key)).toEqual(["c", "a", "c"]);
    expect(server.stats().remoteRuns).toEqual({ asked: 2, answered: 2, failed: 0 });
  });

  test("[S44] the number of a run is never used again", async () => {
    const { server, join } = await openSyncServer();
    const a = join("a");
    const ids = [];
    for (let i = 0; i < 3; i++) {
      const running = server.run([1], RUN);
      ids.push(askedOf(a).id);
      if (i === 0) running.cancel();
      else answer(a, []);
      await running.done;
    }
    expect(new Set(ids).size).toBe(3);
  });

  test("[S44] a run for no session returns no answers", async () => {
    const { server } = await openSyncServer();
    expect(await server.run([], RUN).done).toEqual([]);
  });

  test("[S44] concurrent statements are sent one after the other", async () => {
    const { server, join, platform } = await openSyncServer();
    const clients = Array.from({ length: 300 }, (_, i) => join(`p${i}`));
    const sessions = clients.map((_, i) => i + 1);
    const asked = (): number =>
      clients.reduce((sum, { heard }) => sum + heard.filter(({ t }) => t === "run").length, 0);
    const running = Array.from({ length: 4 }, () => server.run(sessions, RUN));
    let before = asked();
    const steps: number[] = [];
    while (before < 1200) {
      await platform.pause();
      steps.push(asked() - before);
      before = asked();
    }
    expect(Math.max(...steps)).toBe(50);
    for (const each of running) each.cancel();
    await Promise.all(running.map(({ done }) => done));
  });

  test("[S44] hundreds of sessions are asked in slices, with one frame", async () => {
    const { server, join, platform } = await openSyncServer();
    const clients = Array.from({ length: 300 }, (_, i) => join(`p${i}`));
    const running = server.run(
      clients.map((_, i) => i + 1),
      RUN,
    );
    const asked = (): number => clients.filter(({ heard }) => heard.length > 1).length;
    expect(asked()).toBeLessThan(300);
    for (let turn = 0; turn < 10; turn++) await platform.pause();
    expect(asked()).toBe(300);
    for (const client of clients) answer(client, ["row"]);
    const answers = await running.done;
    expect(answers.map(({ session, items }) => [session, items])).toEqual(
      clients.map((_, i) => [i + 1, ["row"]]),
    );
  });

  test("[S22] a peer with too much in its queue is not asked", async () => {
    const { server, join } = await openSyncServer();
    const a = join("a");
    a.queuedBytes = 4 * 1024 * 1024 + 1;
    const [first] = await server.run([1], RUN).done;
    expect([first?.error?.code, first?.report?.session]).toEqual(["query.busy", 1]);
    expect(a.rest()).toEqual([]);
  });

  test("[S1] a statement larger than a message is sent to no peer", async () => {
    const { server, join } = await openSyncServer();
    const a = join("a");
    const args = { blob: new Uint8Array(16 * 1024 * 1024) };
    expect(await codesOf(server.run([1, 2], { ...RUN, args }))).toEqual([
      "query.too_large",
      "query.too_large",
    ]);
    expect(a.rest()).toEqual([]);
  });
});

describe("failing", () => {
  test("[S45] an error that the peer reports is its answer, and earlier rows are dropped", async () => {
    const { server, join } = await openSyncServer();
    const a = join("a");
    const running = server.run([1], RUN);
    piece(a, [1, 2]);
    const error = { code: "remote.refused", message: "the app allows none" };
    answer(a, [], { ...END, error });
    expect(bare(await running.done)).toEqual([{ session: 1, items: [], ...END, error }]);
    expect(server.stats().remoteRuns).toEqual({ asked: 1, answered: 0, failed: 1 });
  });

  test("[S46] a peer that is gone, or leaves before its last piece, is not waited for", async () => {
    const { server, join } = await openSyncServer();
    const [a, b] = [join("a"), join("b")];
    a.connection.closed();
    const running = server.run([1, 2], RUN);
    piece(b, [1]);
    b.connection.closed();
    const answers = await running.done;
    const error = { code: "remote.lost", message: "the peer left before it answered" };
    const lost = { items: [], elapsedMs: 0, warnings: [], totalWarnings: 0, error };
    expect(bare(answers)).toEqual([
      { session: 1, ...lost },
      { session: 2, ...lost },
    ]);
    expect(answers.map(({ report }) => report?.session)).toEqual([undefined, 2]);
  });

  test("[S46] a stopping server waits for no peer", async () => {
    const { server, join } = await openSyncServer();
    const clients = Array.from({ length: 120 }, (_, i) => join(`p${i}`));
    const running = server.run(
      clients.map((_, i) => i + 1),
      RUN,
    );
    server.close();
    expect(new Set(await codesOf(running))).toEqual(new Set(["remote.lost"]));
  });

  test("[S46] at the time limit peers without an answer have failed, and their runs are cancelled", async () => {
    const { server, join, tick } = await openSyncServer();
    const [a, b] = [join("a"), join("b")];
    const running = server.run([1, 2], RUN);
    answer(a, ["good"]);
    piece(b, ["half"]);
    tick(6000);
    running.expire();
    const answers = await running.done;
    expect(answers.map(({ items, elapsedMs, error }) => [items, elapsedMs, error?.code])).toEqual([
      [["good"], 7, undefined],
      [[], 6000, "query.timeout"],
    ]);
    expect([cancelsOf(a), cancelsOf(b)]).toEqual([[], [1]]);
    // What was on its way is passed over.
    answer(b, ["late"]);
    running.expire();
    running.cancel();
    expect(b.isClosed).toBe(false);
    expect(cancelsOf(b)).toEqual([1]);
    expect(server.stats().remoteRuns).toEqual({ asked: 2, answered: 1, failed: 1 });
  });

  test("[S46] a caller that disconnects cancels its runs, also those not sent yet", async () => {
    const { server, join, platform } = await openSyncServer();
    const clients = Array.from({ length: 120 }, (_, i) => join(`p${i}`));
    const running = server.run(
      clients.map((_, i) => i + 1),
      RUN,
    );
    running.cancel();
    expect(new Set(await codesOf(running))).toEqual(new Set(["query.timeout"]));
    for (let turn = 0; turn < 10; turn++) await platform.pause();
    for (const client of clients) {
      const kinds = client.rest().map(({ t }) => t);
      expect(kinds.length === 0 ? "" : kinds.join(" ")).toMatch(/^(run cancel)?$/);
    }
  });

  test("[S46] a peer that sends more than was asked for is disconnected, and its answer is lost", async () => {
    const { server, join } = await openSyncServer();
    const [a, b] = [join("a"), join("b")];
    const running = server.run([1, 2], { ...RUN, rows: 2 });
    answer(a, [1, 2, 3]);
    expect(await a.next("bye")).toEqual({
      t: "bye",
      code: "malformed",
      message: "expected at most 2 rows of the run 1",
    });
    piece(b, ["x".repeat(150_000)]);
    expect(b.isClosed).toBe(false);
    piece(b, ["x".repeat(150_000)]);
    expect(b.isClosed).toBe(true);
    expect(await codesOf(running)).toEqual(["remote.lost", "remote.lost"]);
  });

  test("[S46] an answer beyond the total limit is not held, and the run of its peer is cancelled", async () => {
    const { server, join } = await openSyncServer();
    const [a, b, c] = [join("a"), join("b"), join("c")];
    const running = server.run([1, 2, 3], { ...RUN, allBytes: 100_000 });
    const half = "x".repeat(49_000);
    piece(a, [half]);
    piece(b, [half]);
    piece(a, [half]);
    expect(cancelsOf(a)).toEqual([1]);
    // What the first one had taken is free for others.
    answer(c, [half]);
    answer(b, []);
    const answers = await running.done;
    expect(answers.map(({ items, error }) => [items.length, error?.code])).toEqual([
      [0, "query.too_large"],
      [1, undefined],
      [1, undefined],
    ]);
    expect(a.isClosed).toBe(false);
  });

  test("[S46] errors count like rows, and free the memory of earlier rows", async () => {
    const { server, join } = await openSyncServer();
    const [a, b, c] = [join("a"), join("b"), join("c")];
    const running = server.run([1, 2, 3], { ...RUN, allBytes: 100_000 });
    const long = { code: "x", message: "m".repeat(60_000) };
    piece(a, ["x".repeat(60_000)]);
    answer(a, [], { ...END, error: long });
    answer(b, [], { ...END, error: long });
    answer(c, ["x".repeat(30_000)]);
    const answers = await running.done;
    expect(answers.map(({ items, error }) => [items.length, error?.code])).toEqual([
      [0, "x"],
      [0, "query.too_large"],
      [1, undefined],
    ]);
    expect(cancelsOf(b)).toEqual([]);
  });

  test("[S46] the peer with the largest answer is dropped to make room for others, even if it was first", async () => {
    const { server, join } = await openSyncServer();
    const [a, b, c, d] = [join("a"), join("b"), join("c"), join("d")];
    const running = server.run([1, 2, 3, 4], { ...RUN, allBytes: 100_000 });
    answer(a, ["x".repeat(60_000)]);
    piece(b, ["x".repeat(39_000)]);
    answer(c, ["x".repeat(20_000)]);
    answer(d, ["x".repeat(45_000)]);
    expect([cancelsOf(a), cancelsOf(b)]).toEqual([[], []]);
    answer(b, []);
    const answers = await running.done;
    expect(answers.map(({ items, error }) => [items.length, error?.code])).toEqual([
      [0, "query.too_large"],
      [1, undefined],
      [1, undefined],
      [0, "query.too_large"],
    ]);
    expect(server.stats().remoteRuns).toEqual({ asked: 4, answered: 2, failed: 2 });
  });
});
