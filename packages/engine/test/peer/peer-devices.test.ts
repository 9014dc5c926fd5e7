/**
 * The peer's machine and what others have to do with a device: what it says of itself, whom it is
 * told of, statements that it runs, how far it says it is.
 */

import type { DocumentEntry, PresenceMessage } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { presenceOf } from "../../src/peer/peer-presence.ts";
import {
  FILTER,
  OTHER_FILTER,
  otherPeer,
  RIGHTS,
  RUN,
  SessionScript,
  SITE,
  summary,
  WALL,
  WELCOME,
} from "../support/peer-session-script.ts";

const APPLIED = { kind: "applied", wants: [] } as const;
const END = { elapsedMs: 3, warnings: [], totalWarnings: 0 } as const;

function sessionsOf({ state }: SessionScript): number[] {
  return presenceOf(state).peers.map(({ session }) => session);
}

function presence(change: Partial<PresenceMessage>): PresenceMessage {
  return { t: "presence", total: 0, peers: [], gone: [], ...change };
}

test("[S40] metadata is sent when connected, and is in every later hello", () => {
  const script = new SessionScript().idle();
  script.take({ kind: "metadata", metadata: { room: 1 } });
  expect(script.sent).toEqual([{ t: "metadata", metadata: { room: 1 } }]);
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "metadata", metadata: { room: 2 } });
  expect(script.sent).toEqual([]);
  script.take({ kind: "opened", token: "t", site: SITE });
  expect(script.sent.map((message) => message.t === "hello" && message.peer.metadata)).toEqual([
    { room: 2 },
  ]);
  script.hear(WELCOME);
  expect(script.sent).toEqual([]);
});

test("[S40] metadata that changes between hello and welcome is sent right after the welcome", () => {
  const script = new SessionScript().greet();
  expect(script.take({ kind: "metadata", metadata: { room: 1 } })).toEqual([]);
  script.hear(WELCOME);
  expect(script.sent).toEqual([{ t: "metadata", metadata: { room: 1 } }]);
});

test("[S41] the peer sends `watch` on each connection while it has watchers, and not otherwise", () => {
  const script = new SessionScript();
  expect(script.take({ kind: "watch", isOn: true })).toEqual([]);
  script.greet();
  script.hear(WELCOME);
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.sent).toEqual([{ t: "watch", isOn: true }]);
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.sent).toEqual([{ t: "watch", isOn: true }]);
  script.take({ kind: "watch", isOn: false });
  expect(script.sent).toEqual([{ t: "watch", isOn: false }]);
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.sent).toEqual([]);
});

test("[S41] the peer collects pieces; changed entries keep their place, and entries that left are removed", () => {
  const script = new SessionScript();
  script.take({ kind: "watch", isOn: true });
  script.idle();
  script.hear(presence({ isWhole: true, total: 4, peers: [otherPeer(1), otherPeer(2)] }));
  script.hear(presence({ total: 4, peers: [otherPeer(3)] }));
  expect(sessionsOf(script)).toEqual([1, 2, 3]);
  const changed = { ...otherPeer(1), metadata: { room: 1 } };
  script.hear(presence({ total: 5, peers: [changed, otherPeer(5)], gone: [2, 99] }));
  expect(presenceOf(script.state)).toEqual({
    isConnected: true,
    total: 5,
    peers: [changed, otherPeer(3), otherPeer(5)],
  });
});

test("[S41] a whole list replaces the old one; pieces before the first whole list are ignored", () => {
  const script = new SessionScript();
  script.take({ kind: "watch", isOn: true });
  script.idle();
  script.hear(presence({ total: 9, peers: [otherPeer(1)] }));
  expect(presenceOf(script.state)).toEqual({ isConnected: true, total: 0, peers: [] });
  script.hear(presence({ isWhole: true, total: 2, peers: [otherPeer(1), otherPeer(2)] }));
  script.hear(presence({ isWhole: true, total: 1, peers: [otherPeer(2)] }));
  expect(sessionsOf(script)).toEqual([2]);
  // Stopped and begun in one breath: what is on its way belongs to the former list.
  script.take({ kind: "watch", isOn: false });
  script.take({ kind: "watch", isOn: true });
  script.hear(presence({ total: 2, peers: [otherPeer(3)] }));
  expect(sessionsOf(script)).toEqual([]);
});

test("[S41] for any pieces, the list is the last whole one plus the changes since", () => {
  const sessions = fc.uniqueArray(fc.integer({ min: 1, max: 8 }));
  const piece = fc.record({ isWhole: fc.boolean(), came: sessions, gone: sessions });
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const script = new SessionScript();
      script.take({ kind: "watch", isOn: true });
      script.idle();
      let known: Set<number> | undefined;
      for (const { isWhole, came, gone } of pieces) {
        if (isWhole) known = new Set();
        for (const session of came) known?.add(session);
        for (const session of gone) known?.delete(session);
        const mark = isWhole ? { isWhole } : {};
        script.hear(presence({ ...mark, peers: came.map(otherPeer), gone }));
      }
      expect(sessionsOf(script)).toEqual([...(known ?? [])]);
    }),
  );
});

test("[S43] the pong names the transaction that the store has applied, not the last one received", () => {
  const script = new SessionScript().idle().follow("tasks", 1, FILTER);
  const pong = (txn: number): (number | undefined)[] => {
    script.hear({ t: "ping", now: 7, txn });
    return script.of("pong").map((action) => action.txn);
  };
  script.hear({ t: "complete", filter: FILTER, txn: 100 });
  expect(pong(0)).toEqual([undefined]);
  const completed = [{ subscription: "tasks", filter: FILTER, txn: 100 }];
  script.take({ ...APPLIED, batch: { completed } });
  expect(pong(0)).toEqual([100]);
  const entry: DocumentEntry = ["drop", 1];
  script.hear({ t: "documents", filter: FILTER, entries: [entry], committed: 105 });
  script.hear({ t: "documents", filter: FILTER, entries: [entry], committed: 107 });
  expect(pong(107)).toEqual([100]);
  script.take({ ...APPLIED, batch: { committed: 105 } });
  expect(pong(107)).toEqual([105]);
  script.take({ ...APPLIED, batch: { committed: 107 } });
  expect(pong(107)).toEqual([107]);
  // Nothing that matched: all that there was has been taken in.
  expect(pong(120)).toEqual([120]);
  expect(pong(130)).toEqual([120]);
});

test("[S43] completing a subscription does not move the position of those that were live before", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  const completedAt = (filter: Uint8Array, txn: number) => [{ subscription: "", filter, txn }];
  script.take({ ...APPLIED, batch: { completed: completedAt(FILTER, 100) } });
  script.followLive("notes", 2, OTHER_FILTER, 150);
  script.take({ ...APPLIED, batch: { completed: completedAt(OTHER_FILTER, 150) } });
  script.hear({ t: "ping", now: 7 });
  expect(script.of("pong").map(({ txn }) => txn)).toEqual([100]);
});

test("[S43] on a new connection the position of the store starts over", () => {
  const script = new SessionScript().idle().followLive("tasks", 1, FILTER);
  script.take({ ...APPLIED, batch: { committed: 105 } });
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear({ t: "ping", now: 7 });
  expect(script.of("pong")).toEqual([{ kind: "pong", ping: 7, now: WALL + 5000 }]);
  script.hear(WELCOME);
  script.hear({ t: "ping", now: 7 });
  expect(script.of("pong")).toEqual([{ kind: "pong", ping: 7, now: WALL + 5000 }]);
});

test("[S44] a statement also runs while the store applies the welcome", () => {
  const script = new SessionScript().greet();
  script.hear(WELCOME);
  script.hear(RUN);
  expect(script.actions).toEqual([{ kind: "run", connection: 1, run: RUN }]);
  script.take({ kind: "answered", id: 1, items: [{ n: 1 }], end: END });
  expect(script.sent).toEqual([{ t: "answer", id: 1, items: [{ n: 1 }], end: END }]);
});

test("[S44] 16 statements run at a time, the next gets query.busy, and a finished one frees its place", () => {
  const script = new SessionScript().idle();
  for (let id = 1; id <= 16; id++) expect(summary(script.hear({ ...RUN, id }))).toBe("run");
  script.hear({ ...RUN, id: 17 });
  const message = "expected at most 16 statements at a time";
  const end = { ...END, elapsedMs: 0, error: { code: "query.busy", message } };
  expect(script.sent).toEqual([{ t: "answer", id: 17, items: [], end }]);
  script.take({ kind: "answered", id: 3, items: [], end: END });
  expect(summary(script.hear({ ...RUN, id: 18 }))).toBe("run");
  script.hear({ t: "cancel", id: 4 });
  expect(summary(script.hear({ ...RUN, id: 19 }))).toBe("run");
});

test("[S44] the number of a running statement may not be used again", () => {
  const script = new SessionScript().idle();
  script.hear(RUN);
  script.hear(RUN);
  expect(script.sent).toEqual([
    { t: "bye", code: "malformed", message: "expected no run in this place" },
  ]);
  expect(script.of("cancel")).toEqual([{ kind: "cancel", connection: 1, id: 1 }]);
});

test("[S45] rows are sent in the pieces in which they come, and nothing is sent after the end", () => {
  const script = new SessionScript().idle();
  script.hear(RUN);
  script.take({ kind: "answered", id: 1, items: [1, 2] });
  expect(script.sent).toEqual([{ t: "answer", id: 1, items: [1, 2] }]);
  script.take({ kind: "answered", id: 1, items: [3], end: END });
  expect(script.sent).toEqual([{ t: "answer", id: 1, items: [3], end: END }]);
  expect(script.take({ kind: "answered", id: 1, items: [4] })).toEqual([]);
});

test("[S46] a cancelled run is stopped, and sends no more answers", () => {
  const script = new SessionScript().idle();
  script.hear(RUN);
  script.hear({ t: "cancel", id: 1 });
  expect(script.actions).toEqual([{ kind: "cancel", connection: 1, id: 1 }]);
  expect(script.take({ kind: "answered", id: 1, items: [], end: END })).toEqual([]);
  expect(script.hear({ t: "cancel", id: 1 })).toEqual([]);
});

test("[S46] the end of a connection stops its runs; the next connection may use the same numbers", () => {
  const script = new SessionScript().idle();
  script.hear(RUN);
  script.hear({ ...RUN, id: 2 });
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  expect(script.of("cancel").map(({ id }) => id)).toEqual([1, 2]);
  script.take({ kind: "opened", token: "t", site: SITE });
  script.hear(WELCOME);
  script.hear(RUN);
  expect(script.take({ kind: "answered", id: 1, items: [], end: END }, 1)).toEqual([]);
  script.take({ kind: "answered", id: 1, items: [], end: END }, 2);
  expect(script.sent).toEqual([{ t: "answer", id: 1, items: [], end: END }]);
});

test("[S66] a failed renewal is tried again while the token is valid", () => {
  const script = new SessionScript().idle({ expires: WALL + 600_000 });
  script.wait(540_000);
  script.hear({ t: "pong", ping: 1, now: 1 });
  expect(summary(script.tick())).toBe("renew, wakeAt");
  script.take({ kind: "unrenewed" });
  expect(script.of("wakeAt")).toEqual([{ kind: "wakeAt", elapsed: 551_000 }]);
  script.wait(10_000);
  expect(summary(script.tick())).toBe("renew, wakeAt");
  // Half of what is left, when that is little; nothing in the last second.
  script.wait(46_000);
  script.hear({ t: "pong", ping: 1, now: 1 });
  script.tick();
  script.take({ kind: "unrenewed" });
  expect(script.of("wakeAt")).toEqual([{ kind: "wakeAt", elapsed: 599_000 }]);
  script.wait(3500);
  expect(summary(script.tick())).toBe("renew, wakeAt");
  expect(script.take({ kind: "unrenewed" })).toEqual([]);
});

test("[S66] a failed renewal is not tried again if there already is a new token", () => {
  const script = new SessionScript().idle({ expires: WALL + 600_000 });
  script.wait(540_000);
  script.tick();
  script.hear({ t: "rights", rights: RIGHTS, expires: WALL + 1_200_000 });
  expect(script.take({ kind: "unrenewed" })).toEqual([]);
  const unlimited = new SessionScript().idle();
  expect(unlimited.take({ kind: "unrenewed" })).toEqual([]);
});

test("[S8] a refused login is tried again at the slowest rate, and its code is reported", () => {
  const script = new SessionScript();
  script.take({ kind: "start" });
  const refusal = "permission.denied";
  script.take({ kind: "disconnected", message: "no token: refused", refusal });
  expect(script.reports).toEqual([
    {
      kind: "disconnected",
      code: "unauthorized",
      message: "no token: refused",
      retryInMs: 30_000,
      refusal,
    },
  ]);
});
