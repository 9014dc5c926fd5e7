/**
 * Links that are cut at any frame, in any topology, while everybody writes: in the end each store holds
 * all that its queries select, equal to the source, and everything is at rest.
 */

import type { Value } from "@bigpeer/protocol";
import { assert, asyncProperty, integer } from "fast-check";
import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import type { QueriesByCollection } from "../../src/link/link-query.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import {
  entriesOf,
  type LinkedSetup,
  type LinkedStore,
  LinkWire,
  linkedStore,
  settled,
  shown,
  states,
  turns,
} from "../support/linked-stores.ts";
import { problems } from "../support/open-store.ts";
import { Random } from "../support/random.ts";

interface Topology {
  readonly names: readonly string[];
  /** Who dials whom. */
  readonly wires: readonly (readonly [number, number])[];
  readonly queries: readonly QueriesByCollection[];
}

const RING: Topology = {
  names: ["a", "b", "c"],
  wires: [
    [0, 1],
    [1, 2],
    [2, 0],
  ],
  queries: [
    { cars: ["true"], counts: ["true"] },
    { cars: ["_id < '8'", "_id >= '8'"], counts: ["true"] },
    { cars: ["true"], counts: ["_id = 'n'"] },
  ],
};

const CHAIN: Topology = {
  names: ["a", "b", "c"],
  wires: [
    [1, 0],
    [2, 1],
  ],
  // One way: from a to b to c, which wants only the red ones.
  queries: [{}, { cars: ["true"] }, { cars: ["color = 'red'"] }],
};

/** Small, so that everything comes in pieces and the log is soon too short. */
const SETUP: LinkedSetup = {
  streams: { frameBytes: 200, pieceDocuments: 2, joinTransactions: 3, catchUpBytes: 300 },
  store: { retention: { ...DEFAULT_RETENTION, logCount: 8 } },
};

/** Enough that a fill is often cut on its way. */
const IDS = Array.from({ length: 16 }, (_, i) => String.fromCharCode(48 + i));

class Run {
  readonly random: Random;
  readonly topology: Topology;
  readonly stores: LinkedStore[] = [];
  readonly wires: LinkWire[] = [];
  /** All that was added to the count. */
  sum = 0;

  constructor(seed: number, topology: Topology) {
    this.random = new Random(seed);
    this.topology = topology;
  }

  async open(): Promise<void> {
    for (const name of this.topology.names) {
      this.stores.push(await linkedStore(name, SETUP));
    }
    await this.stores[0]?.put("counts", { _id: "n" });
  }

  storeAt(i: number): LinkedStore {
    const store = this.stores[i];
    if (store === undefined) throw new Error(`expected a store ${i}`);
    return store;
  }

  /** A wire that breaks by itself after some frames, unless it is the last. */
  connect(i: number, isLasting: boolean): void {
    const [from, to] = this.topology.wires[i] ?? [0, 0];
    const side = (at: number) => ({
      at: this.storeAt(at),
      queries: this.topology.queries[at] ?? {},
      limits: { batchDocuments: 3, batches: 2 },
    });
    let left = isLasting ? Number.POSITIVE_INFINITY : 4 + this.random.below(40);
    const isCut = (): boolean => --left < 0;
    this.wires[i]?.cut();
    this.wires[i] = new LinkWire(side(from), side(to), { isCut });
  }

  async write(at: LinkedStore): Promise<void> {
    const id = this.random.pick(IDS);
    const n = this.random.below(100);
    switch (this.random.below(8)) {
      case 0:
      case 1:
        return at.put("cars", { _id: id, color: this.random.pick(["red", "blue"]), n });
      case 2:
        await at.execute("UPDATE cars SET color = 'blue', n = :n WHERE _id = :id", { id, n });
        return;
      case 3:
        await at.execute("UPDATE cars UNSET color WHERE _id = :id", { id });
        return;
      case 4:
        await at.execute("DELETE FROM cars WHERE _id = :id", { id });
        return;
      case 5:
        await at.execute("UPDATE cars APPLY hits INCREMENT BY 1 WHERE _id = :id", { id });
        return;
      case 6: {
        const by = "UPDATE counts APPLY n INCREMENT BY 1";
        this.sum += (await at.execute(by)).mutatedDocumentIds.length;
        return;
      }
      default:
        await at.store.maintain();
    }
  }

  /** The process of a store ends, and begins again. What it was told is durable is there. */
  async restart(i: number): Promise<void> {
    const { name, platform, disk, streams } = this.storeAt(i);
    for (const [wire, ends] of this.topology.wires.entries()) {
      if (ends.includes(i)) this.wires[wire]?.cut();
    }
    streams.close();
    disk.crash({ unsynced: this.random.pick(["lost", "kept"]) });
    this.stores[i] = await linkedStore(name, { ...SETUP, platform, disk });
  }

  async go(steps: number, writers: readonly number[]): Promise<void> {
    for (const [i] of this.topology.wires.entries()) this.connect(i, false);
    for (let step = 0; step < steps; step++) {
      if (this.random.oneIn(2)) await this.write(this.storeAt(this.random.pick(writers)));
      if (this.random.oneIn(6)) this.connect(this.random.below(this.topology.wires.length), false);
      if (this.random.oneIn(20)) await this.restart(this.random.below(this.stores.length));
      await turns(this.random.below(6));
    }
    for (const [i] of this.topology.wires.entries()) this.connect(i, true);
    await settled(this.stores, this.wires);
  }

  /** What crosses and who writes at rest, and what is wrong with the stores: nothing. */
  async stirs(): Promise<string[]> {
    const count = (): number[] => [
      ...this.stores.map(({ store }) => store.txnId),
      ...this.wires.map(({ dial, accept }) => entriesOf(dial).length + entriesOf(accept).length),
    ];
    const before = count();
    for (const wire of this.wires) wire.tick();
    await turns(60);
    const found = this.stores.flatMap(({ storage }) => problems(storage));
    const [was, is] = [before.join(), count().join()];
    if (was !== is) found.push(`${was} became ${is}`);
    return found;
  }
}

test("[S54] a ring whose links are cut at any frame ends with equal stores and becomes idle", async () => {
  await assert(
    asyncProperty(integer({ min: 0, max: 1e9 }), async (seed) => {
      const run = new Run(seed, RING);
      await run.open();
      await run.go(100, [0, 1, 2]);
      const [a, b, c] = run.stores.map((store) => states(store));
      expect(c).toEqual(a);
      expect(b).toEqual(a);
      for (const store of run.stores) expect(shown(store, "counts")).toEqual(countOf(run.sum));
      expect(await run.stirs()).toEqual([]);
    }),
    { numRuns: sized(2, 25) },
  );
});

test("[S51] [S54] in a chain cut at any frame, each follower has what it selects, as the source has it", async () => {
  await assert(
    asyncProperty(integer({ min: 0, max: 1e9 }), async (seed) => {
      const run = new Run(seed, CHAIN);
      await run.open();
      await run.go(100, [0]);
      const [a, b, c] = run.stores as [LinkedStore, LinkedStore, LinkedStore];
      expect(states(b)).toEqual(states(a));
      const selected = Object.entries(shown(b)).filter(([, fields]) => isRed(fields));
      const held = states(c);
      for (const [id] of selected) expect([id, held[id]]).toEqual([id, states(b)[id]]);
      // What stopped matching stays as it was then: no longer red, and nothing that is gone at the source.
      for (const [id, fields] of Object.entries(shown(c))) {
        expect([id, id in shown(b)]).toEqual([id, true]);
        if (!selected.some(([each]) => each === id))
          expect([id, isRed(fields)]).toEqual([id, false]);
      }
      expect(await run.stirs()).toEqual([]);
    }),
    { numRuns: sized(2, 25) },
  );
});

function countOf(sum: number): Value {
  return { n: sum === 0 ? {} : { n: sum } };
}

function isRed(fields: unknown): boolean {
  return (fields as { readonly color?: string }).color === "red";
}
