/**
 * Reach verdict: whether this node should leave evaluating to others, because more nodes fail to
 * reach it than fail to reach one of them.
 *
 * The verdict changes only after its reason has held for a lease: a request that fails now and then
 * moves nothing. Equal counts change nothing, so two nodes that do not reach each other do not take
 * their stores back and forth.
 */

import { LEASE_MS, type NodeInfo } from "./membership.ts";

/** What a node says about itself and the others. */
export type ReachReport = Pick<NodeInfo, "node" | "unreached" | "isHardToReach">;

/** Whether a node is reached by fewer nodes than another one that may evaluate in its place. */
export function isReachedLess(self: ReachReport, others: readonly ReachReport[]): boolean {
  const all = [self, ...others];
  const failures = ({ node }: ReachReport): number =>
    all.filter((other) => other.node !== node && other.unreached.includes(node)).length;
  const own = failures(self);
  return others.some((other) => !other.isHardToReach && failures(other) < own);
}

export class ReachVerdict {
  readonly #elapsed: () => number;
  #isHardToReach = false;
  /** Since when the reports say otherwise. */
  #changedMs: number | undefined;

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  get isHardToReach(): boolean {
    return this.#isHardToReach;
  }

  /** Takes the reports of now. Returns whether the verdict has changed. */
  update(self: ReachReport, others: readonly ReachReport[]): boolean {
    if (isReachedLess(self, others) === this.#isHardToReach) {
      this.#changedMs = undefined;
      return false;
    }
    this.#changedMs ??= this.#elapsed();
    if (this.#elapsed() - this.#changedMs < LEASE_MS) return false;
    this.#changedMs = undefined;
    this.#isHardToReach = !this.#isHardToReach;
    return true;
  }
}
