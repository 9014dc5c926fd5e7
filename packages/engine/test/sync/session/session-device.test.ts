/**
 * The machine of a server session as far as devices go: what a peer says of itself, pings that tell
 * how far it is, and statements that are run on it.
 */

import type { PeerMessage, RunEnd, Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { serverStep } from "../../../src/sync/session/server-session.ts";
import type { SessionEvent } from "../../../src/sync/session/session-event.ts";
import type { OpenSession, SessionState } from "../../../src/sync/session/session-state.ts";
import {
  ADMITTED,
  ADMITTING,
  byeOf,
  EMPTY,
  HELLO,
  later,
  NOW,
  OPEN,
  RUN,
  run,
  say,
  sent,
  tickAt,
  wordsOf,
} from "../../support/session-steps.ts";

const END: RunEnd = { elapsedMs: 5, warnings: [], totalWarnings: 0 };
/** What frames may have when 100 bytes were asked for. */
const FRAMES_MAX = 2 * RUN.bytes + 64 * 1024;

function open(state: SessionState): OpenSession {
  if (state.phase !== "open") throw new Error(`expected an open session, found ${state.phase}`);
  return state;
}

function answer(items: readonly Value[], end?: RunEnd, size = 10): SessionEvent {
  const message: PeerMessage = { t: "answer", id: RUN.id, items };
  return say(end === undefined ? message : { ...message, end }, size);
}

test("[S40] metadata replaces that of hello, also when the host is asked about a new token", () => {
  const { state } = run(OPEN, say({ t: "metadata", metadata: { room: 7 } }));
  const peer = { ...HELLO.peer, metadata: { room: 7 } };
  expect(open(state).hello.peer).toEqual(peer);
  expect(run(state, say({ t: "token", token: "new" })).actions).toEqual([
    { kind: "admit", ticket: 1, token: "new", hello: { ...HELLO, token: "", peer } },
  ]);
});

test("[S41] watch is passed on as it was sent", () => {
  expect(run(OPEN, say({ t: "watch", isOn: false })).actions).toEqual([
    { kind: "watch", isOn: false },
  ]);
});

describe("pings", () => {
  test("[S43] the first tick after welcome sends a ping, later ones as in S5", () => {
    const welcomed = run(ADMITTING, ADMITTED).state;
    const first = serverStep(welcomed, tickAt({ txn: 41 }), later(700));
    expect(sent(first)).toEqual([{ t: "ping", now: NOW.wallMs + 700, txn: 41 }]);
    const second = serverStep(first.state, tickAt({ txn: 50 }), later(30_699));
    expect(wordsOf(second)).toBe("");
    expect(wordsOf(serverStep(first.state, tickAt({ txn: 50 }), later(30_700)))).toBe("ping");
  });

  test("[S43] a pong has the position of the peer, and gives the round trip time", () => {
    const pong: PeerMessage = { t: "pong", ping: NOW.wallMs, now: 5, txn: 40, pending: 3 };
    const { state } = serverStep(EMPTY, say(pong), later(25));
    expect(open(state).lastPong).toEqual({
      txn: 40,
      pending: 3,
      roundTripMs: 25,
      pingedMs: NOW.elapsedMs,
    });
  });

  test("[S43] the round trip is measured on the monotonic clock", () => {
    const pong: PeerMessage = { t: "pong", ping: NOW.wallMs, now: 5 };
    const now = { wallMs: NOW.wallMs - 3_600_000, elapsedMs: NOW.elapsedMs + 8 };
    const { state } = serverStep(EMPTY, say(pong), now);
    expect(open(state).lastPong?.roundTripMs).toBe(8);
  });

  test("[S43] a pong that answers no ping, or an answered one, is ignored", () => {
    const foreign: PeerMessage = { t: "pong", ping: 1, now: 5, txn: 99 };
    expect(open(serverStep(EMPTY, say(foreign), later(5)).state).lastPong).toBeUndefined();
    const pong: PeerMessage = { t: "pong", ping: NOW.wallMs, now: 5, txn: 40 };
    const once = serverStep(EMPTY, say(pong), later(5)).state;
    const twice = serverStep(once, say({ ...pong, txn: 99 }), later(9)).state;
    expect(open(twice).lastPong).toEqual(open(once).lastPong);
  });

  test("[S43] on a slow connection a pong may answer a ping before the last one", () => {
    const second = serverStep(EMPTY, tickAt({ txn: 60 }), later(30_000)).state;
    const pong: PeerMessage = { t: "pong", ping: NOW.wallMs, now: 5, txn: 40 };
    const late = serverStep(second, say(pong), later(35_000)).state;
    expect(open(late).lastPong?.roundTripMs).toBe(35_000);
    const next: PeerMessage = { t: "pong", ping: NOW.wallMs + 30_000, now: 5, txn: 60 };
    const reported = open(serverStep(late, say(next), later(36_000)).state).lastPong;
    expect([reported?.txn, reported?.roundTripMs]).toEqual([60, 6000]);
  });

  test("[S43] the number of unanswered pings is bounded", () => {
    let state = EMPTY;
    for (let i = 1; i <= 100; i++) {
      state = serverStep(state, say({ t: "ping", now: 1 }), later(i * 30_000)).state;
      state = serverStep(state, tickAt({ txn: 41 + i }), later(i * 30_000)).state;
    }
    expect(open(state).pings.length).toBe(4);
  });
});

describe("statements", () => {
  test("[S44] a run is sent as the frame that asks for it", () => {
    expect(run(EMPTY, RUN).actions).toEqual([{ kind: "forward", frame: RUN.frame }]);
  });

  test("[S45] pieces are passed on, and the last one ends the run", () => {
    const first = run(OPEN, answer(["a"]));
    expect(first.actions).toEqual([
      { kind: "answered", id: 4, items: ["a"], size: 10, end: undefined },
    ]);
    const last = run(first.state, answer(["b", "c"], END));
    expect(last.actions).toEqual([
      { kind: "answered", id: 4, items: ["b", "c"], size: 10, end: END },
    ]);
    expect(open(last.state).runs.size).toBe(0);
  });

  test("[S46] an answer to a run that is not waited for is ignored, whatever it contains", () => {
    const answered = run(OPEN, answer([], END)).state;
    const cancelled = run(OPEN, { kind: "cancel_run", id: 4 }).state;
    for (const state of [EMPTY, answered, cancelled]) {
      const step = run(state, answer([1, 2, 3, 4, 5], END, FRAMES_MAX * 2));
      expect([step.state.phase, wordsOf(step)]).toEqual(["open", ""]);
    }
  });

  test("[S46] an answered run is not cancelled", () => {
    const answered = run(OPEN, answer([], END)).state;
    expect(wordsOf(run(answered, { kind: "cancel_run", id: 4 }))).toBe("");
  });

  test("[S46] more rows than were asked for end the session, in one piece or in several", () => {
    const message = "expected at most 3 rows of the run 4";
    const inOne = run(OPEN, answer([1, 2, 3, 4], END));
    expect(byeOf(inOne)).toEqual({ t: "bye", code: "malformed", message });
    const several = run(OPEN, answer([1, 2, 3]), answer([4]));
    expect(byeOf(several)).toEqual({ t: "bye", code: "malformed", message });
  });

  test("[S46] frames with far more bytes than were asked for end the session", () => {
    expect(byeOf(run(OPEN, answer([1], END, FRAMES_MAX)))).toBeUndefined();
    const step = run(OPEN, answer([], undefined, FRAMES_MAX), answer([], END, 1));
    expect(byeOf(step)).toEqual({
      t: "bye",
      code: "malformed",
      message: `expected at most ${FRAMES_MAX} bytes of the run 4`,
    });
  });

  test("[S46] whatever a peer answers, no more than was asked for is passed on", () => {
    const piece = fc.record({
      items: fc.array(fc.integer(), { maxLength: 4 }),
      isEnd: fc.boolean(),
      size: fc.integer({ min: 0, max: FRAMES_MAX }),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        let state = OPEN;
        let rows = 0;
        let bytes = 0;
        let ends = 0;
        for (const { items, isEnd, size } of pieces) {
          const step = run(state, answer(items, isEnd ? END : undefined, size));
          for (const action of step.actions) {
            if (action.kind !== "answered") continue;
            expect(ends).toBe(0);
            rows += action.items.length;
            bytes += action.size;
            if (action.end !== undefined) ends++;
          }
          ({ state } = step);
        }
        expect(rows).toBeLessThanOrEqual(RUN.rows);
        expect(bytes).toBeLessThanOrEqual(FRAMES_MAX);
        expect(ends).toBeLessThanOrEqual(1);
      }),
    );
  });
});
