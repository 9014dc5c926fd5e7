/**
 * The subscriptions of a server session, and the streams that they follow.
 */

import type { Want } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { FollowedStream } from "../../../src/sync/session/session-state.ts";
import { filterKeyOf } from "../../../src/sync/stream/filter.ts";
import {
  byeOf,
  EMPTY,
  FILTER,
  grantOf,
  OPEN,
  run,
  STREAM,
  SUBSCRIBE,
  say,
  sent,
  wordsOf,
} from "../../support/session-steps.ts";

test("[S69] subscriptions with one filter share a stream until the last has left", () => {
  const second = run(OPEN, say({ ...SUBSCRIBE, id: 2 }), {
    kind: "followed",
    id: 2,
    ...STREAM,
    mode: "compare",
  });
  // The stream began anew, and both are told.
  expect(sent(second)).toEqual([
    { t: "subscribed", id: 1, filter: FILTER, collection: "cars", mode: "compare" },
    { t: "subscribed", id: 2, filter: FILTER, collection: "cars", mode: "compare" },
  ]);
  const first = run(second.state, say({ t: "unsubscribe", id: 1 }));
  expect(first.actions).toEqual([]);
  expect(run(first.state, say({ t: "unsubscribe", id: 2 })).actions).toEqual([
    { kind: "unfollow", filterKey: "f" },
  ]);
});

test("[S11] a subscription is passed on with its cursor", () => {
  const cursor = { history: "h1", filter: FILTER, txn: 7 };
  const step = run(EMPTY, say({ ...SUBSCRIBE, cursor }));
  const { query } = SUBSCRIBE;
  expect(step.actions).toEqual([{ kind: "subscribe", id: 1, query, args: {}, cursor }]);
});

test("[S9] a subscription that cannot be followed is answered with code and reason, and ends", () => {
  const event = { kind: "not_followed", id: 1, code: "query.syntax", message: "line 1" } as const;
  const step = run(EMPTY, say(SUBSCRIBE), event);
  expect(step.actions).toEqual([
    {
      kind: "send",
      message: { t: "unsubscribed", id: 1, code: "query.syntax", message: "line 1" },
    },
  ]);
  expect(wordsOf(run(step.state, say(SUBSCRIBE)))).toBe("subscribe");
});

test("two subscriptions with one id are malformed", () => {
  expect(byeOf(run(OPEN, say(SUBSCRIBE)))?.code).toBe("malformed");
});

test("subscriptions beyond the limit are refused, and the session continues", () => {
  const full = run(OPEN, say({ ...SUBSCRIBE, id: 2 }), say({ ...SUBSCRIBE, id: 3 }));
  const step = run(full.state, say({ ...SUBSCRIBE, id: 4 }));
  expect(sent(step)).toEqual([
    {
      t: "unsubscribed",
      id: 4,
      code: "query.too_large",
      message: "expected at most 3 subscriptions",
    },
  ]);
  expect(step.state.phase).toBe("open");
});

test("[S68] a subscription beyond the byte limit of queries and arguments is refused as well", () => {
  const args = { a: "x".repeat(600) };
  const half = run(OPEN, say({ ...SUBSCRIBE, id: 2, args }));
  const step = run(half.state, say({ ...SUBSCRIBE, id: 3, args }));
  expect(sent(step)).toEqual([
    {
      t: "unsubscribed",
      id: 3,
      code: "query.too_large",
      message: "expected at most 1000 bytes of queries and arguments",
    },
  ]);
  const free = run(half.state, say({ t: "unsubscribe", id: 2 }));
  expect(run(free.state, say({ ...SUBSCRIBE, id: 3, args })).actions[0]?.kind).toBe("subscribe");
});

test("[S13] a `want` is passed to its stream; for an ended subscription only `isLast` is", () => {
  const want: Want = { t: "want", filter: Uint8Array.of(7), ids: ["a"], isLast: true };
  expect(run(OPEN, say(want)).actions).toEqual([
    { kind: "want", filterKey: "f", ids: ["a"], isLast: true },
  ]);
  const left = run(OPEN, say({ t: "unsubscribe", id: 1 }), say(want));
  const filterKey = filterKeyOf(want.filter);
  expect(left.actions).toEqual([{ kind: "want", filterKey, ids: [], isLast: true }]);
  const { isLast: _, ...more } = want;
  expect(run(OPEN, say({ t: "unsubscribe", id: 1 }), say(more)).actions).toEqual([]);
});

test("[S20] after a change of permissions the peer is notified, and each filter is computed again", () => {
  const grant = grantOf("narrow");
  const step = run(OPEN, { kind: "rights_changed", grant });
  const { query } = SUBSCRIBE;
  expect(step.actions).toEqual([
    { kind: "grant", grant },
    { kind: "send", message: { t: "rights", rights: grant.rights } },
    { kind: "recheck", id: 1, query, args: {}, filter: FILTER, filterKey: "f" },
  ]);
  const other: FollowedStream = {
    ...STREAM,
    filter: Uint8Array.of(8),
    filterKey: "g",
    mode: "compare",
  };
  expect(run(step.state, { kind: "followed", id: 1, ...other }).actions).toEqual([
    {
      kind: "send",
      message: {
        t: "subscribed",
        id: 1,
        filter: other.filter,
        collection: "cars",
        mode: "compare",
      },
    },
    { kind: "unfollow", filterKey: "f" },
  ]);
});

test("[S20] a subscription that is no longer permitted ends, with its stream", () => {
  const denied = { code: "permission.denied", message: "no" };
  const step = run(OPEN, { kind: "not_followed", id: 1, ...denied });
  expect(step.actions).toEqual([
    { kind: "send", message: { t: "unsubscribed", id: 1, ...denied } },
    { kind: "unfollow", filterKey: "f" },
  ]);
});

test("[S21] a subscription that ends before it started leaves no stream", () => {
  const step = run(EMPTY, say(SUBSCRIBE), say({ t: "unsubscribe", id: 1 }), {
    kind: "followed",
    id: 1,
    ...STREAM,
  });
  expect(step.actions).toEqual([{ kind: "unfollow", filterKey: "f" }]);
});
