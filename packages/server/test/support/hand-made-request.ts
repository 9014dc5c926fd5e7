/**
 * A request without a connection: for tests of what is decided about one.
 */

import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { type HttpRequest, readBody } from "../../src/http/http-request.ts";

export interface HandMadeRequest extends HttpRequest {
  /** Whether somebody asked for the body. */
  wasRead: boolean;
}

export interface RequestParts {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: IncomingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** Whether the client sends the body and then waits for ever. */
  readonly isBodyOpen?: boolean;
  readonly bodySizeMax?: number;
  readonly remoteAddress?: string;
}

export function handMadeRequest(parts: RequestParts = {}): HandMadeRequest {
  const { method = "POST", target = "/", headers = {}, body = "" } = parts;
  const bytes = new Uint8Array(Buffer.from(body));
  const request: HandMadeRequest = {
    id: "request-1",
    method,
    target,
    headers,
    remoteAddress: parts.remoteAddress ?? "127.0.0.1",
    isEncrypted: false,
    fault: undefined,
    bodySizeMax: parts.bodySizeMax ?? bytes.length,
    wasRead: false,
    identify: () => true,
    onHangUp: () => () => {},
    reserveAnswer: () => true,
    readBody: (room) => {
      request.wasRead = true;
      const incoming = new IncomingMessage(new Socket());
      incoming.push(bytes);
      if (parts.isBodyOpen !== true) incoming.push(null);
      return readBody(incoming, { room });
    },
    openBody: () => {
      request.wasRead = true;
      return Readable.from([bytes]);
    },
  };
  return request;
}
