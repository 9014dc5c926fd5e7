/**
 * A request that is passed on: to whom, how often, and what its client is answered when a node is
 * lost.
 */

import { expect, test } from "vitest";
import { type NodeAnswer, NodeUnreached } from "../../src/cluster/node-client.ts";
import { PassOn, type PassOnHost } from "../../src/cluster/pass-on.ts";
import type { HttpRequest } from "../../src/http/http-request.ts";
import { ELSEWHERE_HEADER, Refusal, unavailable } from "../../src/http/refusal.ts";

const REQUEST = {
  id: "r1",
  method: "POST",
  target: "/",
  headers: {},
  remoteAddress: "127.0.0.1",
} as unknown as HttpRequest;

type Outcome = "done" | "elsewhere" | "unsent" | "lost";

const ANSWERS: { readonly [outcome in "done" | "elsewhere"]: NodeAnswer } = {
  done: { status: 200, headers: {}, body: new Uint8Array() },
  elsewhere: { status: 503, headers: { [ELSEWHERE_HEADER]: "true" }, body: new Uint8Array() },
};

/** Passes a request on to nodes with these outcomes, one after the other; after them, no node. */
function passOn(outcomes: readonly Outcome[], isRepeatable = true) {
  let at = 0;
  let nowMs = 0;
  const host: PassOnHost = {
    client: {
      send: async (url) => {
        const outcome = outcomes[at++];
        if (outcome === "done" || outcome === "elsewhere") return ANSWERS[outcome];
        throw new NodeUnreached(url, outcome === "lost", new Error("cut off"));
      },
    },
    evaluators: {
      url: async () => {
        if (at < outcomes.length) return "http://n1";
        throw unavailable("no node (cluster.elsewhere)", 1);
      },
      while: (_, __, work) => work(new AbortController().signal),
    },
    caughtUp: async () => {},
    elapsed: () => nowMs++,
  };
  const passed = { store: "s", listener: "data", body: new Uint8Array(), isRepeatable } as const;
  return new PassOn(host).send(REQUEST, passed).then(
    ({ status }) => `${status}`,
    (error: unknown) => (error instanceof Refusal ? `${error.status}: ${error.message}` : error),
  );
}

test("a request goes to the next node that evaluates", async () => {
  expect(await passOn(["elsewhere", "unsent", "lost", "done"])).toBe("200");
});

test("a request that no node has seen was not done", async () => {
  expect(await passOn(["elsewhere", "unsent"])).toBe("503: no node (cluster.elsewhere)");
});

test("a request whose node was lost may have been done, whatever other nodes say", async () => {
  const expected = expect.stringContaining("(cluster.unanswered)");
  expect(await passOn(["lost"])).toEqual(expected);
  expect(await passOn(["lost", "elsewhere", "unsent"])).toEqual(expected);
});

test("a request that cannot be recognised is sent once", async () => {
  expect(await passOn(["lost", "done"], false)).toEqual(
    expect.stringContaining("(cluster.unanswered)"),
  );
});
