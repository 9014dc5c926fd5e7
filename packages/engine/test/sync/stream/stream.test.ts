/**
 * Stream: its phases, by all transitions in any order, and the choices of `advance`.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { Filters } from "../../../src/sync/stream/filter.ts";
import { Progress } from "../../../src/sync/stream/progress.ts";
import type { Piece } from "../../../src/sync/stream/scan.ts";
import { Stream } from "../../../src/sync/stream/stream.ts";
import { StreamingSession } from "../../../src/sync/stream/streaming-session.ts";
import { openStore } from "../../support/open-store.ts";
import { readingPort, streamHost } from "../../support/stream-host.ts";
import { testPlatform } from "../../support/test-platform.ts";

const LACKED_MAX = 10;

const { store } = await openStore();
const filters = new Filters(testPlatform(1));

/** Streams of one session on a host of their own. */
function openSession() {
  const host = streamHost(store);
  const session = new StreamingSession(readingPort(), host);
  const follow = (query: string, progress: Progress): Stream => {
    const group = host.groups.of(filters.prepare(query, {}, undefined));
    const stream = new Stream(session, group, progress);
    host.groups.join(stream);
    session.add(stream);
    return stream;
  };
  return { groups: host.groups, session, follow };
}

function pieceOf(through: string | undefined, txn: number): Piece {
  return { frame: undefined, txn, through, sentThrough: through, asOf: txn, named: null };
}

/** Every transition, whether it is one that its callers make in the phase or not. */
const TRANSITIONS: Record<string, (stream: Stream, txn: number) => void> = {
  advance: (stream, txn) => stream.advance(txn, LACKED_MAX),
  catchUp: (stream) => stream.catchUp(),
  restart: (stream) => stream.restart(),
  becomeLive: (stream, txn) => stream.becomeLive(txn, 0),
  fallBehind: (stream, txn) => stream.fallBehind(txn),
  end: (stream) => stream.end(),
  want: (stream) => stream.want(["a", 1]),
  answered: (stream) => stream.answered(1),
  pieceSent: (stream, txn) => stream.pieceSent(pieceOf(undefined, txn)),
  changesSent: (stream, txn) => stream.changesSent(txn, undefined),
};

test("after any transitions, live streams are counted, and a stream that is over stays over", () => {
  const step = fc.record({
    which: fc.nat(2),
    name: fc.constantFrom(...Object.keys(TRANSITIONS)),
    txn: fc.nat(30),
  });
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const { groups, follow } = openSession();
    const streams = [
      follow("SELECT * FROM cars", Progress.ofScan("fill")),
      follow("SELECT * FROM cars", Progress.since(3)),
      follow("SELECT * FROM boats", Progress.ofScan("compare")),
    ];
    const placesOf = (some: Iterable<Stream>): number[] =>
      Array.from(some, (stream) => streams.indexOf(stream));
    const over = new Set<Stream>();
    for (const { which, name, txn } of steps) {
      const stream = streams.at(which);
      if (stream === undefined) throw new Error(`expected stream ${which}`);
      TRANSITIONS[name]?.(stream, txn);
      if (stream.isOver) over.add(stream);
      const live = streams.filter(({ isLive }) => isLive);
      const found = streams.map((each) => ({
        live: placesOf(each.group.live()),
        count: each.group.liveCount,
        hasLive: groups.hasLive(each.group.collection),
        progress: each.isLive ? each.sentTxn("a") : undefined,
        isOver: each.isOver,
      }));
      const expected = streams.map((each) => {
        const ofGroup = live.filter(({ group }) => group === each.group);
        return {
          live: placesOf(ofGroup),
          count: ofGroup.length,
          hasLive: ofGroup.length > 0,
          progress: undefined,
          isOver: over.has(each),
        };
      });
      expect([found, groups.liveCount]).toEqual([expected, live.length]);
    }
  });
  fc.assert(property, { numRuns: runs(1000) });
});

test("[S14] [S15] a fill is read to its end, with a catch-up as soon as it lacks too much, and joins", () => {
  const stream = openSession().follow("SELECT * FROM cars", Progress.ofScan("fill"));
  expect(stream.phase).toBe("behind");
  stream.advance(100, LACKED_MAX);
  expect([stream.phase, stream.oldestSent]).toEqual(["scan", Infinity]);
  stream.pieceSent(pieceOf("m", 100));
  stream.advance(100 + LACKED_MAX, LACKED_MAX);
  expect([stream.phase, stream.sentTxn("a"), stream.sentTxn("z")]).toEqual([
    "scan",
    100,
    undefined,
  ]);
  stream.advance(101 + LACKED_MAX, LACKED_MAX);
  expect(stream.phase).toBe("catch");
  stream.changesSent(111, undefined);
  stream.advance(111, LACKED_MAX);
  expect([stream.phase, stream.oldestSent, stream.lacksChanges]).toEqual(["scan", 111, false]);
  stream.pieceSent(pieceOf(undefined, 112));
  stream.advance(112, LACKED_MAX);
  expect([stream.phase, stream.scan, stream.lacksChanges]).toEqual(["join", undefined, true]);
});

test("[S13] [S70] a comparison waits until the peer has answered and has what it requested", () => {
  const { session, follow } = openSession();
  const stream = follow("SELECT * FROM cars", Progress.ofScan("compare"));
  const phaseNow = (): string => {
    stream.advance(5, LACKED_MAX);
    return stream.phase;
  };
  expect(phaseNow()).toBe("scan");
  stream.pieceSent(pieceOf(undefined, 5));
  expect(phaseNow()).toBe("answer");
  session.want(stream.key, ["a", "b"], true);
  expect(phaseNow()).toBe("answer");
  stream.answered(1);
  expect([stream.firstWanted(9), stream.sentUpTo("a")]).toEqual([["b"], 5]);
  expect(phaseNow()).toBe("answer");
  stream.answered(1);
  expect([phaseNow(), stream.wantedBytes]).toEqual(["join", 0]);
});

test("[S22] a stream that falls behind has everything up to the round before", () => {
  const stream = openSession().follow("SELECT * FROM cars", Progress.ofCursor(4));
  expect([stream.sentTxn("a"), stream.isUncertainOf("a")]).toEqual([4, true]);
  stream.becomeLive(7, 0);
  expect([stream.sentTxn("a"), stream.isUncertainOf("a"), stream.settledTxn]).toEqual([
    undefined,
    false,
    7,
  ]);
  stream.fallBehind(8);
  expect([stream.sentTxn("a"), stream.isUncertainOf("a"), stream.lacksChanges]).toEqual([
    8,
    false,
    true,
  ]);
});

test("[S72] of a fill that continues, only the ids that were sent before are uncertain", () => {
  const stream = openSession().follow("SELECT * FROM cars", Progress.ofInterruptedFill("m", 4));
  stream.advance(5, LACKED_MAX);
  expect([stream.phase, stream.scan?.through]).toEqual(["scan", "m"]);
  expect(["a", "m", "n"].map((key) => stream.isUncertainOf(key))).toEqual([true, true, false]);
  stream.restart();
  expect([stream.scan?.kind, stream.scan?.through, stream.isUncertainOf("a")]).toEqual([
    "compare",
    "",
    false,
  ]);
});
