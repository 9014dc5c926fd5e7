/**
 * Slow readers: closes the connection of a client that takes a long answer too slowly (H47).
 * Otherwise it would hold memory or an open file for days.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SEND_IDLE_MS_MAX, SEND_RATE_MIN } from "../limits/limits.ts";
import { MinimumRate } from "../limits/minimum-rate.ts";

/** How often progress is checked. */
export const SEND_LOOK_MS = 10_000;

/** Call it once, when a long answer begins. */
export function limitSlowReader(response: ServerResponse, onCut: () => void = () => {}): void {
  const { socket } = response;
  if (socket === null) return;
  const cut = (): void => {
    onCut();
    response.destroy();
  };
  response.setTimeout(SEND_IDLE_MS_MAX, cut);
  const rate = new MinimumRate(SEND_RATE_MIN);
  let taken = takenOf(socket);
  const timer = setInterval(() => {
    const before = taken;
    taken = takenOf(socket);
    // Otherwise the source is slow, not the client.
    if (socket.writableLength > 0 && !rate.note(SEND_LOOK_MS, taken - before)) cut();
  }, SEND_LOOK_MS);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}

/** Bytes that the operating system has taken: all that was written except what is buffered here. */
function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}
