/**
 * Link status: the state and statistics of a link, for operators.
 */

import type { FollowState } from "./followed-query.ts";
import type { LinkState } from "./link-state.ts";
import type { LinkTarget } from "./link-target.ts";

export interface LinkFault {
  readonly code: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

export interface LinkStatus {
  readonly state: "greeting" | "proving" | "linked" | "closed";
  /** The history of the other store. */
  readonly partner?: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly lastError?: LinkFault;
  /** When the last message arrived, in milliseconds since 1970. */
  readonly heardMs?: number;
  readonly pulled: {
    readonly documents: number;
    readonly bytes: number;
    /** Transactions made in this store. */
    readonly transactions: number;
    /** Documents that changed nothing, and documents that were set aside. */
    readonly unchanged: number;
    readonly stale: number;
  };
  readonly served: { readonly documents: number; readonly bytes: number };
  /** Transaction of this store up to which the other side was sent its queries. */
  readonly servedUpTo?: number;
  /** Transactions of the other store not merged yet, and for how long there have been any. */
  readonly lagTxn?: number;
  readonly lagMs?: number;
  /** Contents to fetch. */
  readonly missingContents: number;
  readonly subscriptions: readonly LinkSubscription[];
}

export interface LinkSubscription {
  readonly collection: string;
  readonly query: string;
  /** `held`: waits until the clock has reached a stamp (S86). */
  readonly state: FollowState | "held";
  /** Transaction of the other store up to which everything is merged. */
  readonly txn: number;
}

export function statusOf(state: LinkState): Pick<LinkStatus, "state" | "partner"> {
  switch (state.phase) {
    case "greeting":
    case "closed":
      return { state: state.phase };
    case "linked":
      return { state: "linked", partner: state.partner };
    default:
      return { state: "proving" };
  }
}

export function subscriptionsOf(
  state: LinkState,
  target: LinkTarget | undefined,
): LinkSubscription[] {
  if (state.phase !== "linked") return [];
  return [...state.follows].map(([id, { query, state: phase }]) => {
    const { collection, condition } = query;
    const followed = target?.query(id);
    const shown = phase === "held" ? "held" : (followed?.state ?? "waiting");
    return { collection, query: condition, state: shown, txn: followed?.txn ?? 0 };
  });
}

/** Transactions of the other store that are not merged here; undefined if nothing is followed. */
export function lagOf(state: LinkState, target: LinkTarget | undefined): number | undefined {
  if (state.phase !== "linked" || state.follows.size === 0) return undefined;
  let reached = Number.POSITIVE_INFINITY;
  for (const { txn } of subscriptionsOf(state, target)) reached = Math.min(reached, txn);
  return Math.max(0, state.partnerTxn - reached);
}
