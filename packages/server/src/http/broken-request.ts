/**
 * Raw responses: HTTP responses as text, for bytes that Node cannot parse as HTTP and for refused
 * upgrades. Node has no response object for these, so the text is written to the connection.
 */

import { maxHeaderSize, STATUS_CODES } from "node:http";
import { stringifyJson } from "@bigpeer/protocol";
import { HEADERS_MS_MAX } from "../limits/limits.ts";
import { Refusal } from "./refusal.ts";

/** Error of Node's HTTP parser, or of the connection under it. */
export interface ReadError extends Error {
  readonly code?: string;
  /** Description by the parser. */
  readonly reason?: string;
}

/** Returns the whole response; undefined when the connection itself failed. */
export function brokenRequestAnswer(error: ReadError, requestId: string): string | undefined {
  const found = describe(error);
  if (found === undefined) return undefined;
  const [status, message] = found;
  return lastAnswer(new Refusal(status, message), requestId);
}

/** Text of a whole response after which the connection closes. */
export function lastAnswer({ status, message, headers }: Refusal, requestId: string): string {
  const body = `${stringifyJson({ message })}\n`;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "cache-control: no-store",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${requestId}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

function describe({ code = "", reason }: ReadError): [status: number, message: string] | undefined {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, `expected all headers within ${HEADERS_MS_MAX} ms`];
    case "HPE_HEADER_OVERFLOW":
      return [431, `expected headers of at most ${maxHeaderSize} bytes`];
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "expected chunks without long extensions"];
    default:
      if (!code.startsWith("HPE_")) return undefined;
      return [400, `expected a request of HTTP/1.1: ${reason ?? "it cannot be read"}`];
  }
}
