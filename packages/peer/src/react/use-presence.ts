/**
 * usePresence: which other peers are connected.
 */

import type { LocalPeerPresence, PresenceGraph, RemotePeerPresence } from "../presence.ts";
import { keepRows } from "./kept-rows.ts";
import { useShared } from "./peer-context.ts";
import type { Start } from "./shared-values.ts";
import { isSameValue } from "./value-key.ts";

/** The connected peers of the app. */
export interface PresenceState {
  /** This peer; undefined until it is open. */
  readonly localPeer: LocalPeerPresence | undefined;
  /**
   * The peers that connected first, at most 1,000; none without a connection. A peer that did not
   * change is the same object as before.
   */
  readonly remotePeers: readonly RemotePeerPresence[];
  /** Number of all connected peers, listed or not. */
  readonly remotePeerCount: number;
}

const ALONE: PresenceState = { localPeer: undefined, remotePeers: [], remotePeerCount: 0 };

/** Renders the component with the connected peers, and again each time they change. */
export function usePresence(): PresenceState {
  return useShared("presence", follow, ALONE);
}

const follow: Start<PresenceState> = ({ presence }, set) => {
  let last = ALONE;
  const observer = presence.observe(
    ({ localPeer, remotePeers, remotePeerCount }: PresenceGraph) => {
      const kept = keepRows(last.remotePeers, remotePeers);
      const next = { localPeer, remotePeers: kept, remotePeerCount };
      if (!isSameValue(next, last)) last = next;
      set(last);
    },
  );
  return () => observer.stop();
};
