/**
 * Elections: decide when this node tries to become the evaluating node of a store.
 *
 * The log says who evaluates; if that node is not alive, or other nodes do not reach it, the others
 * try one after the other, in an order that differs from store to store, so that stores are spread
 * over the nodes. Only one can
 * succeed: the log refuses the others.
 */

import { createHash } from "node:crypto";
import type { Replica } from "@bigpeer/engine/cluster";
import { describeError, type Log } from "../observability/log.ts";
import type { Membership } from "./membership.ts";

const TICK_MS = 100;

/** How much later the next node in the order tries. */
const RANK_MS = 700;

export interface ElectionsHost {
  readonly node: string;
  readonly membership: Pick<Membership, "find" | "others" | "isComplete">;
  readonly elapsed: () => number;
  /** Whether this node may begin to evaluate: not while it closes, or with a wrong clock. */
  readonly mayEvaluate: () => boolean;
  /** Whether this node leaves evaluating to others, because too many do not reach it. */
  readonly isHardToReach: () => boolean;
  readonly log: Log;
}

interface Candidate {
  readonly store: string;
  readonly replica: Pick<Replica, "role" | "evaluator" | "evaluate" | "stepDown">;
  /** Since when its evaluating node is not alive, or leaves it to others. */
  vacantMs: number | undefined;
  isTrying: boolean;
}

export class Elections {
  readonly #host: ElectionsHost;
  readonly #candidates = new Set<Candidate>();
  readonly #timer: NodeJS.Timeout;

  constructor(host: ElectionsHost) {
    this.#host = host;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Returns a function that ends it for this replica. */
  add(store: string, replica: Candidate["replica"]): () => void {
    const candidate: Candidate = { store, replica, vacantMs: undefined, isTrying: false };
    this.#candidates.add(candidate);
    this.#check(candidate);
    return () => this.#candidates.delete(candidate);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#candidates.clear();
  }

  #tick(): void {
    for (const candidate of this.#candidates) this.#check(candidate);
  }

  #check(candidate: Candidate): void {
    const { mayEvaluate, isHardToReach } = this.#host;
    const { replica, isTrying } = candidate;
    if (isTrying || replica.role === "failed") return;
    if (replica.role === "evaluating") {
      if (isHardToReach()) void this.#leave(candidate);
    } else if (mayEvaluate() && !isHardToReach() && this.#isTurn(candidate)) {
      void this.#try(candidate);
    }
  }

  #isTurn(candidate: Candidate): boolean {
    const { node, membership, elapsed } = this.#host;
    const { evaluator } = candidate.replica;
    // It was this node before it closed the store, or was started again.
    if (evaluator === node) return true;
    // A node that was stopped or cut off does not know who is alive.
    const info = membership.find(evaluator);
    const isVacant = info === undefined || info.isHardToReach;
    if (!isVacant || !membership.isComplete) {
      candidate.vacantMs = undefined;
      return false;
    }
    candidate.vacantMs ??= elapsed();
    return elapsed() - candidate.vacantMs >= this.#rankOf(candidate.store) * RANK_MS;
  }

  /** How many of the others come before this node. */
  #rankOf(store: string): number {
    const { node, membership } = this.#host;
    const own = placeOf(store, node);
    return membership.others.filter((other) => placeOf(store, other.node) < own).length;
  }

  /** Others take over when they hear that this node is hard to reach. */
  async #leave(candidate: Candidate): Promise<void> {
    candidate.isTrying = true;
    try {
      await candidate.replica.stepDown();
    } catch (error) {
      this.#host.log("error", `failed to leave ${candidate.store}: ${describeError(error)}`);
    } finally {
      candidate.isTrying = false;
    }
  }

  async #try(candidate: Candidate): Promise<void> {
    candidate.isTrying = true;
    try {
      // The end of the log may name another node, which took over while this one was stopped.
      await candidate.replica.evaluate(() => this.#isTurn(candidate));
    } catch (error) {
      const what = `failed to begin to evaluate ${candidate.store}`;
      this.#host.log("error", `${what}: ${describeError(error)}`);
    } finally {
      candidate.isTrying = false;
      candidate.vacantMs = undefined;
    }
  }
}

/** Texts that order the nodes for a store. */
function placeOf(store: string, node: string): string {
  return createHash("sha256").update(`${store}\n${node}`).digest("hex");
}
