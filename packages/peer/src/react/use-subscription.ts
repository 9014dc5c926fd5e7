/**
 * useSubscription: has the server send the documents of a query while a component is mounted.
 */

import type { Arguments } from "../local-store.ts";
import type { SubscriptionOptions } from "../sync.ts";
import { useProvided, useShared } from "./peer-context.ts";
import type { Start } from "./shared-values.ts";
import { valueKey } from "./value-key.ts";

/** The current state of a subscription. */
export interface SubscriptionState {
  /** Whether all matching documents were on the device once since the first component used it. */
  readonly isReady: boolean;
  /** Why the server refuses the subscription, or why the peer cannot be opened. */
  readonly error: Error | undefined;
}

const WAITING: SubscriptionState = { isReady: false, error: undefined };
const READY: SubscriptionState = { isReady: true, error: undefined };

/**
 * Subscribes to the documents that a query selects while the component is mounted. Components with
 * the same query, equal arguments and options share one subscription. After the last one is
 * unmounted the documents stay on the device; the next one continues where it was.
 *
 * @param statement - `SELECT * FROM collection [WHERE condition]`; undefined for none at the moment.
 * @param args - A value for each `:name` in the query, compared by value.
 * @param options - Whether its attachments come along.
 */
export function useSubscription(
  statement: string | undefined,
  args?: Arguments,
  options?: SubscriptionOptions,
): SubscriptionState {
  const { error } = useProvided();
  const key =
    statement === undefined ? undefined : `subscription ${valueKey([statement, args, options])}`;
  const state = useShared(key, subscribing(statement ?? "", args, options), WAITING);
  return error === undefined ? state : { isReady: false, error };
}

function subscribing(
  statement: string,
  args: Arguments | undefined,
  options: SubscriptionOptions | undefined,
): Start<SubscriptionState> {
  return (peer, set) => {
    let last: unknown;
    const fail = (error: unknown): void => {
      if (error !== last) set({ isReady: false, error: error as Error });
      last = error;
    };
    try {
      const subscription = peer.sync.registerSubscription(statement, args, options);
      const wait = (): void => {
        subscription.whenReady().then(
          () => set(READY),
          (error: unknown) => {
            if (!subscription.isCancelled) fail(error);
          },
        );
      };
      wait();
      // The server may refuse the peer, and admit it later.
      const remove = peer.on("status", () => {
        if (last !== undefined || subscription.status === "refused") wait();
      });
      return () => {
        remove();
        subscription.cancel();
      };
    } catch (error) {
      fail(error);
      return () => {};
    }
  };
}
