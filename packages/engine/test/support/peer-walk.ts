/**
 * A random walk of a small peer and its server beside the model of both layers: writes on either
 * side, downloads whole and as deltas, what is let go of, uploads that are taken or refused, outcomes
 * that come late, restarts and crashes. After each step the peer must show what the model does.
 */

import { isDeepStrictEqual } from "node:util";
import {
  type DocumentEntry,
  type Edit,
  NONE,
  type Operation,
  type Outcome,
  PeerError,
  type UploadOperation,
} from "@bigpeer/protocol";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { stateOfParts } from "../../src/crdt/state-parts.ts";
import type { OwnUpload } from "../../src/peer/sequenced-upload.ts";
import { deltaSince, findTransaction } from "../../src/store/change-log.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import type { CheckUpload } from "../../src/store/upload.ts";
import { describeState } from "./dump.ts";
import { dump } from "./open-store.ts";
import { PeerModel } from "./peer-model.ts";
import { ALL, entryOf, type PeerPair, reopen } from "./peer-pair.ts";
import { Random } from "./random.ts";

const IDS = ["a", "b", "c", "d"] as const;

/** One peer with its server and the model, and what is on its way between them. */
export class PeerWalk {
  readonly random: Random;
  readonly model = new PeerModel();
  readonly pair: PeerPair;
  readonly key: string;
  /** Outcomes that the server gave and the peer has not heard of. */
  readonly #onTheWay: (readonly [OwnUpload, Outcome])[] = [];
  #sent = 0;
  #requests = 0;

  constructor(pair: PeerPair, seed: number) {
    this.pair = pair;
    this.random = new Random(seed);
    this.key = pair.peer.subscription(ALL).key;
  }

  async step(): Promise<string> {
    const steps = [
      () => this.write(),
      () => this.write(),
      () => this.serverWrite(),
      () => this.download(),
      () => this.letGo(),
      () => this.upload(),
      () => this.upload(),
      () => this.hear(),
      () => this.hear(),
      () => this.restart(),
    ];
    const step = this.random.pick(steps);
    this.pair.platform.nowMs += this.random.below(50);
    await step();
    return step.toString().slice(11);
  }

  async write(): Promise<void> {
    const { peer } = this.pair;
    const requestId = `r${++this.#requests}`;
    // A statement behind EVICT would not see what is pending, which shows again in the end.
    const isOne = this.random.below(3) > 0;
    const statements = isOne
      ? [this.#operations(true)]
      : [this.#operations(false), this.#operations(false)];
    const { txnId } = await peer.store.transact(
      (transaction) => {
        for (const operations of statements) transaction.apply(operations);
      },
      { requestId },
    );
    const record = peer.store.read((snapshot) => findTransaction(snapshot, txnId));
    if (record?.requestId !== requestId) return;
    for (const { time, operations } of record.steps) {
      for (const operation of operations) {
        const stamp = { time, site: peer.store.identity.site };
        if (operation.kind === "evict") this.model.forget(operation.id as string);
        else if (operation.kind !== "layer") {
          this.model.write(txnId, operation as UploadOperation, stamp);
        }
      }
    }
  }

  #operations(mayEvict: boolean): Operation[] {
    const ids = this.random.shuffle(IDS).slice(0, 1 + this.random.below(2));
    return ids.map((id) => anyOperation(id, this.random, mayEvict));
  }

  async serverWrite(): Promise<void> {
    const ids = this.random.shuffle(IDS).slice(0, 1 + this.random.below(2));
    this.pair.platform.nowMs += 1;
    await this.pair.server.transact((transaction) =>
      transaction.apply(ids.map((id) => anyOperation(id, this.random, false))),
    );
  }

  async download(): Promise<void> {
    const ids = this.random.shuffle(IDS).slice(0, 1 + this.random.below(3));
    const entries = ids.map((id) => this.#entry(id));
    await this.#apply(entries, []);
    for (const entry of entries) this.#model(entry);
  }

  #entry(id: string): DocumentEntry {
    const from = this.model.versionOf(id);
    const whole = entryOf(this.pair.server, "c", id);
    if (whole[0] !== "put" || from === 0 || this.random.oneIn(3)) return whole;
    const delta = this.pair.server.read((snapshot) =>
      deltaSince(snapshot, this.pair.server.identity.site, { collection: "c", id }, from),
    );
    if (delta.kind === "full") return whole;
    return ["delta", id, delta.version, from, stateToBytes(delta.state)];
  }

  /** What the server says of a document, to the model. */
  #model(entry: DocumentEntry): void {
    const id = entry[1] as string;
    switch (entry[0]) {
      case "put":
      case "delta": {
        // Merged or not, it is what the server has.
        const { state, version } = this.pair.server.read((snapshot) => snapshot.state("c", id));
        return this.model.put(id, state, version);
      }
      case "deleted":
        return this.model.leave(id, tombstone(entry, this.model.confirmed(id)), entry[2]);
      case "left":
        return this.model.leave(id, stateOfParts(entry[3]), entry[2]);
      default:
        return this.model.forget(id);
    }
  }

  async letGo(): Promise<void> {
    const id = this.random.pick(IDS);
    const now = entryOf(this.pair.server, "c", id);
    const entry: DocumentEntry =
      now[0] === "put" && this.random.oneIn(2) ? ["left", id, now[2], now[3]] : ["drop", id];
    await this.#apply([entry], []);
    this.#model(entry);
  }

  /** The server takes what is pending, or refuses it; the peer does not hear of it yet. */
  async upload(): Promise<void> {
    const { peer, server } = this.pair;
    await peer.sequence(0, 1 + this.random.below(3));
    const next = peer.sequenced().find(({ number }) => number > this.#sent);
    if (next === undefined) return;
    this.#sent = next.number;
    const checker: CheckUpload | undefined = this.random.oneIn(4) ? refuseAll : undefined;
    const answer = await takeUpload(server, next, checker);
    if (answer.kind !== "taken") throw new Error(`the upload is ${answer.kind}`);
    const { outcome: kind, txnId: txn, reason } = answer.record;
    const { site, number, commitId } = next;
    const pending = this.model.pending.get(commitId);
    if (pending !== undefined && kind === "applied") {
      pending.appliedAt = txn;
      for (const { id } of pending.writes) {
        const version = server.read((snapshot) => snapshot.version("c", id));
        if (version !== txn) pending.unfelt.add(id);
      }
    }
    this.#onTheWay.push([next, { site, number, kind, txn, reason, documents: [] }]);
  }

  async hear(): Promise<void> {
    const count = 1 + this.random.below(3);
    const heard = this.#onTheWay.splice(0, count);
    const outcomes = heard.map(([{ steps }, outcome]): Outcome => {
      const ids = new Set(steps.flatMap((step) => step.operations.map(({ id }) => id as string)));
      const entries = [...ids].map((id) => ["c", entryOf(this.pair.server, "c", id)] as const);
      return { ...outcome, documents: outcome.kind === "refused" ? [] : entries };
    });
    await this.#apply([], outcomes);
    for (const [i, { documents }] of outcomes.entries()) {
      for (const [, entry] of documents) this.#report(entry);
      this.model.end(heard[i]?.[0].commitId ?? 0);
    }
  }

  #report(entry: DocumentEntry): void {
    const id = entry[1] as string;
    if (entry[0] === "drop") return this.model.forget(id);
    if (entry[0] === "put") return this.model.reported(id, stateOfParts(entry[3]), entry[2]);
    if (entry[0] === "deleted") {
      this.model.reported(id, tombstone(entry, this.model.confirmed(id)), entry[2]);
    }
  }

  async restart(): Promise<void> {
    const before = dump(this.pair.storage);
    await reopen(this.pair, { isCrash: this.random.oneIn(2) });
    if (!isDeepStrictEqual(dump(this.pair.storage), before)) {
      throw new Error("expected a store that was opened again to be the same");
    }
    this.pair.peer.subscription(ALL);
  }

  async #apply(entries: readonly DocumentEntry[], outcomes: readonly Outcome[]): Promise<void> {
    const parts = entries.length === 0 ? [] : [{ subscription: this.key, entries }];
    const committed = this.pair.server.txnId;
    const { wants } = await this.pair.peer.apply({ parts, outcomes, committed });
    if (wants.length > 0) throw new Error("expected every delta to fit");
  }

  /** What the peer shows and the model does not. */
  faults(): string[] {
    const { peer } = this.pair;
    const faults = IDS.flatMap((id) => {
      if (!this.model.isKnown(id)) return [];
      const found = describeState(peer.store.read((snapshot) => snapshot.state("c", id).state));
      const expected = describeState(this.model.view(id));
      return found === expected ? [] : [`${id}: expected ${expected}, found ${found}`];
    });
    const { size } = this.model.pending;
    if (peer.pendingCount !== size)
      faults.push(`expected ${size} pending, found ${peer.pendingCount}`);
    return faults;
  }
}

/** A tombstone of the server has nothing but its stamp, and whether it was seeded here. */
function tombstone(
  entry: Extract<DocumentEntry, readonly ["deleted", ...unknown[]]>,
  before: DocumentState,
): DocumentState {
  const dead = { time: entry[3], site: entry[4] };
  return { alive: NONE, dead, seeded: before.seeded, root: EMPTY_STATE.root };
}

const refuseAll: CheckUpload = () => () => {
  throw new PeerError("permission.denied", "no");
};

function anyOperation(id: string, random: Random, mayEvict: boolean): Operation {
  const place = { collection: "c", id };
  const fields = { n: random.below(9), m: { p: random.below(9) } };
  switch (random.below(mayEvict ? 11 : 10)) {
    case 0:
    case 1:
    case 2:
      return { kind: "insert", ...place, fields };
    case 3:
      return { kind: "delete", ...place };
    case 4:
      return { kind: "initial", ...place, fields };
    case 10:
      return { kind: "evict", ...place };
    default:
      return { kind: "update", ...place, edits: [anyEdit(random)] };
  }
}

function anyEdit(random: Random): Edit {
  const by = 1 + random.below(5);
  switch (random.below(7)) {
    case 0:
      return { kind: "set", path: ["n"], value: by };
    case 1:
      return { kind: "set", path: ["m", "p"], value: by };
    case 2:
      return { kind: "unset", path: random.pick([["n"], ["m"], ["m", "p"], ["k"]]) };
    case 3:
      return { kind: "restart", path: ["k"], value: by };
    case 4:
      return { kind: "increment", path: ["q"], by: by / 4, counter: "pn_counter" };
    default:
      return { kind: "increment", path: ["k"], by };
  }
}
