/**
 * Native socket: opens the connection of a peer with the WebSocket of a browser.
 *
 * A browser does not say why an attempt failed, has no means to stop reading, and ends a connection
 * only with the consent of the server. So a close that the server does not answer is reported here.
 */

import type { Channel } from "@bigpeer/engine";
import type { DialHandle, DialHandlers } from "@bigpeer/engine/peer";

/** A frame that has arrived. */
export interface FrameEvent {
  readonly data: unknown;
}

/** The parts of the WebSocket of a browser that are used. */
export interface NativeSocket {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  addEventListener(name: "open" | "close", listener: () => void): void;
  addEventListener(name: "message", listener: (event: FrameEvent) => void): void;
  send(bytes: Uint8Array): void;
  close(code?: number): void;
}

const OPEN = 1;

const HANDSHAKE_MS_MAX = 10_000;

/** How long the server has to answer the close of a connection. */
const CLOSE_MS_MAX = 1_000;

export function dialNative(socket: NativeSocket, url: string, handlers: DialHandlers): DialHandle {
  socket.binaryType = "arraybuffer";
  let reason: string | undefined = `failed to connect to ${url}`;
  let isOver = false;
  let closing: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(handshake);
    clearTimeout(closing);
    handlers.closed(reason ?? "the connection was lost");
  };
  const close = (): void => {
    if (isOver || closing !== undefined) return;
    closing = setTimeout(end, CLOSE_MS_MAX);
    socket.close(1000);
  };
  const handshake = setTimeout(() => {
    reason = `no answer from ${url} within ${HANDSHAKE_MS_MAX / 1000} s`;
    close();
  }, HANDSHAKE_MS_MAX);
  const channel: Channel = {
    send: (bytes) => {
      if (socket.readyState === OPEN) socket.send(bytes);
    },
    get queuedBytes() {
      return socket.bufferedAmount;
    },
    close,
  };
  socket.addEventListener("open", () => {
    clearTimeout(handshake);
    reason = undefined;
    if (!isOver && closing === undefined) handlers.opened(channel);
  });
  socket.addEventListener("message", ({ data }) => {
    if (isOver || reason !== undefined) return;
    if (data instanceof ArrayBuffer) return handlers.message(new Uint8Array(data));
    reason = "expected a binary frame, found text";
    close();
  });
  socket.addEventListener("close", end);
  return { close };
}
