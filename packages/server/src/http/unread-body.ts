/**
 * Unread bodies: discards the rest of a request body that the server does not need.
 */

import type { IncomingMessage } from "node:http";
import { BODY_MS_MAX, LINGER_MS_MAX } from "../limits/limits.ts";

/** Discards the rest of a short body, within a time limit, so that the connection can be reused. */
export function dropUnread(request: IncomingMessage): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), BODY_MS_MAX);
  // An answered request gets no event when its client disconnects; its connection does.
  const stop = (): void => {
    clearTimeout(timer);
    request.off("close", stop);
    socket.off("close", stop);
  };
  request.once("close", stop);
  socket.once("close", stop);
  drain(request);
}

/** Discards input until the client has sent all, has disconnected, or its time is up. */
export function skipRest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (request.closed) return resolve();
    const timer = setTimeout(resolve, LINGER_MS_MAX);
    request.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    drain(request);
  });
}

function drain(request: IncomingMessage): void {
  request
    .on("error", () => {})
    .unpipe()
    .resume();
}
