/**
 * The peer's machine, rule by rule: connection, back-off, subscriptions and streams.
 */

import { type DocumentEntry, type ServerMessage, SYNC_VERSION } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nextChance, waitOf } from "../../src/peer/back-off.ts";
import {
  FILTER,
  OTHER_FILTER,
  RIGHTS,
  SessionScript,
  SITE,
  summary,
  WALL,
  WELCOME,
} from "../support/peer-session-script.ts";

function drop(id: number): DocumentEntry {
  return ["drop", id];
}

function documents(
  filter: Uint8Array,
  ...ids: number[]
): Extract<ServerMessage, { t: "documents" }> {
  return { t: "documents", filter, entries: ids.map(drop) };
}

test("[S2] the peer sends the first message, with its description and clock", () => {
  const script = new SessionScript();
  expect(script.take({ kind: "start" })).toEqual([
    { kind: "dial", connection: 1 },
    { kind: "wakeAt", elapsed: 61_000 },
  ]);
  script.take({ kind: "opened", token: "secret", site: SITE });
  expect(script.sent).toEqual([
    {
      t: "hello",
      version: SYNC_VERSION,
      app: "app",
      token: "secret",
      site: SITE,
      peer: { key: "p1", deviceName: "d", os: "o", sdk: "s", metadata: {} },
      now: WALL,
    },
  ]);
});

test("[S4] the clock offset is the server's clock minus the midpoint between hello and welcome", () => {
  const script = new SessionScript().greet();
  script.wait(200);
  script.hear({ ...WELCOME, now: WALL + 5000 });
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.reports).toEqual([{ kind: "connected", history: "h1", offsetMs: 4900 }]);
});

test("[S4] a wall clock that jumps between hello and welcome does not count as travel time", () => {
  const script = new SessionScript().greet();
  script.elapsed += 200;
  script.wall -= 3_600_000;
  script.hear({ ...WELCOME, now: WALL });
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.reports).toEqual([{ kind: "connected", history: "h1", offsetMs: 3_600_100 }]);
});

test("[S5] after 30 s of silence a ping goes out, after 60 s the connection is dead", () => {
  const script = new SessionScript().idle();
  script.wait(29_999);
  expect(summary(script.tick())).toBe("wakeAt");
  script.wait(1);
  script.tick();
  expect(script.sent).toEqual([{ t: "ping", now: WALL + 30_000 }]);
  expect(script.of("wakeAt")).toEqual([{ kind: "wakeAt", elapsed: 61_000 }]);
  script.wait(29_999);
  expect(script.tick()).toEqual([{ kind: "wakeAt", elapsed: 61_000 }]);
  script.wait(1);
  script.tick();
  expect(script.reports).toEqual([
    { kind: "disconnected", code: "silent", message: "nothing was heard for 60 s", retryInMs: 0 },
  ]);
});

test("[S5] every message restarts the silence, and needs no new timer", () => {
  const script = new SessionScript().idle();
  script.wait(59_000);
  expect(script.hear({ t: "pong", ping: 1, now: 1 })).toEqual([]);
  script.wait(1000);
  expect(summary(script.tick())).toBe("wakeAt");
  expect(script.phase).toBe("open");
});

test("[S5] a peer that does not read does not blame the server, but still sends ping", () => {
  const script = new SessionScript().idle();
  for (let i = 0; i < 5; i++) {
    script.wait(60_000);
    script.tick(false);
    expect(script.sent.map(({ t }) => t)).toEqual(["ping"]);
  }
  expect(script.phase).toBe("open");
});

test("[S5] a ping is answered, and its transaction moves the cursors of live subscriptions", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.hear({ t: "ping", now: 7, txn: 120 });
  expect(script.of("pong")).toEqual([{ kind: "pong", ping: 7, now: WALL }]);
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    { parts: [], outcomes: [], committed: 120 },
  ]);
  // Nothing is written for what is known.
  expect(summary(script.hear({ t: "ping", now: 8, txn: 120 }))).toBe("send pong");
});

test("[S6] a bye ends the connection, and the peer keeps its retry time", () => {
  const script = new SessionScript().idle();
  script.hear({ t: "bye", code: "busy", message: "too many", after: 90_000 });
  expect(script.reports).toEqual([
    { kind: "disconnected", code: "busy", message: "too many", retryInMs: 90_000 },
  ]);
  script.wait(89_999);
  expect(summary(script.tick())).toBe("wakeAt");
  script.wait(1);
  expect(summary(script.tick())).toBe("dial, wakeAt");
});

test("[S6] messages received before a bye count: the store still applies them", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.hear({ ...documents(FILTER, 1), committed: 101 });
  const [apply] = script.of("apply");
  script.hear({ t: "bye", code: "closing", message: "" });
  expect(apply?.batch.committed).toBe(101);
  const wants = [{ subscription: "tasks", ids: [1] }];
  expect(script.take({ kind: "applied", batch: {}, wants })).toEqual([]);
});

test("[S66] a token is renewed once, before it expires", () => {
  const script = new SessionScript().idle({ expires: WALL + 600_000 });
  script.wait(540_000 - 1);
  script.hear({ t: "pong", ping: 1, now: 1 });
  expect(summary(script.tick())).toBe("wakeAt");
  script.wait(1);
  expect(summary(script.tick())).toBe("renew, wakeAt");
  script.take({ kind: "token", token: "new" });
  expect(script.sent).toEqual([{ t: "token", token: "new" }]);
  expect(summary(script.tick())).toBe("wakeAt");
  script.hear({ t: "rights", rights: RIGHTS, expires: WALL + 1_200_000 });
  script.wait(600_000 - 1);
  script.hear({ t: "pong", ping: 1, now: 1 });
  expect(summary(script.tick())).toBe("wakeAt");
  script.wait(1);
  expect(summary(script.tick())).toBe("renew, wakeAt");
});

test("[S66] a token that seems to have expired is renewed once a second, not continuously", () => {
  const script = new SessionScript().idle({ expires: WALL + 600_000 });
  // The clock of the server was set back: by the offset that is known its tokens have ended.
  script.hear({ t: "rights", rights: RIGHTS, expires: WALL - 1 });
  expect(summary(script.tick())).toBe("wakeAt");
  script.wait(1000);
  expect(summary(script.tick())).toBe("renew, wakeAt");
});

test("[S8] the first reconnect is immediate, then the waits double up to 60 s", () => {
  const script = new SessionScript().idle();
  script.wait(2000);
  script.take({ kind: "disconnected", message: "reset" });
  expect(script.phase).toBe("connecting");
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    script.take({ kind: "disconnected", message: "refused" });
    const [report] = script.reports;
    waits.push(report?.kind === "disconnected" ? (report.retryInMs ?? -1) : -1);
    script.wait(60_000);
    script.tick();
    expect(script.phase).toBe("connecting");
  }
  for (const [i, wait] of waits.entries()) {
    const span = Math.min(60_000, 500 * 2 ** i);
    expect(wait).toBeGreaterThanOrEqual(span / 2);
    expect(wait).toBeLessThanOrEqual(span);
  }
});

test("[S8] a welcome resets the waits; a connection that ends at once still waits a little", () => {
  const script = new SessionScript();
  script.take({ kind: "start" });
  for (let i = 0; i < 8; i++) {
    script.take({ kind: "disconnected", message: "refused" });
    script.wait(60_000);
    script.tick();
  }
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  script.take({ kind: "disconnected", message: "reset" });
  const [report] = script.reports;
  const wait = report?.kind === "disconnected" ? (report.retryInMs ?? -1) : -1;
  expect(wait).toBeGreaterThanOrEqual(250);
  expect(wait).toBeLessThanOrEqual(500);
});

test.each(["unauthorized", "version"] as const)(
  "[S8] after %s the peer reconnects at the slowest rate",
  (code) => {
    const script = new SessionScript().greet();
    script.hear({ t: "bye", code, message: "no" });
    const [report] = script.reports;
    const wait = report?.kind === "disconnected" ? (report.retryInMs ?? -1) : -1;
    expect(wait).toBeGreaterThanOrEqual(30_000);
    expect(wait).toBeLessThanOrEqual(60_000);
  },
);

test("[S8] a peer that the server repeatedly calls malformed reconnects less and less often", () => {
  const script = new SessionScript();
  script.take({ kind: "start" });
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    script.take({ kind: "opened", token: "t", site: SITE });
    script.hear(WELCOME);
    script.wait(5000);
    script.hear({ t: "bye", code: "malformed", message: "expected something else" });
    const [report] = script.reports;
    waits.push(report?.kind === "disconnected" ? (report.retryInMs ?? -1) : -1);
    script.wait(60_000);
    script.tick();
  }
  expect(waits[0]).toBeLessThanOrEqual(500);
  expect(waits[7]).toBeGreaterThanOrEqual(30_000);
});

test("[S8] waits are random, stay within their range, and the random state advances", () => {
  fc.assert(
    fc.property(fc.nat(30), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (failures, chance) => {
      const wait = waitOf(failures, chance);
      expect(wait).toBeGreaterThanOrEqual(failures === 0 ? 0 : 250);
      expect(wait).toBeLessThanOrEqual(60_000);
      expect(nextChance(chance)).not.toBe(chance);
    }),
  );
  expect(waitOf(5, 0)).not.toBe(waitOf(5, 2 ** 31));
});

test("[S2] the peer leaves a server with another version, and retries at the slowest rate", () => {
  const script = new SessionScript().greet();
  script.hear({ ...WELCOME, version: SYNC_VERSION + 1 });
  const message = "the peer speaks protocol 2, the server speaks 3: upgrade the peer";
  expect(script.sent).toEqual([{ t: "bye", code: "version", message }]);
  expect(script.reports[0]).toEqual({
    kind: "disconnected",
    code: "version",
    message,
    retryInMs: 30_000,
  });
});

test("[S39] the peer leaves a server of another app for good, and sends nothing to it", () => {
  const script = new SessionScript();
  script.take({ kind: "pending" });
  script.greet();
  script.hear({ ...WELCOME, app: "another" });
  expect(script.sent.map(({ t }) => t)).toEqual(["bye"]);
  expect(script.reports).toEqual([{ kind: "foreign", app: "another" }]);
  expect(script.phase).toBe("stopped");
  script.wait(1_000_000);
  expect(script.tick()).toEqual([]);
});

test("[S11] subscriptions are sent with their cursors after the store has applied the welcome", () => {
  const script = new SessionScript();
  script.take({ kind: "subscribe", key: "a", query: "SELECT * FROM a", args: { x: 1 } });
  script.take({ kind: "subscribe", key: "b", query: "SELECT * FROM b", args: {} });
  script.greet();
  expect(summary(script.hear(WELCOME))).toBe("welcome, wakeAt");
  expect(script.of("welcome")).toEqual([
    { kind: "welcome", connection: 1, history: "h1", app: "app", rights: RIGHTS, offsetMs: 0 },
  ]);
  const cursor = { history: "h1", filter: FILTER, txn: 50 };
  script.take({ kind: "welcomed", cursors: new Map([["a", cursor]]) });
  expect(script.sent).toEqual([
    { t: "subscribe", id: 1, query: "SELECT * FROM a", args: { x: 1 }, cursor },
    { t: "subscribe", id: 2, query: "SELECT * FROM b", args: {} },
  ]);
});

test("[S11] on the next connection the subscriptions are sent again, with their current cursors", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  const cursor = { history: "h1", filter: FILTER, txn: 100 };
  script.take({ kind: "welcomed", cursors: new Map([["tasks", cursor]]) });
  expect(script.sent).toEqual([
    { t: "subscribe", id: 1, query: "SELECT * FROM tasks", args: {}, cursor },
  ]);
  // Nothing is live until the server says so: what comes is applied at once.
  script.hear({ t: "subscribed", id: 1, filter: FILTER, collection: "tasks", mode: "resume" });
  expect(summary(script.hear(documents(FILTER, 1)))).toBe("apply");
});

test("[S13] [S70] the peer asks for documents that a comparison shows as missing, and marks the last `want`", () => {
  const script = new SessionScript().idle().follow("tasks", 1, FILTER);
  const first = { t: "versions", filter: FILTER, list: [[1, 5]], range: { through: 1 } } as const;
  script.hear(first);
  expect(script.of("compare")).toEqual([
    { kind: "compare", connection: 1, subscriptions: ["tasks"], versions: first, bytes: 10 },
  ]);
  const compared = { kind: "compared", filter: FILTER } as const;
  expect(script.take({ ...compared, ids: [], isLast: false })).toEqual([]);
  script.take({ ...compared, ids: [1], isLast: false });
  expect(script.sent).toEqual([{ t: "want", filter: FILTER, ids: [1] }]);
  script.take({ ...compared, ids: [], isLast: true });
  expect(script.sent).toEqual([{ t: "want", filter: FILTER, ids: [], isLast: true }]);
});

test("[S14] pieces of a fill are applied one by one, each with its range", () => {
  const script = new SessionScript().idle().follow("tasks", 1, FILTER);
  script.hear({ ...documents(FILTER, 1, 2), range: { through: 2 } }, 500);
  expect(script.of("apply")).toEqual([
    {
      kind: "apply",
      connection: 1,
      batch: {
        parts: [{ subscription: "tasks", entries: [drop(1), drop(2)], range: { through: 2 } }],
        outcomes: [],
      },
      bytes: 500,
    },
  ]);
  script.hear({ ...documents(FILTER), range: { after: 2 } });
  expect(script.of("apply").map(({ batch }) => batch.parts)).toEqual([
    [{ subscription: "tasks", entries: [], range: { after: 2 } }],
  ]);
});

test("[S15] changes before `complete` are applied at once; `complete` gives the cursor", () => {
  const script = new SessionScript().idle().follow("tasks", 1, FILTER);
  script.hear(documents(FILTER, 3));
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    { parts: [{ subscription: "tasks", entries: [drop(3)] }], outcomes: [] },
  ]);
  script.hear({ t: "complete", filter: FILTER, txn: 110 });
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    {
      parts: [],
      outcomes: [],
      completed: [{ subscription: "tasks", filter: FILTER, txn: 110 }],
    },
  ]);
});

test("[S15] a fill or compare is recorded before its first piece, a resume is not", () => {
  for (const mode of ["fill", "compare", "resume"] as const) {
    const script = new SessionScript().idle();
    script.take({ kind: "subscribe", key: "tasks", query: "SELECT * FROM tasks", args: {} });
    // What comes before it is of a stream that is over.
    expect(script.hear(documents(FILTER, 1))).toEqual([]);
    expect(script.hear({ t: "complete", filter: FILTER, txn: 99 })).toEqual([]);
    script.hear({ t: "subscribed", id: 1, filter: FILTER, collection: "tasks", mode });
    const begin = { kind: "begin", connection: 1, subscription: "tasks", mode };
    expect(script.actions).toEqual(mode === "resume" ? [] : [begin]);
  }
});

test("[S16] frames of live subscriptions wait for the end of their transaction, and apply as one batch", () => {
  const script = new SessionScript()
    .idle()
    .followLive("tasks", 1, FILTER)
    .followLive("notes", 2, OTHER_FILTER);
  expect(script.hear(documents(FILTER, 1))).toEqual([]);
  expect(script.hear(documents(OTHER_FILTER, 2))).toEqual([]);
  expect(script.hear(documents(FILTER, 3), 30)).toEqual([]);
  script.hear({ t: "committed", txn: 101, outcomes: [] });
  expect(script.of("apply")).toEqual([
    {
      kind: "apply",
      connection: 1,
      batch: {
        parts: [
          { subscription: "tasks", entries: [drop(1)] },
          { subscription: "notes", entries: [drop(2)] },
          { subscription: "tasks", entries: [drop(3)] },
        ],
        outcomes: [],
        committed: 101,
      },
      bytes: 50,
    },
  ]);
  script.hear({ t: "committed", txn: 102, outcomes: [] });
  expect(script.of("apply").map(({ batch }) => batch.parts)).toEqual([[]]);
});

test("[S16] the mark on the last frame of a transaction ends it as `committed` does", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  expect(script.hear(documents(FILTER, 1))).toEqual([]);
  script.hear({ ...documents(FILTER, 2), committed: 101 });
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    {
      parts: [
        { subscription: "tasks", entries: [drop(1)] },
        { subscription: "tasks", entries: [drop(2)] },
      ],
      outcomes: [],
      committed: 101,
    },
  ]);
});

test("[S16] pieces of a fill overtake a transaction that is being collected, and do not end it", () => {
  const script = new SessionScript()
    .idle()
    .followLive("tasks", 1, FILTER)
    .follow("notes", 2, OTHER_FILTER);
  expect(script.hear(documents(FILTER, 1))).toEqual([]);
  script.hear({ ...documents(OTHER_FILTER, 9), range: {} });
  expect(script.of("apply").map(({ batch }) => batch.parts.map((p) => p.subscription))).toEqual([
    ["notes"],
  ]);
  script.hear({ t: "committed", txn: 101, outcomes: [] });
  expect(script.of("apply").map(({ batch }) => batch.parts.map((p) => p.subscription))).toEqual([
    ["tasks"],
  ]);
});

test("[S16] collected frames are bounded: beyond the limit the peer reconnects and resumes in pieces", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.wait(5000);
  const frame = 16 * 1024 * 1024;
  for (let i = 0; i < 4; i++) expect(script.hear(documents(FILTER, i), frame)).toEqual([]);
  script.hear(documents(FILTER, 5), 1);
  expect(script.reports).toEqual([
    {
      kind: "disconnected",
      code: "too_large",
      message: "a transaction was too large",
      retryInMs: 250,
    },
  ]);
});

test("[S69] subscriptions with one filter share its frames, and complete together", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.take({ kind: "subscribe", key: "same", query: "select * from tasks", args: {} });
  // The server starts the stream over for both.
  const answer = { t: "subscribed", filter: FILTER, collection: "tasks", mode: "fill" } as const;
  script.hear({ ...answer, id: 1 });
  expect(script.actions).toEqual([
    { kind: "behind", connection: 1, subscriptions: ["tasks"] },
    { kind: "begin", connection: 1, subscription: "tasks", mode: "fill" },
  ]);
  script.hear({ ...answer, id: 2 });
  script.hear({ ...documents(FILTER, 1), range: {} });
  expect(script.of("apply").map(({ batch }) => batch.parts.map((p) => p.subscription))).toEqual([
    ["tasks", "same"],
  ]);
  script.hear({ t: "complete", filter: FILTER, txn: 100 });
  expect(
    script.of("apply").map(({ batch }) => batch.completed?.map((c) => c.subscription)),
  ).toEqual([["tasks", "same"]]);
  // One of them ends: the other goes on.
  script.take({ kind: "unsubscribe", key: "tasks" });
  script.hear({ ...documents(FILTER, 2), committed: 101 });
  expect(script.of("apply").map(({ batch }) => batch.parts.map((p) => p.subscription))).toEqual([
    ["same"],
  ]);
});

test("[S18] the peer asks for the whole state if a delta does not fit", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.take({
    kind: "applied",
    batch: {},
    wants: [
      { subscription: "tasks", ids: [1, "x"] },
      { subscription: "gone", ids: [2] },
    ],
  });
  expect(script.sent).toEqual([{ t: "want", filter: FILTER, ids: [1, "x"] }]);
});

test("[S20] a subscription with a new filter is not live, and its collected frames are dropped", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.hear(documents(FILTER, 1));
  script.hear({ t: "subscribed", id: 1, filter: OTHER_FILTER, collection: "t", mode: "compare" });
  expect(script.actions).toEqual([
    { kind: "behind", connection: 1, subscriptions: ["tasks"] },
    { kind: "begin", connection: 1, subscription: "tasks", mode: "compare" },
  ]);
  expect(script.hear({ t: "committed", txn: 101, outcomes: [] })).toEqual([]);
  expect(script.hear(documents(FILTER, 1))).toEqual([]);
  expect(summary(script.hear(documents(OTHER_FILTER, 1)))).toBe("apply");
});

test("[S20] when the rights change, the peer subscribes again to denied queries", () => {
  const script = new SessionScript().idle();
  script.take({ kind: "subscribe", key: "a", query: "SELECT * FROM a", args: {} });
  script.take({ kind: "subscribe", key: "b", query: "SELECT * FORM b", args: {} });
  const refusal = { t: "unsubscribed", message: "no" } as const;
  script.hear({ ...refusal, id: 1, code: "permission.denied" });
  expect(script.reports).toEqual([
    { kind: "unsubscribed", key: "a", code: "permission.denied", message: "no" },
  ]);
  script.hear({ ...refusal, id: 2, code: "query.syntax" });
  script.hear({ t: "rights", rights: OTHER_FILTER });
  expect(script.sent).toEqual([{ t: "subscribe", id: 3, query: "SELECT * FROM a", args: {} }]);
  expect(script.of("rights").map(({ rights }) => rights)).toEqual([OTHER_FILTER]);
});

test("[S21] [S70] an ended subscription keeps its cursor; later messages are ignored, but comparisons answered", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.hear(documents(FILTER, 1));
  script.take({ kind: "unsubscribe", key: "tasks" });
  expect(script.actions).toEqual([
    { kind: "send", message: { t: "unsubscribe", id: 1 } },
    { kind: "release", connection: 1, subscription: "tasks" },
  ]);
  expect(script.hear({ ...documents(FILTER, 2), committed: 101 })).toEqual([]);
  expect(script.hear({ ...documents(FILTER, 2), range: {} })).toEqual([]);
  expect(script.hear({ t: "complete", filter: FILTER, txn: 1 })).toEqual([]);
  const versions = { t: "versions", filter: FILTER, list: [["a", 1]] } as const;
  expect(script.hear({ ...versions, range: { through: "a" } })).toEqual([]);
  expect(script.take({ kind: "compared", filter: FILTER, ids: [1], isLast: false })).toEqual([]);
  const answer = { t: "want", filter: FILTER, ids: [], isLast: true } as const;
  script.hear({ ...versions, range: {} });
  expect(script.actions).toEqual([{ kind: "send", message: answer }]);
  script.take({ kind: "compared", filter: FILTER, ids: [1], isLast: true });
  expect(script.actions).toEqual([{ kind: "send", message: answer }]);
  // The same one later has another name.
  script.take({ kind: "subscribe", key: "tasks", query: "SELECT * FROM tasks", args: {} });
  expect(script.sent.map((message) => "id" in message && message.id)).toEqual([2]);
});

test("[S22] a filter that is behind is not live; only its collected frames are dropped", () => {
  const script = new SessionScript()
    .idle()
    .followLive("tasks", 1, FILTER)
    .followLive("notes", 2, OTHER_FILTER);
  script.hear(documents(FILTER, 1));
  script.hear(documents(OTHER_FILTER, 2));
  script.hear({ t: "behind", filters: [FILTER] });
  expect(script.actions).toEqual([{ kind: "behind", connection: 1, subscriptions: ["tasks"] }]);
  script.hear({ t: "committed", txn: 101, outcomes: [] });
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    {
      parts: [{ subscription: "notes", entries: [drop(2)] }],
      outcomes: [],
      committed: 101,
    },
  ]);
  // What comes of it then is a catch-up: piece by piece, with complete at its end.
  expect(summary(script.hear(documents(FILTER, 1)))).toBe("apply");
  expect(summary(script.hear({ t: "complete", filter: FILTER, txn: 103 }))).toBe("apply");
  expect(script.hear(documents(FILTER, 1))).toEqual([]);
});

test("[S35] if the local store fails, the peer reports it, waits longer each time, and reconnects", () => {
  const script = new SessionScript();
  script.take({ kind: "start" });
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    script.take({ kind: "opened", token: "t", site: SITE });
    script.hear(WELCOME);
    script.wait(5000);
    script.take({ kind: "failed", error: "store.full" });
    const [failed, lost] = script.reports;
    expect(failed).toEqual({ kind: "failed", error: "store.full" });
    waits.push(lost?.kind === "disconnected" ? (lost.retryInMs ?? -1) : -1);
    script.wait(60_000);
    script.tick();
  }
  expect(waits[0]).toBeLessThanOrEqual(500);
  expect(waits[5]).toBeGreaterThanOrEqual(8000);
  // One success, and it starts over.
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  script.take({ kind: "welcomed", cursors: new Map() });
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  expect(script.phase).toBe("connecting");
});

test("a server that violates the protocol gets `bye`, and the peer leaves it", () => {
  const script = new SessionScript().idle();
  script.take({ kind: "garbled", message: "expected more bytes, found the end" });
  expect(script.sent).toEqual([
    { t: "bye", code: "malformed", message: "expected more bytes, found the end" },
  ]);
  expect(script.phase).toBe("waiting");
});

test("a stop sends `bye`, and the peer does not reconnect until the next start", () => {
  const script = new SessionScript().idle();
  script.take({ kind: "stop" });
  expect(script.sent).toEqual([{ t: "bye", code: "stopped", message: "the peer stops" }]);
  expect(script.reports).toEqual([
    { kind: "disconnected", code: "stopped", message: "the peer was stopped" },
  ]);
  script.wait(1_000_000);
  expect(script.tick()).toEqual([]);
  expect(summary(script.take({ kind: "start" }))).toBe("dial, wakeAt");
});
