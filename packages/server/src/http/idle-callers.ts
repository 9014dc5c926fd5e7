/**
 * Idle callers: connections of a listener on which nothing but HTTP was spoken so far, where there is
 * hardly a reason to speak HTTP. Each holds a descriptor for as long as its request may take. So there
 * is a bound for one address, beyond which it gets no more, and one for all, beyond which the one gives
 * way that has taken longest: who knows what to say has said it by then.
 */

import type { Socket } from "node:net";
import { networkOf } from "../failed-credentials.ts";

export interface IdleBounds {
  readonly max: number;
  readonly perAddressMax: number;
}

interface Caller {
  readonly socket: Socket;
  readonly network: string;
}

export class IdleCallers {
  readonly #bounds: IdleBounds;
  /** By their other end, in the order in which they came. */
  readonly #callers = new Map<string, Caller>();

  constructor(bounds: IdleBounds) {
    this.#bounds = bounds;
  }

  /** To be called with each connection as it was accepted, encrypted or not. */
  add(end: string, socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? "");
    if (this.#callers.get(end)?.socket === socket) return;
    const { max, perAddressMax } = this.#bounds;
    if (this.#countOf(network) >= perAddressMax) {
      socket.destroy();
      return;
    }
    if (this.#callers.size >= max) this.#cutFirst();
    this.#callers.set(end, { socket, network });
    socket.once("close", () => {
      if (this.#callers.get(end)?.socket === socket) this.#callers.delete(end);
    });
  }

  /** Something else is spoken there now. */
  remove(end: string): void {
    this.#callers.delete(end);
  }

  #countOf(network: string): number {
    let count = 0;
    for (const caller of this.#callers.values()) if (caller.network === network) count++;
    return count;
  }

  #cutFirst(): void {
    for (const [end, { socket }] of this.#callers) {
      this.#callers.delete(end);
      socket.destroy();
      return;
    }
  }
}
