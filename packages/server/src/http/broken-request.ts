/**
 * What is told to a client whose request could not be read as HTTP, or that wanted to go on with
 * another protocol: such a request never becomes one, so its answer is written to the connection as
 * text.
 */

import { maxHeaderSize, STATUS_CODES } from "node:http";
import { stringifyJson } from "@bigpeer/protocol";
import { HEADERS_MS_MAX } from "../limits.ts";
import { Refusal } from "./refusal.ts";

/** An error of Node's reader of HTTP, or of the connection under it. */
export interface ReadError extends Error {
  readonly code?: string;
  /** The reader's own words. */
  readonly reason?: string;
}

/** The whole answer; undefined when there is nobody to tell it to. */
export function brokenRequestAnswer(error: ReadError, requestId: string): string | undefined {
  const found = describe(error);
  if (found === undefined) return undefined;
  const [status, message] = found;
  return lastAnswer(new Refusal(status, message), requestId);
}

/** The text of a whole answer, behind which the connection ends. */
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
