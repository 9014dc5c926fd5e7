/**
 * The machine of one side of a link: what each state makes of each event, and each rule by itself.
 */

import { type LinkMessage, SYNC_VERSION } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import { linkStep } from "../../src/link/link-session.ts";
import type { LinkedState, LinkSessionEvent } from "../../src/link/link-state.ts";
import {
  BOATS,
  begun,
  byeOf,
  CARS,
  CURSOR,
  FILTER,
  greetings,
  HELLO_OF_ACCEPT,
  HELLO_OF_DIAL,
  kindsOf,
  LINKED,
  later,
  linkedState,
  NOW,
  proofOf,
  run,
  SITES,
  STATES,
  said,
  tickOf,
} from "../support/link-steps.ts";

const STREAM = { filter: FILTER, filterKey: "f", collection: "cars", mode: "fill" } as const;

const MESSAGES: { readonly [K in LinkMessage["t"]]: Extract<LinkMessage, { t: K }> } = {
  link: HELLO_OF_ACCEPT,
  proof: { t: "proof", proof: proofOf("accept") },
  linked: LINKED as Extract<LinkMessage, { t: "linked" }>,
  subscribe: { t: "subscribe", id: 1, query: "Q", args: {} },
  unsubscribe: { t: "unsubscribe", id: 1 },
  want: { t: "want", filter: FILTER, ids: ["1"] },
  subscribed: { t: "subscribed", id: 1, filter: FILTER, collection: "cars", mode: "fill" },
  unsubscribed: { t: "unsubscribed", id: 1, code: "query.syntax", message: "no" },
  documents: { t: "documents", filter: FILTER, entries: [] },
  complete: { t: "complete", filter: FILTER, txn: 30 },
  behind: { t: "behind", filters: [FILTER] },
  committed: { t: "committed", txn: 31, outcomes: [] },
  fetch: { t: "fetch", id: "x", offset: 0 },
  content: { t: "content", id: "x", offset: 0, bytes: new Uint8Array() },
  ping: { t: "ping", now: 1, txn: 40 },
  pong: { t: "pong", ping: 1, now: 1 },
  bye: { t: "bye", code: "closing", message: "so long" },
};

const EVENTS: { readonly [name: string]: LinkSessionEvent } = {
  opened: { kind: "opened" },
  garbled: { kind: "garbled", reason: "what?" },
  "signed (dial)": { kind: "signed", side: "dial", proof: proofOf("dial") },
  "signed (accept)": { kind: "signed", side: "accept", proof: proofOf("accept") },
  configured: { kind: "configured", wanted: [BOATS] },
  cursor: { kind: "cursor", id: 1, cursor: CURSOR },
  held: { kind: "held", ids: [1], untilMs: 2_000_000 },
  served: { kind: "served", id: 1, ...STREAM },
  not_served: { kind: "not_served", id: 1, code: "query.syntax", message: "no" },
  stream_failed: { kind: "stream_failed", filterKey: "f", code: "query.timeout", message: "no" },
  tick: tickOf(),
  closing: { kind: "closing", code: "stopped", message: "enough" },
  disconnected: { kind: "disconnected" },
  ...Object.fromEntries(
    Object.entries(MESSAGES).map(([kind, message]) => [`message ${kind}`, said(message)]),
  ),
};

const ENDS = "closed: send bye, ended, close, release";
const STAYS = "stays:";

/** What becomes of each state with each event: the next phase and the kinds of actions. */
const TABLE: { readonly [state: string]: { readonly [event: string]: string } } = {
  "greeting (dial)": {
    opened: "greeting: send link",
    configured: "greeting:",
    "message link": "proving: send link, sign",
    "*message": ENDS,
  },
  "greeting (accept)": {
    configured: "greeting:",
    "message link": "proving: send link",
    "*message": ENDS,
  },
  "proving (dial)": {
    "signed (dial)": "proving: send proof",
    configured: "proving:",
    "message proof": "proving: sign",
    "*message": ENDS,
  },
  "proving (accept)": {
    "signed (accept)": "meeting: send proof, send linked",
    configured: "proving:",
    "message proof": "proving: sign",
    "*message": ENDS,
  },
  meeting: {
    configured: "meeting:",
    "message linked": "linked: linked, follow",
    "*message": ENDS,
  },
  linked: {
    configured: "linked: send unsubscribe, unfollow, follow",
    cursor: "linked: send subscribe",
    held: "linked: send unsubscribe",
    served: "linked: unserve",
    not_served: "linked:",
    stream_failed: "linked:",
    tick: "linked:",
    "message link": ENDS,
    "message proof": ENDS,
    "message linked": ENDS,
    "message subscribe": "linked: serve",
    "message unsubscribe": "linked:",
    "message want": "linked:",
    "message subscribed": "linked: subscribed",
    "message unsubscribed": "linked: unfollow, note",
    "message documents": "linked: take",
    "message complete": "linked: take",
    "message behind": "linked: take",
    "message committed": "linked: take",
    "message fetch": "linked: contents",
    "message content": "linked: contents",
    "message ping": "linked: send pong, reached",
    "message pong": "linked:",
  },
  closed: {
    garbled: STAYS,
    closing: STAYS,
    disconnected: STAYS,
    "message bye": STAYS,
    "*message": STAYS,
  },
};

/** The same in every phase but the last, unless the table says otherwise. */
const COMMON: { readonly [event: string]: string } = {
  garbled: ENDS,
  closing: ENDS,
  disconnected: "closed: release",
  "message bye": "closed: ended, close, release",
};

function expectedOf(state: string, event: string): string {
  const row = TABLE[state] ?? {};
  const wild = event.startsWith("message ") ? row["*message"] : undefined;
  return row[event] ?? COMMON[event] ?? wild ?? STAYS;
}

describe("the table", () => {
  for (const [name, make] of Object.entries(STATES)) {
    for (const [what, event] of Object.entries(EVENTS)) {
      test(`[S47] ${name} × ${what}: ${expectedOf(name, what)}`, () => {
        const before = make();
        const { state, actions } = linkStep(before, event, NOW);
        const found = `${state.phase}: ${kindsOf(actions)}`.trim();
        const expected = expectedOf(name, what);
        if (expected === STAYS)
          expect([found, state.phase]).toEqual([`${before.phase}:`, before.phase]);
        else expect(found).toBe(expected);
      });
    }
  }
});

function ended(before: ReturnType<typeof begun>, ...events: LinkSessionEvent[]): unknown {
  const step = run(before, ...events);
  const { code, message } = byeOf(step) ?? {};
  return step.state.phase === "closed" ? [code, message] : step.state.phase;
}

const UNKNOWN = "there is no such app to be linked with here, or its replication secret is another";

describe("handshake", () => {
  test("[S48] both sides become linked, whichever side dialled", () => {
    for (const side of ["dial", "accept"] as const) {
      const { state, actions } = run(begun(side), ...greetings(side));
      expect(state.phase).toBe("meeting");
      expect(actions.at(-1)).toEqual({
        kind: "send",
        message: { t: "linked", history: "h1", txn: 7, now: 1_000_000, sites: SITES },
      });
      expect(run(state, said(LINKED)).state.phase).toBe("linked");
    }
  });

  test("[S83] a wrong proof, no secret and another app get the same answer, after the proof if there is one", () => {
    const wrong = said({ t: "proof", proof: new Uint8Array(32) });
    const signed: LinkSessionEvent = { kind: "signed", side: "dial", proof: proofOf("dial") };
    const none: LinkSessionEvent = { kind: "signed", side: "dial", proof: undefined };
    const accept = [said(HELLO_OF_DIAL), wrong];
    expect(ended(begun("accept"), ...accept, signed)).toEqual(["unauthorized", UNKNOWN]);
    expect(ended(begun("accept"), ...accept, none)).toEqual(["unauthorized", UNKNOWN]);
    const other = said({ ...HELLO_OF_DIAL, app: "app2" });
    expect(ended(begun("accept"), other)).toEqual(["unauthorized", UNKNOWN]);
  });

  test("[S48] a proof is valid for one side: a side refuses its own proof", () => {
    const events: LinkSessionEvent[] = [
      ...greetings("dial").slice(0, 3),
      said({ t: "proof", proof: proofOf("dial") }),
      { kind: "signed", side: "accept", proof: proofOf("accept") },
    ];
    expect(ended(begun("dial"), ...events)).toEqual(["unauthorized", UNKNOWN]);
  });

  test("[S83] another version is reported before any proof", () => {
    const hello = said({ ...HELLO_OF_DIAL, version: SYNC_VERSION - 1 });
    const versions = "the accepting Big Peer speaks protocol 2, the dialing Big Peer speaks 1";
    const message = `${versions}: upgrade the dialing Big Peer`;
    expect(ended(begun("accept"), hello)).toEqual(["version", message]);
  });

  test("[S49] a link to its own store is ended", () => {
    const own = said({ ...MESSAGES.linked, history: "h1" });
    expect(ended(begun("dial"), ...greetings("dial"), own)).toEqual([
      "stopped",
      "the link leads to this very store",
    ]);
  });

  test.each(["", "x".repeat(65), "a b", "a\0", "\u{1f600}"])(
    "[S49] an invalid history is refused: %j",
    (history) => {
      const linked = said({ ...MESSAGES.linked, history });
      expect(ended(begun("accept"), ...greetings("accept"), linked)).toEqual([
        "malformed",
        "expected a history of 1 to 64 letters and digits",
      ]);
    },
  );

  test("[S2] a side that does not complete the handshake in time is dropped", () => {
    for (const make of [STATES["greeting (dial)"], STATES["proving (accept)"], STATES["meeting"]]) {
      const state = make?.() ?? begun("dial");
      expect(linkStep(state, tickOf(), later(29_999)).state).toBe(state);
      const step = linkStep(state, tickOf(), later(30_000));
      expect([step.state.phase, byeOf(step)?.code]).toEqual(["closed", "malformed"]);
    }
  });

  test("[S48] a side that has sent its greeting does not send it again", () => {
    const state = { ...begun("accept"), hasGreeted: true } as ReturnType<typeof begun>;
    expect(kindsOf(run(state, said(HELLO_OF_DIAL)).actions)).toBe("");
  });
});

describe("queries that are followed", () => {
  const following = (): LinkedState =>
    run(linkedState(), { kind: "cursor", id: 1, cursor: CURSOR }, said(MESSAGES.subscribed))
      .state as LinkedState;

  test("[S50] each query is subscribed to with its cursor", () => {
    expect(run(linkedState(), { kind: "cursor", id: 1, cursor: CURSOR }).actions).toEqual([
      {
        kind: "send",
        message: { t: "subscribe", id: 1, query: "Q1", args: {}, cursor: CURSOR },
      },
    ]);
    expect(run(linkedState(), { kind: "cursor", id: 1, cursor: undefined }).actions).toEqual([
      { kind: "send", message: { t: "subscribe", id: 1, query: "Q1", args: {} } },
    ]);
  });

  test("[S50] a comparison on a link is malformed", () => {
    const step = run(linkedState(), said({ ...MESSAGES.subscribed, mode: "compare" }));
    expect(byeOf(step)?.code).toBe("malformed");
  });

  test("[S56] queries that stay in the configuration are unchanged", () => {
    const { state, actions } = run(following(), { kind: "configured", wanted: [BOATS, CARS] });
    expect(kindsOf(actions)).toBe("follow");
    expect([...(state as LinkedState).follows.keys()]).toEqual([1, 2]);
    const none = run(state, { kind: "configured", wanted: [] });
    expect(kindsOf(none.actions)).toBe("send unsubscribe, unfollow, send unsubscribe, unfollow");
  });

  test("[S56] answers for a removed query are ignored", () => {
    const { state } = run(linkedState(), { kind: "configured", wanted: [] });
    for (const event of [
      EVENTS["cursor"],
      said(MESSAGES.subscribed),
      said(MESSAGES.unsubscribed),
    ]) {
      expect(run(state, event ?? tickOf()).actions).toEqual([]);
    }
  });

  test("[S50] a refused query is subscribed to again after a while, under another id", () => {
    const refused = run(following(), said(MESSAGES.unsubscribed));
    expect(refused.actions).toEqual([
      { kind: "unfollow", id: 1 },
      { kind: "note", code: "query.syntax", message: "no" },
    ]);
    const soon = { ...later(59_000), elapsedMs: NOW.elapsedMs + 29_000 };
    expect(linkStep(refused.state, tickOf(), soon).actions).toEqual([]);
    const heard = run(refused.state, said(MESSAGES.pong)).state as LinkedState;
    const { state, actions } = linkStep({ ...heard, heardMs: 60_000 }, tickOf(), later(60_000));
    expect(actions[0]).toEqual({
      kind: "follow",
      id: 2,
      query: { collection: "cars", condition: "true" },
    });
    expect([...(state as LinkedState).follows.keys()]).toEqual([2]);
  });

  test("[S86] a held query is subscribed to again when the wall clock has reached its time", () => {
    const { state } = run(following(), EVENTS["held"] ?? tickOf());
    const early = { ...NOW, wallMs: 1_999_999 };
    expect(linkStep(state, tickOf(), early).actions).toEqual([]);
    const { actions } = linkStep(state, tickOf(), { ...NOW, wallMs: 2_000_000 });
    expect(kindsOf(actions)).toBe("follow");
  });

  test("a held query that is removed is only forgotten", () => {
    const { state } = run(following(), EVENTS["held"] ?? tickOf());
    const { state: next, actions } = run(state, { kind: "configured", wanted: [] });
    expect([(next as LinkedState).follows.size, actions]).toEqual([0, []]);
  });
});

describe("queries that are served", () => {
  const serving = (): ReturnType<typeof run> =>
    run(linkedState(), said(MESSAGES.subscribe), { kind: "served", id: 1, ...STREAM });

  test("[S50] a query of the other side is answered with its stream, which ends with the query", () => {
    const { state, actions } = serving();
    expect(actions).toEqual([{ kind: "send", message: MESSAGES.subscribed }]);
    expect(run(state, said(MESSAGES.want)).actions).toEqual([
      { kind: "want", filterKey: "f", ids: ["1"] },
    ]);
    expect(run(state, said(MESSAGES.unsubscribe)).actions).toEqual([
      { kind: "unserve", filterKey: "f" },
    ]);
  });

  test("[S69] two queries with one filter share a stream, which starts over with the second", () => {
    const second = said({ ...MESSAGES.subscribe, id: 2 });
    const { state, actions } = run(serving().state, second, { kind: "served", id: 2, ...STREAM });
    expect(kindsOf(actions)).toBe("send subscribed, send subscribed");
    const { state: left, actions: none } = run(state, said(MESSAGES.unsubscribe));
    expect(none).toEqual([]);
    expect(run(left, said({ t: "unsubscribe", id: 2 })).actions).toEqual([
      { kind: "unserve", filterKey: "f" },
    ]);
  });

  test("[S9] [S68] an id that is in use is malformed, and more queries than the limits are too large", () => {
    expect(byeOf(run(serving().state, said(MESSAGES.subscribe)))?.code).toBe("malformed");
    const many: LinkSessionEvent[] = Array.from({ length: 1000 }, (_, i) =>
      said({ ...MESSAGES.subscribe, id: i + 1 }),
    );
    const { state } = run(linkedState(), ...many);
    const { actions } = run(state, said({ ...MESSAGES.subscribe, id: 5000 }));
    expect(actions).toEqual([
      {
        kind: "send",
        message: {
          t: "unsubscribed",
          id: 5000,
          code: "query.too_large",
          message: "expected at most 1000 subscriptions",
        },
      },
    ]);
    const query = "x".repeat(8 * 1024 * 1024 + 1);
    const long = run(linkedState(), said({ ...MESSAGES.subscribe, query }));
    expect(kindsOf(long.actions)).toBe("send unsubscribed");
  });

  test("a stream that fails ends all queries that followed it", () => {
    const { actions } = run(serving().state, EVENTS["stream_failed"] ?? tickOf());
    expect(kindsOf(actions)).toBe("send unsubscribed");
  });

  test("a query that cannot be followed is reported", () => {
    const { state, actions } = run(linkedState(), said(MESSAGES.subscribe), {
      kind: "not_served",
      id: 1,
      code: "query.syntax",
      message: "no",
    });
    expect(kindsOf(actions)).toBe("send unsubscribed");
    expect((state as LinkedState).served.size).toBe(0);
  });
});

describe("silence", () => {
  test("[S5] a link sends ping after 30 s of silence, and ends after 60 s", () => {
    const { state, actions } = linkStep(linkedState(), tickOf(), later(30_000));
    expect(actions).toEqual([{ kind: "send", message: { t: "ping", now: 1_030_000, txn: 7 } }]);
    expect(linkStep(state, tickOf(), later(31_000)).actions).toEqual([]);
    expect(byeOf(linkStep(state, tickOf(), later(60_000)))?.code).toBe("too_slow");
  });

  test("[S5] time in which a side did not read does not count as silence of the other", () => {
    const { state } = linkStep(linkedState(), tickOf({ isReading: false }), later(59_000));
    expect(linkStep(state, tickOf(), later(100_000)).state.phase).toBe("linked");
  });

  test("[S5] ping reports the position of the streams when it moved, also to a side that is not silent", () => {
    const heard = linkStep(linkedState(), said(MESSAGES.pong), later(29_000)).state;
    expect(linkStep(heard, tickOf(), later(30_000)).actions).toEqual([]);
    const { actions } = linkStep(heard, tickOf({ servedTxn: 9 }), later(30_000));
    expect(actions).toEqual([{ kind: "send", message: { t: "ping", now: 1_030_000, txn: 9 } }]);
  });

  test("[S5] a side that reads nothing from the queue for 60 s is too slow; one that reads a little is not", () => {
    let state = linkedState();
    for (let s = 1; s <= 60; s++) {
      const spoke = linkStep(state, said(MESSAGES.pong), later(s * 1000)).state;
      const tick = tickOf({ queuedBytes: 10, takenBytes: s });
      state = linkStep(spoke, tick, later(s * 1000)).state;
    }
    expect(state.phase).toBe("linked");
    const spoke = linkStep(state, said(MESSAGES.pong), later(119_000)).state;
    const stuck = tickOf({ queuedBytes: 10, takenBytes: 60 });
    expect(linkStep(spoke, stuck, later(119_000)).state.phase).toBe("linked");
    expect(byeOf(linkStep(spoke, stuck, later(120_000)))?.code).toBe("too_slow");
  });

  test("[S6] bye has the reason, and when to reconnect", () => {
    const step = run(linkedState(), {
      kind: "closing",
      code: "duplicate",
      message: "there is another",
      after: 60_000,
    });
    const bye = { code: "duplicate", message: "there is another", after: 60_000 };
    expect(byeOf(step)).toEqual({ t: "bye", ...bye });
    const theirs = run(linkedState(), said({ t: "bye", ...bye } as LinkMessage));
    expect(theirs.actions[0]).toEqual({ kind: "ended", bye, isOrderly: true });
  });
});
