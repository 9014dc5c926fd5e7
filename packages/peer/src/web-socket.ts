/**
 * WebSocket: the connection of a peer to its server.
 */

import type { Channel, DialHandle, DialHandlers } from "@bigpeer/engine";
import { SYNC_MESSAGE_BYTES_MAX } from "@bigpeer/protocol";
import { WebSocket } from "ws";

const HANDSHAKE_MS_MAX = 10_000;

/** A server that does not answer the end of a connection is not waited for. */
const CLOSE_MS_MAX = 1_000;

/** Begins a connection. */
export function dialWebSocket(url: string, handlers: DialHandlers): DialHandle {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: SYNC_MESSAGE_BYTES_MAX,
    handshakeTimeout: HANDSHAKE_MS_MAX,
    skipUTF8Validation: true,
  });
  socket.binaryType = "nodebuffer";
  // What was noticed first: the rest follows from it.
  let reason: string | undefined;
  let closing: NodeJS.Timeout | undefined;
  const close = (): void => {
    if (closing !== undefined) return;
    closing = setTimeout(() => socket.terminate(), CLOSE_MS_MAX);
    socket.close(1000);
  };
  const channel: Channel = {
    send: (bytes) => {
      // What cannot be sent ends the connection, which is told of.
      if (socket.readyState === WebSocket.OPEN) socket.send(bytes, ignore);
    },
    get queuedBytes() {
      return socket.bufferedAmount;
    },
    close,
  };
  socket.on("open", () => handlers.opened(channel));
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) handlers.message(new Uint8Array(data.buffer, data.byteOffset, data.length));
    else {
      reason ??= "expected a binary frame, found text";
      socket.terminate();
    }
  });
  socket.on("unexpected-response", (_request, { statusCode }) => {
    reason ??= wordsOfStatus(statusCode, url);
    socket.terminate();
  });
  // It is followed by `close`.
  socket.on("error", (error) => {
    reason ??= wordsOf(error, url);
  });
  socket.on("close", () => {
    clearTimeout(closing);
    handlers.closed(reason ?? "the connection was lost");
  });
  return { close, pause: () => socket.pause(), resume: () => socket.resume() };
}

/** What asks for an upgrade after we did was not told so: something in between left it out. */
function wordsOfStatus(status: number | undefined, url: string): string {
  const reason = `expected a Big Peer at ${url}, found HTTP status ${status}`;
  if (status !== UPGRADE_REQUIRED) return reason;
  return `${reason}; does a proxy in between pass on WebSockets (the headers Upgrade and Connection)?`;
}

const UPGRADE_REQUIRED = 426;

function wordsOf(error: NodeJS.ErrnoException, url: string): string {
  // The text of the TLS library says where in its source that was noticed.
  if (error.code === "EPROTO") return `expected TLS at ${url}, found something else`;
  return error.message === "" ? error.name : error.message;
}

function ignore(): void {}
