/**
 * A partner that knows the secret and does not keep to the rules, out of malice or by a fault: what it
 * sends does no more than end the link, and leaves nothing behind that would outlive it.
 */

import {
  encodeMessage,
  type LinkMessage,
  type StateParts,
  siteOfBytes,
  type Value,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { EMPTY_STATE, registerNode } from "../../src/crdt/state.ts";
import { partsOf } from "../../src/crdt/state-parts.ts";
import {
  follow,
  type LinkedStore,
  type LinkWire,
  linkedStore,
  settled,
  shown,
  states,
  turns,
} from "../support/linked-stores.ts";
import { problems } from "../support/open-store.ts";

interface Pair {
  readonly a: LinkedStore;
  readonly b: LinkedStore;
  readonly wire: LinkWire;
  readonly filter: Uint8Array;
  /** The state of the one document of `a`, as it came. */
  readonly parts: StateParts;
}

/** Store `b` follows all of `a`, which has one document. */
async function pair(): Promise<Pair> {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  await a.put("cars", { _id: "1", n: 1 });
  const wire = await followed(a, b);
  for (const message of wire.dial.heard) {
    const entry = message.t === "documents" ? message.entries[0] : undefined;
    if (message.t === "documents" && entry?.[0] === "put") {
      return { a, b, wire, filter: message.filter, parts: entry[3] };
    }
  }
  throw new Error("expected a document");
}

async function followed(a: LinkedStore, b: LinkedStore): Promise<LinkWire> {
  const wire = follow(b, a);
  await settled([a, b], [wire]);
  return wire;
}

/** Lets the follower hear what its partner has not said. */
async function hear({ wire }: Pair, ...messages: LinkMessage[]): Promise<void> {
  for (const message of messages) wire.dial.link.receive(encodeMessage(message));
  await turns(100);
}

function put(filter: Uint8Array, state: StateParts): LinkMessage {
  return { t: "documents", filter, entries: [["put", "x", 1, state]], committed: 99 };
}

function nested(levels: number): { readonly a: Value } {
  let value: Value = 1;
  for (let i = 1; i < levels; i++) value = { a: value };
  return { a: value };
}

function endOf({ wire }: Pair): unknown {
  const last = wire.dial.events.at(-1);
  return last?.kind === "ended" ? [last.code, last.message] : last?.kind;
}

/** A field that was written after its document was deleted: only the metadata have it. */
function hidden(name: string): StateParts {
  const site = siteOfBytes(new Uint8Array(8).fill(1));
  const root = new Map([[name, registerNode({ stamp: { time: 5, site }, value: 1 })]]);
  return partsOf({ ...EMPTY_STATE, dead: { time: 3, site }, root });
}

test.each([
  ["a field named like the id", (): object => ({ _id: "2", n: 1 }), "a state without a field _id"],
  ["more levels than a value has", (): object => nested(66), "at most 64 levels of nesting"],
])("[S52] a document with %s is not merged, and ends the link", async (_, fields, expected) => {
  const found = await pair();
  const { b, filter, parts } = found;
  await hear(found, put(filter, [fields() as never, null, parts[2]]));
  expect(endOf(found)).toEqual(["malformed", expect.stringContaining(`expected ${expected}`)]);
  expect(shown(b)).toEqual({ 1: { n: 1 } });
  expect(problems(b.storage)).toEqual([]);
});

test("[S52] a hidden field named like the id is not merged either", async () => {
  const harmless = await pair();
  await hear(harmless, put(harmless.filter, hidden("id_")));
  expect(endOf(harmless)).toBe("linked");
  const found = await pair();
  const before = states(found.b);
  await hear(found, put(found.filter, hidden("_id")));
  expect(endOf(found)).toEqual(["malformed", "expected a state without a field _id"]);
  expect(states(found.b)).toEqual(before);
});

test("[S52] a document may have 64 levels", async () => {
  const found = await pair();
  const { b, filter, parts } = found;
  await hear(found, put(filter, [nested(64), null, parts[2]]));
  expect(endOf(found)).toBe("linked");
  expect(shown(b)).toEqual({ 1: { n: 1 }, x: nested(64) });
});

test("[S54] the follower drops a cursor that is ahead of the source if the source does not know it", async () => {
  const found = await pair();
  const { a, b, wire, filter } = found;
  await hear(found, { t: "complete", filter, txn: Number.MAX_SAFE_INTEGER });
  wire.cut();
  await a.put("cars", { _id: "2", n: 2 });
  const second = await followed(a, b);
  expect(modeOf(second)).toBe("fill");
  expect(second.dial.link.status().subscriptions).toEqual([
    { collection: "cars", query: "true", state: "live", txn: a.store.txnId },
  ]);
  expect(shown(b)).toEqual(shown(a));
  await second.dial.link.close("closing", "the end");
  expect(modeOf(await followed(a, b))).toBe("resume");
});

function modeOf({ dial }: LinkWire): string | undefined {
  for (const message of dial.heard) if (message.t === "subscribed") return message.mode;
  return undefined;
}

test("[S50] a query has only the filter that the source named last", async () => {
  const found = await pair();
  const { b, filter, parts } = found;
  const other = filter.map((byte) => byte ^ 255);
  const named = { t: "subscribed", id: 1, collection: "cars", mode: "fill" } as const;
  await hear(found, { ...named, filter: other });
  await hear(found, put(filter, [{ n: 3 }, null, parts[2]]));
  expect(shown(b)).toEqual({ 1: { n: 1 } });
  await hear(found, put(other, [{ n: 4 }, null, parts[2]]));
  expect(shown(b)).toEqual({ 1: { n: 1 }, x: { n: 4 } });
});

test("a reason that the other side sends is truncated before it is shown", async () => {
  const found = await pair();
  const long = "because ".repeat(100_000);
  await hear(found, { t: "unsubscribed", id: 1, code: long, message: long });
  const { lastError } = found.wire.dial.link.status();
  expect(lastError?.message).toBe(`${long.slice(0, 499)}…`);
  expect(lastError?.code).toBe(`${long.slice(0, 63)}…`);
  await hear(found, { t: "bye", code: "busy", message: long });
  expect(endOf(found)).toEqual(["busy", `${long.slice(0, 499)}…`]);
});
