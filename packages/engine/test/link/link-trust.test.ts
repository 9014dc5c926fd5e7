/**
 * Who may be linked: what both sides hear when the secret, the app or the messages are not right, and
 * that nothing is told before.
 */

import { encodeMessage, type LinkMessage } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { LinkEvent } from "../../src/link/link.ts";
import {
  ALL,
  type LinkedStore,
  LinkWire,
  linkedStore,
  settled,
  turns,
  until,
  type WireSide,
} from "../support/linked-stores.ts";

const UNKNOWN = "there is no such app to be linked with here, or its replication secret is another";

async function meet(
  dial: Partial<WireSide>,
  accept: Partial<WireSide>,
): Promise<{ wire: LinkWire; a: LinkedStore; b: LinkedStore }> {
  const [a, b] = [await linkedStore("a"), await linkedStore("b")];
  await a.put("cars", { _id: "1" });
  const wire = new LinkWire({ at: b, queries: ALL, ...dial }, { at: a, queries: ALL, ...accept });
  await turns(100);
  return { wire, a, b };
}

function endOf(events: readonly LinkEvent[]): readonly unknown[] {
  return events.map((event) => (event.kind === "ended" ? [event.code, event.message] : event.kind));
}

function kinds(messages: readonly LinkMessage[]): string[] {
  return messages.map(({ t }) => t);
}

test("[S48] with the same secret both sides are linked, and know each other's history", async () => {
  const { wire, a, b } = await meet({}, {});
  expect(wire.dial.events).toEqual([{ kind: "linked", partner: a.store.identity.historyId }]);
  expect(wire.accept.events).toEqual([{ kind: "linked", partner: b.store.identity.historyId }]);
  expect(kinds(wire.dial.heard).slice(0, 3)).toEqual(["link", "proof", "linked"]);
  expect(kinds(wire.accept.heard).slice(0, 3)).toEqual(["link", "proof", "linked"]);
});

test("[S48] with different secrets both sides see the reason and nothing else", async () => {
  const { wire, b } = await meet({ secret: "mine" }, { secret: "yours" });
  expect(endOf(wire.dial.events)).toEqual([["unauthorized", UNKNOWN]]);
  expect(endOf(wire.accept.events)).toEqual([["unauthorized", UNKNOWN]]);
  expect(kinds(wire.dial.heard)).toEqual(["link", "bye"]);
  expect(kinds(wire.accept.heard)).toEqual(["link", "proof"]);
  expect(b.store.txnId).toBe(0);
  expect(wire.dial.link.status()).toEqual(
    expect.objectContaining({ state: "closed", subscriptions: [] }),
  );
  expect(wire.dial.link.status().lastError?.code).toBe("unauthorized");
});

test("[S48] a side without a secret neither sends nor accepts a proof", async () => {
  const dial = await meet({ secret: undefined }, {});
  expect(endOf(dial.wire.dial.events)).toEqual([
    ["unauthorized", "there is no replication secret for the app here"],
  ]);
  const accept = await meet({}, { secret: undefined });
  expect(endOf(accept.wire.dial.events)).toEqual([["unauthorized", UNKNOWN]]);
});

test("[S83] another app gets the same answer as another secret", async () => {
  const { wire } = await meet({ app: "other" }, {});
  expect(endOf(wire.dial.events)).toEqual([["unauthorized", UNKNOWN]]);
  expect(endOf(wire.accept.events)).toEqual([["unauthorized", UNKNOWN]]);
});

test("[S49] a store that is linked with itself ends the link", async () => {
  const a = await linkedStore("a");
  const wire = new LinkWire({ at: a, queries: ALL }, { at: a, queries: ALL });
  await until(() => wire.isOver);
  expect(endOf(wire.dial.events)).toEqual([["stopped", "the link leads to this very store"]]);
});

test("[S1] [S47] bytes that are no link message, or no document state, end the link", async () => {
  const { wire } = await meet({}, {});
  wire.dial.link.receive(Uint8Array.of(1, 2, 3));
  expect(endOf(wire.dial.events).at(-1)).toEqual(expect.arrayContaining(["malformed"]));
  const second = await meet({}, {});
  const subscribed = second.wire.dial.heard.find((message) => message.t === "subscribed");
  const filter = subscribed?.t === "subscribed" ? subscribed.filter : new Uint8Array(16);
  const broken = [{ n: 1 }, null, Uint8Array.of(255, 255)] as const;
  const frame = {
    t: "documents",
    filter,
    entries: [["put", "x", 1, broken]],
    committed: 99,
  } as const;
  second.wire.dial.link.receive(encodeMessage(frame));
  await until(() => second.wire.isOver);
  expect(endOf(second.wire.dial.events).at(-1)).toEqual(expect.arrayContaining(["malformed"]));
  const third = await meet({}, {});
  const delta = ["delta", "x", 2, 1, new Uint8Array()] as const;
  const known = third.wire.dial.heard.find((message) => message.t === "subscribed");
  const named = known?.t === "subscribed" ? known.filter : filter;
  third.wire.dial.link.receive(encodeMessage({ t: "documents", filter: named, entries: [delta] }));
  expect(endOf(third.wire.dial.events).at(-1)).toEqual([
    "malformed",
    "expected whole states on a link, found a delta",
  ]);
  await settled([third.a, third.b]);
});
