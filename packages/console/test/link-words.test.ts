/**
 * Links between Big Peers: their states in words, and the fields of the form.
 */
import { expect, test } from "vitest";
import {
  addressesOf,
  addressFault,
  type Link,
  linkWords,
  pulledText,
} from "../src/pages/replication/link-words.ts";
import { lagText } from "../src/values/time-text.ts";

const link: Link = {
  direction: "dial",
  address: "north.example.com:4040",
  state: "linked",
  since: "",
  partner: "x",
  nextAttemptAt: null,
  lastError: null,
  lag: { transactions: 0, seconds: 0 },
  pulled: { documents: 0, bytes: 0, unchanged: 0, stale: 0 },
  served: { documents: 0, bytes: 0 },
  subscriptions: [],
};

function pulling(state: "held" | "behind" | "filling" | "live"): Link {
  return { ...link, subscriptions: [{ collection: "c", query: "true", state, transaction: 1 }] };
}

test("a link that is up shows the state of its queries", () => {
  const states = (["held", "behind", "filling", "live"] as const).map((state) => {
    const { kind, text } = linkWords(pulling(state), 0);
    return `${kind} ${text}`;
  });
  expect(states).toEqual(["warn held", "warn behind", "busy filling", "ok linked"]);
});

test("a link that waits has the cause and the next attempt", () => {
  const lastError = { code: "unreachable", message: "connect ECONNREFUSED", at: "" };
  const nextAttemptAt = "1970-01-01T00:00:30Z";
  const words = linkWords({ ...link, state: "waiting", lastError, nextAttemptAt }, 0);
  expect(words).toEqual({
    kind: "err",
    text: "waiting",
    title: "connect ECONNREFUSED. Next attempt in 30 s.",
  });
});

test("a missing secret says what to do", () => {
  expect(linkWords({ ...link, state: "no_secret" }, 0).title).toContain("Set one for the app");
  expect(linkWords({ ...link, state: "duplicate" }, 0).kind).toBe("idle");
  expect(linkWords({ ...link, state: "refused" }, 0).kind).toBe("err");
});

test("the lag has its age, and is unknown without a link", () => {
  expect(lagText({ transactions: 0, seconds: 0 })).toBe("0");
  expect(lagText({ transactions: 1234, seconds: 5.4 })).toBe("1,234 transactions, 5 s");
  expect(lagText({ transactions: null, seconds: null })).toBe("unknown");
});

test("what is pulled in one line", () => {
  expect(pulledText({})).toBe("nothing");
  expect(pulledText({ cars: ["true"], parts: ["a == 1", "b == 2"] })).toBe(
    "cars, parts: a == 1 or b == 2",
  );
});

test("addresses are host and port, one in each line", () => {
  expect(addressesOf(" a:1\n\n[::1]:2, b:3 ")).toEqual(["a:1", "[::1]:2", "b:3"]);
  expect(addressFault("a:1 [::1]:2 10.0.0.1:4040")).toBeUndefined();
  expect(addressFault("a:1 http://b:2")).toBe("expected host:port, found http://b:2");
  expect(addressFault("north")).toBe("expected host:port, found north");
});
