/**
 * Slow readers: a client that takes a long answer byte by byte would hold its memory, or its open
 * file, for days. It is cut when it takes less than the minimum rate while something waits for it.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SEND_IDLE_MS_MAX, SEND_RATE_MIN } from "../limits.ts";
import { MinimumRate } from "./minimum-rate.ts";

/** How often it is looked at what was taken. */
export const SEND_LOOK_MS = 10_000;

/** To be called once, when a long answer begins. */
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
    // Else the source is slow, and not the client.
    if (socket.writableLength > 0 && !rate.note(SEND_LOOK_MS, taken - before)) cut();
  }, SEND_LOOK_MS);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}

/** What the host has taken for the client: all that was written but what still waits here. */
function takenOf({ bytesWritten, writableLength }: Socket): number {
  return bytesWritten - writableLength;
}
