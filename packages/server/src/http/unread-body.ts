/**
 * Unread bodies: what a client still sends of a body that nobody wants.
 */

import type { IncomingMessage } from "node:http";
import { BODY_MS_MAX, LINGER_MS_MAX } from "../limits.ts";

/** Lets the rest of a short body pass, so that the connection can be used again; not for ever. */
export function dropUnread(request: IncomingMessage): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), BODY_MS_MAX);
  // A request that was answered is not told when its client leaves; its connection is.
  const stop = (): void => {
    clearTimeout(timer);
    request.off("close", stop);
    socket.off("close", stop);
  };
  request.once("close", stop);
  socket.once("close", stop);
  drain(request);
}

/** Reads and forgets until the client has sent all, has left, or has had enough time. */
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
