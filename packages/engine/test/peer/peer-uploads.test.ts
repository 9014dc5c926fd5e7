/**
 * The peer's machine, rule by rule: uploads.
 */

import type { Outcome } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import {
  OTHER_SITE,
  SessionScript,
  SITE,
  summary,
  upload,
  WALL,
  WELCOME,
} from "../support/peer-session-script.ts";

function outcome(number: number, site: string = SITE): Outcome {
  return { site, number, kind: "applied", txn: 100 + number, reason: "", documents: [] };
}

function reportedBy(script: SessionScript): unknown[] {
  return script.of("apply").map(({ batch }) => batch.notices);
}

function numbers(script: SessionScript): (number | string)[] {
  return script.sent.map((message) => (message.t === "upload" ? message.number : message.t));
}

function sequenced(from: number, to: number, site: string = SITE): ReturnType<typeof upload>[] {
  return Array.from({ length: to - from + 1 }, (_, i) => upload(from + i, site));
}

test("[S24] sequenced uploads go out in order, with number, digest and steps", () => {
  const script = new SessionScript().open();
  script.take({ kind: "sequenced", uploads: [upload(1), upload(2)], isAll: true });
  expect(script.sent).toEqual([
    { t: "upload", number: 1, digest: new Uint8Array(32).fill(1), steps: [] },
    { t: "upload", number: 2, digest: new Uint8Array(32).fill(2), steps: [] },
  ]);
});

test("[S25] on the next connection all uploads without an outcome are sent again", () => {
  const script = new SessionScript().open();
  script.take({ kind: "sequenced", uploads: sequenced(1, 3), isAll: true });
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(1)] });
  script.wait(5000);
  script.take({ kind: "disconnected", message: "reset" });
  script.take({ kind: "opened", token: "t", site: SITE });
  // The server has them all: the peer lacks the answers.
  script.hear({ ...WELCOME, known: 3 });
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.of("reoffer")).toEqual([{ kind: "reoffer", connection: 2, site: SITE, known: 3 }]);
  script.take({ kind: "reoffered" });
  expect(script.of("sequence")).toEqual([
    { kind: "sequence", connection: 2, offsetMs: -5000, max: 64, sent: new Map() },
  ]);
  script.take({ kind: "sequenced", uploads: sequenced(2, 3), isAll: true });
  expect(numbers(script)).toEqual([2, 3]);
});

test("[S27] a refused upload is part of the batch like any other, and does not delay the next", () => {
  const script = new SessionScript().open({ bounds: { ...WELCOME.bounds, uploads: 1 } });
  script.take({ kind: "sequenced", uploads: sequenced(1, 2), isAll: true });
  expect(numbers(script)).toEqual([1]);
  const refused = { ...outcome(1), kind: "refused", reason: "no" } as const;
  script.hear({ t: "committed", txn: 101, outcomes: [refused] });
  expect(script.of("apply").map(({ batch }) => batch.outcomes)).toEqual([[refused]]);
  expect(numbers(script)).toEqual([2]);
});

test("[S28] outcomes are applied in one batch with the changes of their transaction", () => {
  const filter = new Uint8Array(16);
  const script = new SessionScript().open().followLive("tasks", 1, filter);
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  script.hear({ t: "documents", filter, entries: [["drop", 1]] });
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(1)] });
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    {
      parts: [{ subscription: "tasks", entries: [["drop", 1]] }],
      outcomes: [outcome(1)],
      committed: 101,
    },
  ]);
});

test("[S74] changes for a subscription that just ended are passed to the store: outcomes rely on them", () => {
  const filter = new Uint8Array(16);
  const script = new SessionScript().open().followLive("tasks", 1, filter);
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  script.hear({ t: "documents", filter, entries: [["drop", 1]] });
  script.take({ kind: "unsubscribe", key: "tasks" });
  expect(reportedBy(script)).toEqual([[["tasks", ["drop", 1]]]]);
  script.hear({ t: "documents", filter, entries: [["drop", 2]] });
  expect(reportedBy(script)).toEqual([[["tasks", ["drop", 2]]]]);
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(1)] });
  expect(script.of("apply").map(({ batch }) => batch)).toEqual([
    { parts: [], outcomes: [outcome(1)], committed: 101 },
  ]);
  // Nothing is counted on any more.
  script.hear({ t: "documents", filter, entries: [["drop", 3]], committed: 102 });
  expect(script.of("apply")).toEqual([]);
});

test("[S74] the same holds for one that ended before the peer received `subscribed`", () => {
  const filter = new Uint8Array(16);
  const script = new SessionScript().open();
  script.take({ kind: "subscribe", key: "tasks", query: "q", args: {} });
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  script.take({ kind: "unsubscribe", key: "tasks" });
  const begun = { t: "subscribed", id: 1, filter, collection: "tasks", mode: "fill" } as const;
  script.hear(begun);
  expect(script.actions).toEqual([]);
  // A piece of a fill says what there is; nobody asks any more what there is not.
  script.hear({ t: "documents", filter, entries: [["drop", 1]], range: { through: 1 }, asOf: 100 });
  expect(reportedBy(script)).toEqual([[["tasks", ["drop", 1]]]]);
  script.hear({ t: "complete", filter, txn: 100 });
  script.hear({ t: "documents", filter, entries: [["drop", 2]] });
  expect(reportedBy(script)).toEqual([[["tasks", ["drop", 2]]]]);
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(1)] });
  script.hear(begun);
  script.hear({ t: "documents", filter, entries: [["drop", 3]], committed: 102 });
  expect(script.of("apply")).toEqual([]);
});

test("[S74] [S20] the same holds for an ended one that started over with other rights", () => {
  const [filter, other] = [new Uint8Array(16), new Uint8Array(16).fill(2)];
  const script = new SessionScript().open().followLive("tasks", 1, filter);
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  script.take({ kind: "unsubscribe", key: "tasks" });
  script.hear({ t: "documents", filter: other, entries: [["drop", 1]] });
  expect(reportedBy(script)).toEqual([]);
  script.hear({ t: "subscribed", id: 1, filter: other, collection: "tasks", mode: "fill" });
  script.hear({ t: "documents", filter: other, entries: [["drop", 2]], range: {}, asOf: 100 });
  expect(reportedBy(script)).toEqual([[["tasks", ["drop", 2]]]]);
});

test("[S74] [S21] changes for an ended subscription are dropped if no upload is in flight", () => {
  const filter = new Uint8Array(16);
  const script = new SessionScript().open().followLive("tasks", 1, filter);
  script.take({ kind: "unsubscribe", key: "tasks" });
  script.hear({ t: "documents", filter, entries: [["drop", 1]], committed: 101 });
  expect(script.of("apply")).toEqual([]);
});

test("[S75] a fork stops the uploads after it; then they continue under the new site", () => {
  const script = new SessionScript().open();
  script.take({ kind: "sequenced", uploads: sequenced(1, 4), isAll: true });
  script.hear({ t: "forked", site: SITE, number: 3 });
  expect(script.actions).toEqual([{ kind: "fork", connection: 1, site: SITE, number: 3 }]);
  // Those behind it say nothing new.
  expect(script.hear({ t: "forked", site: SITE, number: 4 })).toEqual([]);
  expect(script.take({ kind: "pending" })).toEqual([]);
  script.take({ kind: "forked" });
  expect(script.of("sequence").map(({ sent }) => [...sent])).toEqual([[[SITE, 4]]]);
  // The first two are still without an outcome: the other site waits for them.
  expect(
    script.take({ kind: "sequenced", uploads: sequenced(1, 2, OTHER_SITE), isAll: true }),
  ).toEqual([]);
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(1)] });
  expect(script.sent).toEqual([]);
  script.hear({ t: "committed", txn: 102, outcomes: [outcome(2)] });
  expect(script.sent).toEqual([{ t: "site", site: OTHER_SITE }]);
  script.hear({ t: "site", site: OTHER_SITE, known: 0 });
  script.take({ kind: "reoffered" });
  script.take({ kind: "sequenced", uploads: sequenced(1, 2, OTHER_SITE), isAll: true });
  expect(numbers(script)).toEqual([1, 2]);
});

test("[S75] uploads that the store sequenced while a fork was detected are not sent under the old site", () => {
  const script = new SessionScript().open();
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  script.take({ kind: "pending" });
  script.hear({ t: "forked", site: SITE, number: 1 });
  expect(script.take({ kind: "sequenced", uploads: [upload(2)], isAll: true })).toEqual([]);
  expect(summary(script.take({ kind: "forked" }))).toBe("sequence");
});

test("[S30] the store receives the server's number of the site before anything is sent", () => {
  const script = new SessionScript().greet();
  script.hear({ ...WELCOME, known: 40 });
  script.take({ kind: "welcomed", cursors: new Map() });
  expect(script.of("reoffer")).toEqual([{ kind: "reoffer", connection: 1, site: SITE, known: 40 }]);
  expect(script.take({ kind: "pending" })).toEqual([]);
  expect(summary(script.take({ kind: "reoffered" }))).toBe("sequence");
  script.take({ kind: "sequenced", uploads: sequenced(41, 43), isAll: true });
  expect(numbers(script)).toEqual([41, 42, 43]);
});

test("[S31] uploads of a former site are sent first, under its name, then the own site is named", () => {
  const script = new SessionScript().open();
  const uploads = [upload(7, OTHER_SITE), upload(1), upload(2)];
  script.take({ kind: "sequenced", uploads, isAll: true });
  expect(script.sent).toEqual([{ t: "site", site: OTHER_SITE }]);
  script.hear({ t: "site", site: OTHER_SITE, known: 6 });
  expect(script.of("reoffer")).toEqual([
    { kind: "reoffer", connection: 1, site: OTHER_SITE, known: 6 },
  ]);
  script.take({ kind: "reoffered" });
  script.take({ kind: "sequenced", uploads, isAll: true });
  expect(numbers(script)).toEqual([7]);
  script.hear({ t: "committed", txn: 101, outcomes: [outcome(7, OTHER_SITE)] });
  expect(script.sent).toEqual([{ t: "site", site: SITE }]);
  script.hear({ t: "site", site: SITE, known: 0 });
  script.take({ kind: "reoffered" });
  script.take({ kind: "sequenced", uploads: [upload(1), upload(2)], isAll: true });
  expect(numbers(script)).toEqual([1, 2]);
});

test("[S32] at most 64 uploads are without an outcome, fewer where the server takes fewer", () => {
  const script = new SessionScript().open();
  expect(script.of("sequence").map(({ max }) => max)).toEqual([64]);
  script.take({ kind: "sequenced", uploads: sequenced(1, 64), isAll: false });
  expect(script.sent).toHaveLength(64);
  // Half of a window is sequenced at once, not one for each outcome.
  for (let number = 1; number < 32; number++) {
    script.hear({ t: "committed", txn: 100 + number, outcomes: [outcome(number)] });
    expect(summary(script.actions)).toBe("apply");
  }
  script.hear({ t: "committed", txn: 132, outcomes: [outcome(32)] });
  expect(script.of("sequence").map(({ max, sent }) => [max, ...sent])).toEqual([[32, [SITE, 64]]]);
  const narrow = new SessionScript().open({ bounds: { ...WELCOME.bounds, uploads: 3 } });
  expect(narrow.of("sequence").map(({ max }) => max)).toEqual([3]);
});

test("[S32] if the server has unexpected upload numbers, the peer reconnects and continues from them", () => {
  const script = new SessionScript().open();
  script.take({ kind: "sequenced", uploads: sequenced(5, 6), isAll: true });
  script.wait(5000);
  script.hear({ t: "site", site: SITE, known: 2 });
  expect(script.reports).toEqual([
    {
      kind: "disconnected",
      code: "gap",
      message: "the server has other uploads than expected",
      retryInMs: 250,
    },
  ]);
  expect(script.phase).toBe("waiting");
});

test("[S33] writes made while connected are sequenced with the clock offset, then sent", () => {
  const script = new SessionScript().idle({ now: WALL + 7000 });
  script.take({ kind: "pending" });
  expect(script.actions).toEqual([
    { kind: "sequence", connection: 1, offsetMs: 7000, max: 64, sent: new Map() },
  ]);
  // Written while the store was at it: it is asked again.
  expect(script.take({ kind: "pending" })).toEqual([]);
  script.take({ kind: "sequenced", uploads: [upload(1)], isAll: true });
  expect(summary(script.actions)).toBe("send upload, sequence");
  script.take({ kind: "sequenced", uploads: [], isAll: true });
  expect(script.actions).toEqual([]);
});

test("[S33] nothing is sequenced without a connection", () => {
  const script = new SessionScript();
  expect(script.take({ kind: "pending" })).toEqual([]);
  script.greet();
  expect(script.take({ kind: "pending" })).toEqual([]);
  script.hear(WELCOME);
  expect(script.take({ kind: "pending" })).toEqual([]);
});
