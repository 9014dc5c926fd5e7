/**
 * Provided peer: what the peer of Node and that of browsers have in common, for hooks that work with
 * both.
 */

import type { AuthStatus } from "../auth.ts";
import type { Peer } from "../peer.ts";
import type { BrowserConnection, BrowserDocuments } from "../web/page/page-interface.ts";

/**
 * An open peer, of Node or of a browser.
 *
 * @example
 * function Device() {
 *   const peer: ProvidedPeer | undefined = usePeer();
 *   return createElement("p", null, peer?.presence.graph.localPeer.deviceName);
 * }
 */
export interface ProvidedPeer
  extends Pick<Peer, "appId" | "presence" | "attachments" | "on" | "isClosed" | "close" | "erase"> {
  /** The documents: statements, observers and transactions. */
  readonly store: Omit<BrowserDocuments, "refused">;
  /** The connection to the server, and subscriptions. */
  readonly sync: BrowserConnection;
  /** The authentication state, and logout. */
  readonly auth: { readonly status: AuthStatus; logout(): Promise<void> };
}
