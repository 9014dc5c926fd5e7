/**
 * The machine of a server session: every phase with everything that can happen in it, and the rules
 * of the connection.
 */

import { type PeerMessage, SYNC_VERSION } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { serverStep } from "../../../src/sync/session/server-session.ts";
import type { SessionEvent } from "../../../src/sync/session/session-event.ts";
import {
  ADMITTED,
  ADMITTING,
  answered,
  byeOf,
  CLOSED,
  FILTER,
  GREETING,
  grantOf,
  HELLO,
  later,
  NOW,
  OPEN,
  OTHER_SITE,
  RUN,
  run,
  SITE,
  STREAM,
  SUBSCRIBE,
  say,
  sent,
  takenAs,
  tickAt,
  uploadOf,
  wordsOf,
} from "../../support/session-steps.ts";

describe("the table", () => {
  /** One of everything that can happen; the keys of both are checked by the compiler. */
  const events: { readonly [K in Exclude<SessionEvent["kind"], "message">]: SessionEvent } = {
    opened: { kind: "opened" },
    garbled: { kind: "garbled", reason: "expected a map" },
    admitted: ADMITTED,
    rejected: { kind: "rejected", ticket: 0 },
    unanswered: { kind: "unanswered", ticket: 0 },
    followed: { kind: "followed", id: 1, ...STREAM, filterKey: "f2" },
    not_followed: { kind: "not_followed", id: 1, code: "query.syntax", message: "no" },
    stream_failed: { kind: "stream_failed", filterKey: "f", code: "store.corrupt", message: "no" },
    identified: { kind: "identified", site: OTHER_SITE, known: 2 },
    uploaded: answered(6, takenAs("applied", 42)),
    upload_limited: { kind: "upload_limited", afterMs: 1000 },
    upload_failed: { kind: "upload_failed", site: SITE, number: 6, code: "store.full" },
    run: { ...RUN, id: 5 },
    cancel_run: { kind: "cancel_run", id: 4 },
    rights_changed: { kind: "rights_changed", grant: grantOf("narrow") },
    revoked: { kind: "revoked" },
    tick: tickAt(),
    closing: { kind: "closing", afterMs: 2000 },
    failed: { kind: "failed" },
    disconnected: { kind: "disconnected" },
  };
  const messages: { readonly [K in PeerMessage["t"]]: PeerMessage } = {
    hello: HELLO,
    subscribe: { ...SUBSCRIBE, id: 2 },
    unsubscribe: { t: "unsubscribe", id: 1 },
    want: { t: "want", filter: FILTER, ids: ["a"] },
    upload: uploadOf(7),
    site: { t: "site", site: OTHER_SITE },
    token: { t: "token", token: "new" },
    metadata: { t: "metadata", metadata: { n: 1 } },
    watch: { t: "watch", isOn: true },
    answer: { t: "answer", id: 4, items: [1] },
    ping: { t: "ping", now: 1 },
    pong: { t: "pong", ping: 1, now: 2 },
    bye: { t: "bye", code: "stopped", message: "" },
  };
  const phases = { greeting: GREETING, admitting: ADMITTING, open: OPEN, closed: CLOSED };

  const malformed = "closed: bye malformed, close, release";
  const expected: { readonly [K in keyof typeof phases]: { readonly [event: string]: string } } = {
    greeting: {
      opened: "greeting: ",
      garbled: malformed,
      admitted: "greeting: ",
      rejected: "greeting: ",
      unanswered: "greeting: ",
      followed: "greeting: ",
      not_followed: "greeting: ",
      stream_failed: "greeting: ",
      identified: "greeting: ",
      uploaded: "greeting: ",
      upload_limited: "greeting: ",
      upload_failed: "greeting: ",
      run: "greeting: ",
      cancel_run: "greeting: ",
      rights_changed: "greeting: ",
      revoked: "closed: bye unauthorized, close, release",
      tick: "greeting: ",
      closing: "closed: bye closing, close, release",
      failed: "closed: bye busy, close, release",
      disconnected: "closed: release",
      "message hello": "admitting: admit",
      "message subscribe": malformed,
      "message unsubscribe": malformed,
      "message want": malformed,
      "message upload": malformed,
      "message site": malformed,
      "message token": malformed,
      "message metadata": malformed,
      "message watch": malformed,
      "message answer": malformed,
      "message ping": malformed,
      "message pong": malformed,
      "message bye": "closed: close, release",
    },
    admitting: {
      opened: "admitting: ",
      garbled: malformed,
      admitted: "open: grant, welcome",
      rejected: "closed: note_failure, bye unauthorized, close, release",
      unanswered: "closed: bye busy, close, release",
      followed: "admitting: ",
      not_followed: "admitting: ",
      stream_failed: "admitting: ",
      identified: "admitting: ",
      uploaded: "admitting: ",
      upload_limited: "admitting: ",
      upload_failed: "admitting: ",
      run: "admitting: ",
      cancel_run: "admitting: ",
      rights_changed: "admitting: ",
      revoked: "closed: bye unauthorized, close, release",
      tick: "admitting: ",
      closing: "closed: bye closing, close, release",
      failed: "closed: bye busy, close, release",
      disconnected: "closed: release",
      "message hello": malformed,
      "message subscribe": malformed,
      "message unsubscribe": malformed,
      "message want": malformed,
      "message upload": malformed,
      "message site": malformed,
      "message token": malformed,
      "message metadata": malformed,
      "message watch": malformed,
      "message answer": malformed,
      "message ping": "admitting: pong",
      "message pong": malformed,
      "message bye": "closed: close, release",
    },
    open: {
      opened: "open: ",
      garbled: malformed,
      admitted: "open: grant, rights, recheck",
      rejected: "closed: note_failure, bye unauthorized, close, release",
      unanswered: "open: ",
      followed: "open: subscribed, unfollow",
      not_followed: "open: unsubscribed, unfollow",
      stream_failed: "open: unsubscribed",
      identified: "open: site",
      uploaded: "open: outcome",
      upload_limited: "closed: bye busy, close, release",
      upload_failed: "closed: bye busy, close, release",
      run: "open: forward",
      cancel_run: "open: cancel",
      rights_changed: "open: grant, rights, recheck",
      revoked: "closed: bye unauthorized, close, release",
      tick: "open: ",
      closing: "closed: bye closing, close, release",
      failed: "closed: bye busy, close, release",
      disconnected: "closed: release",
      "message hello": malformed,
      "message subscribe": "open: subscribe",
      "message unsubscribe": "open: unfollow",
      "message want": "open: want",
      "message upload": "open: upload",
      "message site": "open: identify",
      "message token": "open: admit",
      "message metadata": "open: describe",
      "message watch": "open: watch",
      "message answer": "open: answered",
      "message ping": "open: pong",
      "message pong": "open: ",
      "message bye": "closed: close, release",
    },
    closed: {},
  };
  const all = [
    ...Object.values(events),
    ...Object.values(messages).map((message): SessionEvent => say(message)),
  ];
  const nameOf = (event: SessionEvent): string =>
    event.kind === "message" ? `message ${event.message.t}` : event.kind;
  const names = all.map(nameOf);

  test("has an entry for each event of each phase, and no others", () => {
    for (const phase of ["greeting", "admitting", "open"] as const) {
      expect(Object.keys(expected[phase]).sort()).toEqual([...names].sort());
    }
  });

  const cells = Object.entries(phases).flatMap(([phase, state]) =>
    all.map((event) => ({ phase, state, event, name: nameOf(event) })),
  );
  test.each(cells)("$phase × $name", ({ phase, state, event, name }) => {
    const step = serverStep(state, event, NOW);
    const entry = expected[phase as keyof typeof phases][name] ?? "closed: ";
    expect(`${step.state.phase}: ${wordsOf(step)}`).toBe(entry);
  });

  test("has no step that changes the given state", () => {
    const before = structuredClone([GREETING, ADMITTING, OPEN, CLOSED]);
    for (const { state, event } of cells) serverStep(state, event, later(100_000));
    expect([GREETING, ADMITTING, OPEN, CLOSED]).toEqual(before);
  });
});

describe("connection", () => {
  test("[S1] a frame that is not a message ends the connection with the place of the error", () => {
    const step = run(OPEN, { kind: "garbled", reason: "expected a number at subscribe.id" });
    expect(byeOf(step)).toEqual({
      t: "bye",
      code: "malformed",
      message: "expected a number at subscribe.id",
    });
  });

  test("[S2] another version is answered with the supported one", () => {
    const step = run(GREETING, say({ ...HELLO, version: SYNC_VERSION - 1 }));
    expect(byeOf(step)).toEqual({
      t: "bye",
      code: "version",
      message: "the server speaks protocol 2, the peer speaks 1: upgrade the peer",
    });
  });

  test("[S2] a connection without hello is ended after 10 s", () => {
    expect(wordsOf(serverStep(GREETING, tickAt(), later(9999)))).toBe("");
    const step = serverStep(GREETING, tickAt(), later(10_000));
    expect(wordsOf(step)).toBe("bye malformed, close, release");
  });

  test("[S2] the host is asked with the token, which is not kept", () => {
    const step = run(GREETING, say(HELLO));
    expect(step.actions).toEqual([{ kind: "admit", ticket: 0, token: "secret", hello: HELLO }]);
    expect(JSON.stringify(step.state)).not.toContain("secret");
  });

  test("[S3] all invalid credentials get the same sentence", () => {
    const unknown = run(ADMITTING, { kind: "rejected", ticket: 0 });
    const expired = run(ADMITTING, { ...ADMITTED, grant: grantOf("key", NOW.wallMs) });
    const foreign = run(GREETING, say({ ...HELLO, app: "app2" }));
    const bye = byeOf(unknown);
    expect(bye?.code).toBe("unauthorized");
    for (const step of [unknown, expired, foreign]) {
      expect(wordsOf(step)).toBe("note_failure, bye unauthorized, close, release");
      expect(byeOf(step)).toEqual(bye);
    }
    expect(run(GREETING, say({ ...HELLO, app: "app1" })).state.phase).toBe("admitting");
  });

  test("[S3] a host that does not answer in time costs no more than a connection", () => {
    expect(wordsOf(serverStep(ADMITTING, tickAt(), later(29_999)))).toBe("");
    const step = serverStep(ADMITTING, tickAt(), later(30_000));
    expect(byeOf(step)?.code).toBe("busy");
  });

  test("[S4] welcome has everything that the peer continues from", () => {
    const grant = grantOf("key", NOW.wallMs + 1);
    expect(sent(run(ADMITTING, { ...ADMITTED, grant }))).toEqual([
      {
        t: "welcome",
        version: SYNC_VERSION,
        history: "h1",
        app: "app1",
        txn: 41,
        now: NOW.wallMs,
        known: 5,
        rights: grant.rights,
        bounds: { messageBytes: 1000, uploads: 3, subscriptions: 3 },
        expires: NOW.wallMs + 1,
      },
    ]);
  });

  test("[S4] permissions that changed while the host was asked apply", () => {
    const newer = grantOf("narrow");
    const step = run(ADMITTING, { kind: "rights_changed", grant: newer }, ADMITTED);
    expect(step.actions[0]).toEqual({ kind: "grant", grant: newer });
    expect(sent(step)[0]).toMatchObject({ t: "welcome", rights: newer.rights });
  });

  test("[S5] after 30 s of silence a ping has the position of the subscriptions", () => {
    expect(wordsOf(serverStep(OPEN, tickAt(), later(29_999)))).toBe("");
    const step = serverStep(OPEN, tickAt({ txn: 40 }), later(30_000));
    expect(sent(step)).toEqual([{ t: "ping", now: NOW.wallMs + 30_000, txn: 40 }]);
    expect(wordsOf(serverStep(step.state, tickAt(), later(31_000)))).toBe("");
  });

  test("[S5] a peer that is not silent also gets a ping when the position moved", () => {
    const heard = serverStep(OPEN, say({ t: "ping", now: 1 }), later(29_000)).state;
    expect(wordsOf(serverStep(heard, tickAt({ txn: 41 }), later(30_000)))).toBe("");
    const step = serverStep(heard, tickAt({ txn: 42 }), later(30_000));
    expect(sent(step)).toEqual([{ t: "ping", now: NOW.wallMs + 30_000, txn: 42 }]);
  });

  test("[S5] 60 s of silence end the connection, and any message ends the silence", () => {
    expect(byeOf(serverStep(OPEN, tickAt(), later(60_000)))?.code).toBe("too_slow");
    const heard = serverStep(OPEN, say({ t: "pong", ping: 1, now: 1 }), later(50_000)).state;
    expect(byeOf(serverStep(heard, tickAt(), later(60_000)))).toBeUndefined();
  });

  test("[S5] a ping is answered with both clocks", () => {
    expect(sent(run(OPEN, say({ t: "ping", now: 77 })))).toEqual([
      { t: "pong", ping: 77, now: NOW.wallMs },
    ]);
  });

  test("[S6] bye has a sentence, and a time to reconnect where useful", () => {
    expect(byeOf(run(OPEN, { kind: "closing", afterMs: 2000 }))).toEqual({
      t: "bye",
      code: "closing",
      message: "the server stops",
      after: 2000,
    });
    expect(byeOf(run(OPEN, { kind: "revoked" }))?.after).toBeUndefined();
  });

  test("[S7] a session ends when its token expires", () => {
    const grant = grantOf("token", NOW.wallMs + 5000);
    const { state } = run(ADMITTING, { ...ADMITTED, grant });
    expect(byeOf(serverStep(state, tickAt(), later(4999)))).toBeUndefined();
    expect(byeOf(serverStep(state, tickAt(), later(5000)))?.code).toBe("expired");
  });

  test("[S7] a new token before that keeps the session, and the peer receives its expiry", () => {
    const { state } = run(ADMITTING, { ...ADMITTED, grant: grantOf("token", NOW.wallMs + 5000) });
    const asked = run(state, say({ t: "token", token: "new" }));
    const hello = { ...HELLO, token: "" };
    expect(asked.actions).toEqual([{ kind: "admit", ticket: 1, token: "new", hello }]);
    const grant = grantOf("renewed", NOW.wallMs + 90_000);
    const renewed = run(asked.state, { ...ADMITTED, ticket: 1, grant });
    expect(renewed.actions).toEqual([
      { kind: "grant", grant },
      {
        kind: "send",
        message: { t: "rights", rights: grant.rights, expires: NOW.wallMs + 90_000 },
      },
    ]);
    const heard = serverStep(renewed.state, say({ t: "pong", ping: 1, now: 1 }), later(40_000));
    expect(byeOf(serverStep(heard.state, tickAt(), later(50_000)))).toBeUndefined();
  });

  test("[S7] only the answer about the last token counts", () => {
    const twice = run(OPEN, say({ t: "token", token: "a" }), say({ t: "token", token: "b" }));
    expect(wordsOf(run(twice.state, { kind: "rejected", ticket: 1 }))).toBe("");
    expect(wordsOf(run(twice.state, { ...ADMITTED, ticket: 1 }))).toBe("");
    expect(byeOf(run(twice.state, { kind: "rejected", ticket: 2 }))?.code).toBe("unauthorized");
  });

  test("[S7] a token that has expired already does not renew anything", () => {
    const asked = run(OPEN, say({ t: "token", token: "a" }));
    const grant = grantOf("key", NOW.wallMs - 1);
    const step = run(asked.state, { ...ADMITTED, ticket: 1, grant });
    expect(byeOf(step)?.code).toBe("unauthorized");
  });

  test("[S22] a peer that reads nothing from its queue is disconnected, a slow one is not", () => {
    const stuck = serverStep(OPEN, tickAt({ queuedBytes: 10, takenBytes: 5 }), NOW).state;
    const speaks = serverStep(stuck, say({ t: "pong", ping: 1, now: 1 }), later(59_000)).state;
    const same = tickAt({ queuedBytes: 900, takenBytes: 5 });
    expect(byeOf(serverStep(speaks, same, later(60_000)))?.code).toBe("too_slow");
    const more = tickAt({ queuedBytes: 900, takenBytes: 6 });
    expect(byeOf(serverStep(speaks, more, later(60_000)))).toBeUndefined();
    const empty = serverStep(speaks, tickAt({ takenBytes: 5 }), later(59_500)).state;
    expect(byeOf(serverStep(empty, same, later(60_000)))).toBeUndefined();
  });
});
