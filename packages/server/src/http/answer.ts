/**
 * Answer: what a request gets back, first as a value and then as bytes.
 */

import { stringifyJson, type Value } from "@bigpeer/protocol";

export interface Headers {
  /** Names in lower case. */
  readonly [name: string]: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Value;
}

export interface EncodedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

export function createAnswer(status: number, body: Value, headers: Headers = {}): Answer {
  return { status, headers, body };
}

export function encodeAnswer({ status, headers, body }: Answer): EncodedAnswer {
  const bytes = Buffer.from(`${stringifyJson(body)}\n`);
  return { status, headers: { "content-type": "application/json", ...headers }, bytes };
}
