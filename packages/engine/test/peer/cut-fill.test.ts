/**
 * Fills that are cut, as a peer keeps them: how far each is lies beside its documents and is as durable
 * as they are; whatever makes it untrue takes it away (S57).
 */

import type { DocumentEntry, IdRange, SyncCursor } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { FillRecord } from "../../src/store/peer-records.ts";
import { problems } from "../support/open-store.ts";
import {
  ALL,
  APP,
  entryOf,
  FILTER,
  type PeerPair,
  peerPair,
  RIGHTS,
  reopen,
  welcome,
} from "../support/peer-pair.ts";
import { SessionScript } from "../support/peer-session-script.ts";

const OTHER = new Uint8Array(16).fill(8);
const IDS = ["a", "b", "c", "d"];

interface Filled extends PeerPair {
  readonly key: string;
}

async function begun(): Promise<Filled> {
  const pair = await peerPair();
  await pair.server.transact((transaction) =>
    transaction.apply(IDS.map((id) => ({ kind: "insert", collection: "c", id, fields: { n: 1 } }))),
  );
  const { key } = pair.peer.subscription(ALL);
  await pair.peer.begin(key, "fill");
  return { ...pair, key };
}

/** A piece behind `after`; `through` is left out for the last one. */
async function piece(
  pair: Filled,
  ids: readonly string[],
  { after, through, fill }: { after?: string; through?: string; fill?: FillRecord },
): Promise<void> {
  const entries = ids.map((id): DocumentEntry => entryOf(pair.server, "c", id));
  const range = {
    ...(after !== undefined && { after }),
    ...(through !== undefined && { through }),
  };
  const part = { subscription: pair.key, entries, range, ...(fill !== undefined && { fill }) };
  await pair.peer.apply({ parts: [part], outcomes: [] });
}

function firstPiece(pair: Filled): Promise<void> {
  return piece(pair, ["a", "b"], { through: "b", fill: { filter: FILTER, txn: 5, after: "b" } });
}

function lastPiece(pair: Filled): Promise<void> {
  return piece(pair, ["c", "d"], { after: "b", fill: { filter: FILTER, txn: 5 } });
}

async function complete(pair: Filled): Promise<void> {
  const completed = [{ subscription: pair.key, filter: FILTER, txn: 9 }];
  await pair.peer.apply({ parts: [], outcomes: [], completed });
}

async function restart(pair: Filled): Promise<void> {
  await reopen(pair, { isCrash: true });
  await welcome(pair);
  pair.peer.subscription(ALL);
}

async function evict(pair: Filled, id: string): Promise<void> {
  await pair.peer.store.transact((transaction) =>
    transaction.apply([{ kind: "evict", collection: "c", id }]),
  );
}

function held({ peer }: PeerPair): string[] {
  return peer.store.read((snapshot) => [...snapshot.scanIds("c")].map((id) => id as string));
}

/** Short: where a cursor is, how it is named, and from where on it goes. */
function placeOf(cursor: SyncCursor | undefined): string {
  if (cursor === undefined) return "none";
  const { filter, txn, after } = cursor;
  if (filter[0] === 0) return `compare at ${txn}`;
  const name = filter[0] === FILTER[0] ? "" : " of the other";
  return after === undefined ? `all at ${txn}${name}` : `${after as string} at ${txn}${name}`;
}

type Act = (pair: Filled) => Promise<unknown>;

const STATES: { readonly [name: string]: Act } = {
  "nothing came": async () => undefined,
  "a piece came": firstPiece,
  "all pieces came": async (pair) => {
    await firstPiece(pair);
    await lastPiece(pair);
  },
  "it is complete": async (pair) => {
    await firstPiece(pair);
    await lastPiece(pair);
    await complete(pair);
  },
  "it is compared": async (pair) => {
    await firstPiece(pair);
    await pair.peer.begin(pair.key, "compare");
  },
};

const EVENTS: { readonly [name: string]: Act } = {
  "a crash": async () => undefined,
  "an end": ({ peer, key }) => peer.release(key),
  "a fill begins": ({ peer, key }) => peer.begin(key, "fill"),
  "a piece from the first id on": async (pair) => {
    await pair.peer.begin(pair.key, "fill");
    await piece(pair, ["a"], { through: "a", fill: { filter: OTHER, txn: 7, after: "a" } });
  },
  "a piece that says not how far it is": async (pair) => {
    await pair.peer.begin(pair.key, "fill");
    await piece(pair, ["c"], { after: "b", through: "c" });
  },
  "a compare begins": ({ peer, key }) => peer.begin(key, "compare"),
  "versions come": ({ peer, key }) =>
    peer.compare(key, { t: "versions", filter: FILTER, list: [], range: { after: "z" } }),
  "one is evicted": (pair) => evict(pair, "a"),
  "it is denied": ({ peer, key }) => peer.deny(key),
  "it is complete": complete,
  "a new history": ({ peer }) =>
    peer.welcome({ history: "other", app: APP, rights: RIGHTS, offsetMs: 0 }),
};

/** What a peer goes on from after each event in each state, and a crash behind it. */
const TABLE: { readonly [event: string]: { readonly [state: string]: string } } = {
  "a crash": {
    "nothing came": "none",
    "a piece came": "b at 5",
    "all pieces came": "all at 5",
    "it is complete": "all at 9",
    "it is compared": "compare at 5",
  },
  "an end": {
    "nothing came": "none",
    "a piece came": "b at 5",
    "all pieces came": "all at 5",
    "it is complete": "all at 9",
    "it is compared": "compare at 5",
  },
  "a fill begins": {
    "nothing came": "none",
    "a piece came": "b at 5",
    "all pieces came": "all at 5",
    "it is complete": "none",
    "it is compared": "none",
  },
  "a piece from the first id on": {
    "nothing came": "a at 7 of the other",
    "a piece came": "a at 7 of the other",
    "all pieces came": "a at 7 of the other",
    "it is complete": "a at 7 of the other",
    "it is compared": "a at 7 of the other",
  },
  "a piece that says not how far it is": {
    "nothing came": "none",
    "a piece came": "none",
    "all pieces came": "none",
    "it is complete": "none",
    "it is compared": "none",
  },
  "a compare begins": {
    "nothing came": "none",
    "a piece came": "compare at 5",
    "all pieces came": "compare at 5",
    "it is complete": "compare at 9",
    "it is compared": "compare at 5",
  },
  "versions come": {
    "nothing came": "none",
    "a piece came": "compare at 5",
    "all pieces came": "compare at 5",
    "it is complete": "compare at 9",
    "it is compared": "compare at 5",
  },
  "one is evicted": {
    "nothing came": "none",
    "a piece came": "compare at 5",
    "all pieces came": "compare at 5",
    "it is complete": "compare at 9",
    "it is compared": "compare at 5",
  },
  "it is denied": {
    "nothing came": "none",
    "a piece came": "none",
    "all pieces came": "none",
    "it is complete": "none",
    "it is compared": "none",
  },
  "it is complete": {
    "nothing came": "all at 9",
    "a piece came": "all at 9",
    "all pieces came": "all at 9",
    "it is complete": "all at 9",
    "it is compared": "all at 9",
  },
  "a new history": {
    "nothing came": "none",
    "a piece came": "none",
    "all pieces came": "none",
    "it is complete": "none",
    "it is compared": "none",
  },
};

test.each(Object.keys(EVENTS))(
  "[S57] the position from which a fill continues, for each state it was in: %s",
  async (name) => {
    const found: { [state: string]: string } = {};
    for (const [state, come] of Object.entries(STATES)) {
      const pair = await begun();
      await come(pair);
      await EVENTS[name]?.(pair);
      await reopen(pair, { isCrash: true });
      if (name !== "a new history") await welcome(pair);
      found[state] = placeOf(pair.peer.subscription(ALL).cursor);
      expect(problems(pair.storage)).toEqual([]);
    }
    expect(found).toEqual(TABLE[name]);
  },
);

test("[S57] the position of a fill is stored exactly when its documents are, whichever write fails", async () => {
  const seen = new Set<string>();
  for (let writes = 0; writes < 4; writes++) {
    const pair = await begun();
    const works = [firstPiece, lastPiece, complete];
    let isCrashed = false;
    for (const work of works) {
      if (isCrashed) break;
      pair.disk.failNextWrite(writes === works.indexOf(work) ? "store.write_failed" : undefined);
      await work(pair).catch(() => {
        isCrashed = true;
      });
    }
    await restart(pair);
    const place = placeOf(pair.peer.subscription(ALL).cursor);
    seen.add(`${held(pair).join("")}: ${place}`);
  }
  expect([...seen]).toEqual([": none", "ab: b at 5", "abcd: all at 5", "abcd: all at 9"]);
});

test("[S57] [S37] a document evicted after a fill continued is not part of the completed fill", async () => {
  const pair = await begun();
  await firstPiece(pair);
  await restart(pair);
  // The cursor is on its way to the server when the document is evicted.
  expect(placeOf(pair.peer.subscription(ALL).cursor)).toBe("b at 5");
  await evict(pair, "a");
  await pair.peer.begin(pair.key, "fill");
  await lastPiece(pair);
  await complete(pair);
  expect(held(pair)).toEqual(["b", "c", "d"]);
  expect(placeOf(pair.peer.subscription(ALL).cursor)).toBe("compare at 9");
  // A fill from the first id on brings it.
  await pair.peer.begin(pair.key, "fill");
  await piece(pair, IDS, { fill: { filter: FILTER, txn: 9 } });
  expect(held(pair)).toEqual(IDS);
  expect(placeOf(pair.peer.subscription(ALL).cursor)).toBe("all at 9");
});

test("[S57] a piece stores its documents with the position of the fill, if the server sent one", () => {
  const script = new SessionScript().idle().follow("tasks", 1, FILTER);
  const entries: readonly DocumentEntry[] = [["drop", 1]];
  const take = (range: IdRange, more: { readonly asOf?: number }): unknown => {
    script.hear({ t: "documents", filter: FILTER, entries, range, ...more });
    return script.of("apply").map(({ batch }) => batch.parts);
  };
  const part = { subscription: "tasks", entries };
  const [first, last] = [{ through: 1 }, { after: 1 }];
  const fill = { filter: FILTER, txn: 90 };
  expect(take(first, { asOf: 90 })).toEqual([
    [{ ...part, range: first, fill: { ...fill, after: 1 } }],
  ]);
  expect(take(last, { asOf: 90 })).toEqual([[{ ...part, range: last, fill }]]);
  expect(take(last, {})).toEqual([[{ ...part, range: last }]]);
});
