/**
 * Bus: plain publish and subscribe among the nodes of a cluster. Messages may be lost; nothing that
 * must be right depends on them.
 */

import type { Value } from "@bigpeer/protocol";

export interface Bus {
  /** Never throws. */
  publish(topic: string, value: Value): void;
  /** Own messages come back too. Returns a function that ends the subscription. */
  subscribe(topic: string, listener: (value: Value) => void): () => void;
}
