/**
 * WebSocket: opens the connection of a peer to its server, and reports why an attempt failed.
 */

import type { IncomingMessage } from "node:http";
import type { Channel } from "@bigpeer/engine";
import type { DialHandle, DialHandlers } from "@bigpeer/engine/peer";
import { SYNC_MESSAGE_BYTES_MAX } from "@bigpeer/protocol";
import { WebSocket } from "ws";
import type { ConnectionFault } from "../host/peer-host.ts";
import { faultOfAnswer, faultOfError } from "./connection-fault.ts";

const HANDSHAKE_MS_MAX = 10_000;

/** How long the server has to answer the close of a connection. */
const CLOSE_MS_MAX = 1_000;

/** How long the answer of an unknown server is read, and how much of it. */
const ANSWER_MS_MAX = 1_000;
const ANSWER_SIZE_MAX = 4_096;

/** Opens a connection. `onLasting` receives a fault that a retry does not cure. */
export function dialWebSocket(
  url: string,
  handlers: DialHandlers,
  onLasting: (reason: string) => void = ignore,
): DialHandle {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: SYNC_MESSAGE_BYTES_MAX,
    handshakeTimeout: HANDSHAKE_MS_MAX,
    skipUTF8Validation: true,
  });
  socket.binaryType = "nodebuffer";
  // The first fault: the others follow from it.
  let reason: string | undefined;
  let closing: NodeJS.Timeout | undefined;
  const close = (): void => {
    if (closing !== undefined) return;
    closing = setTimeout(() => socket.terminate(), CLOSE_MS_MAX);
    socket.close(1000);
  };
  const channel: Channel = {
    send: (bytes) => {
      // A failed send ends the connection, which is reported.
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
  const note = (fault: ConnectionFault): void => {
    if (reason !== undefined) return;
    reason = fault.reason;
    if (fault.isLasting && closing === undefined) onLasting(reason);
  };
  socket.on("unexpected-response", (_request, response) => {
    const { statusCode: status, headers } = response;
    readStart(response, (body) => {
      note(faultOfAnswer({ status, location: headers.location, body }, url));
      socket.terminate();
    });
  });
  // It is followed by `close`.
  socket.on("error", (error) => note(faultOfError(error, url)));
  socket.on("close", () => {
    clearTimeout(closing);
    handlers.closed(reason ?? "the connection was lost");
  });
  return { close, pause: () => socket.pause(), resume: () => socket.resume() };
}

/** Calls `done` once with the beginning of the body: when it is complete, long enough, or late. */
function readStart(response: IncomingMessage, done: (body: string) => void): void {
  let body = "";
  let isDone = false;
  const finish = (): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(body);
  };
  const timer = setTimeout(finish, ANSWER_MS_MAX);
  response.setEncoding("utf8").on("data", (text: string) => {
    body += text;
    if (body.length >= ANSWER_SIZE_MAX) finish();
  });
  for (const end of ["end", "close", "error"]) response.on(end, finish);
}

function ignore(): void {}
