/**
 * Events of a peer, on all hosts.
 */

import type { RefusedUpload } from "@bigpeer/engine/peer";
import type { RemoteRun } from "./remote.ts";
import type { SyncStatus } from "./sync.ts";

/**
 * The events of a peer by name, with what a listener of `peer.on` receives.
 *
 * @example
 * peer.on("status", ({ state, pendingCount }) => console.log(state, pendingCount));
 * peer.on("refused", ({ reason }) => console.error("refused:", reason));
 * peer.on("error", (error) => console.error(error.message));
 */
export interface PeerEvents {
  /** The new status, each time the connection or the number of waiting writes changes. */
  readonly status: SyncStatus;
  /** A write that the server refused. The documents no longer show its effect. */
  readonly refused: RefusedUpload;
  /** A remote statement that the peer ran or refused. */
  readonly remote: RemoteRun;
  /**
   * An error that no call reports: a callback, an observed query or a subscription failed, or the
   * server refused the credential. Without a listener, Node prints it as a process warning, and a
   * browser writes it to its console.
   */
  readonly error: Error;
  /** A text for the app or its operator, for example that the folder is a copy. */
  readonly warning: string;
}

export const EVENT_NAMES: readonly (keyof PeerEvents)[] = [
  "status",
  "refused",
  "remote",
  "error",
  "warning",
];
