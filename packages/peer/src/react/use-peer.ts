/**
 * usePeer: the peer itself, for what has no hook of its own.
 */

import { useProvided } from "./peer-context.ts";
import type { ProvidedPeer } from "./provided-peer.ts";

/**
 * The peer of the provider above.
 *
 * @returns The peer; undefined until it is open. Name the type of the host for what only that has:
 * `usePeer<Peer>()`.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows its host.
export function usePeer<T extends ProvidedPeer = ProvidedPeer>(): T | undefined {
  return useProvided().values?.peer as T | undefined;
}
