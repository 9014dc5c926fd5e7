/**
 * HTTP connection: the state of one connection of a listener.
 */

import type { OwnedConnection } from "./connection-owners.ts";
import type { Exchange } from "./exchange.ts";
import type { HeldRequests } from "./pipelining.ts";

export interface HttpConnection extends OwnedConnection {
  /** Request in progress. */
  exchange: Exchange | undefined;
  /** Pipelined requests behind the one in progress. */
  held: HeldRequests | undefined;
}
