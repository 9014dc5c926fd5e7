/**
 * Instance: what the parts of a Ditto instance need of it. They take its type as a parameter, and so
 * do not import it (parts.ts).
 */

import type { DittoConfig } from "./ditto-config.ts";
import type { OpeningPeer } from "./opening-peer.ts";

/** The server of an instance, and the app there. */
export interface DittoServer {
  readonly url: string;
  readonly appId: string;
}

export interface Instance {
  readonly opening: OpeningPeer;
  readonly config: Readonly<DittoConfig>;
  readonly server: DittoServer;
  readonly deviceName: string;
  readonly absolutePersistenceDirectory: string;
  readonly auth: { readonly expirationHandler: unknown };
  readonly sync: { readonly isActive: boolean; stop(): void };
  /** Throws if it is closed. */
  checkOpen(): void;
}
