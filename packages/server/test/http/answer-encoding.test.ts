/**
 * Answers as they go over the wire: form, coding, and the headers that tell them.
 */

import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { decodeCbor, stringifyJson, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { contentAnswer, createAnswer, type EncodedAnswer } from "../../src/http/answer.ts";
import { encodeAnswer } from "../../src/http/answer-encoding.ts";
import { bytesOf, textOf } from "../support/sent-content.ts";

function encode(
  value: Value,
  headers: IncomingHttpHeaders,
  isJsonOnly = false,
): EncodedAnswer | Promise<EncodedAnswer> {
  return encodeAnswer(createAnswer(200, value), { headers, isJsonOnly });
}

const LONG = { text: "long ".repeat(1000) };

test("a small answer is encoded synchronously, with its Vary header", () => {
  const small = encode({ a: 1 }, { "accept-encoding": "br, gzip" }) as EncodedAnswer;
  expect({ ...small, content: textOf(small.content) }).toEqual({
    status: 200,
    headers: { "content-type": "application/json", vary: "accept, accept-encoding" },
    content: '{"a":1}\n',
  });
});

test("a small answer in JSON stays a string, whose size is that of its bytes", () => {
  const { content } = encode({ a: "ü€😀" }, {}) as EncodedAnswer;
  expect(content).toEqual({ kind: "text", text: '{"a":"ü€😀"}\n', size: 18 });
});

test("a client that prefers CBOR gets it, unless the answer is JSON only", async () => {
  const cbor = await encode({ a: 1 }, { accept: "application/cbor" });
  expect(cbor.headers).toEqual({
    "content-type": "application/cbor",
    vary: "accept, accept-encoding",
  });
  expect(decodeCbor(bytesOf(cbor.content))).toEqual({ a: 1 });
  const json = await encode({ a: 1 }, { accept: "application/cbor" }, true);
  expect(json.headers).toEqual({ "content-type": "application/json", vary: "accept-encoding" });
  expect(textOf(json.content)).toBe('{"a":1}\n');
});

test("headers of the answer itself win, and its Vary is kept", async () => {
  const headers = { "content-type": "application/problem+json", vary: "origin", etag: "x" };
  const encoded = await encodeAnswer(createAnswer(200, {}, headers), {
    headers: {},
    isJsonOnly: true,
  });
  expect(encoded.headers).toEqual({ ...headers, vary: "origin, accept-encoding" });
});

test.each([
  ["br", brotliDecompressSync],
  ["gzip", gunzipSync],
] as const)(
  "a long answer is compressed with %s for a client that accepts it",
  async (coding, decompress) => {
    const { headers, content } = await encode(LONG, { "accept-encoding": coding });
    expect(headers).toEqual({
      "content-type": "application/json",
      vary: "accept, accept-encoding",
      "content-encoding": coding,
    });
    expect(bytesOf(content).length).toBeLessThan(500);
    expect(decompress(bytesOf(content)).toString()).toBe(`${stringifyJson(LONG)}\n`);
  },
);

test("CBOR is compressed as well", async () => {
  const asked = { accept: "application/cbor", "accept-encoding": "gzip" };
  const { headers, content } = await encode(LONG, asked);
  expect(headers["content-encoding"]).toBe("gzip");
  expect(decodeCbor(new Uint8Array(gunzipSync(bytesOf(content))))).toEqual(LONG);
});

test("a long answer in pieces is compressed too", async () => {
  const items = Array.from({ length: 10_000 }, (_, i) => ({ i }));
  const { headers, content } = await encode({ items }, { "accept-encoding": "br" });
  expect(headers["content-encoding"]).toBe("br");
  const text = brotliDecompressSync(bytesOf(content)).toString();
  expect(text).toBe(`${stringifyJson({ items })}\n`);
});

test("a client that accepts no coding gets none", async () => {
  for (const asked of [{}, { "accept-encoding": "identity" }, { "accept-encoding": "br;q=0" }]) {
    const { headers, content } = await encode(LONG, asked);
    expect(headers["content-encoding"]).toBeUndefined();
    expect(textOf(content)).toBe(`${stringifyJson(LONG)}\n`);
  }
});

const GZIP = { headers: { "accept-encoding": "gzip" }, isJsonOnly: false };

async function headersOfBytes(size: number, headers: Record<string, string>): Promise<object> {
  const content = { kind: "bytes", bytes: new Uint8Array(size) } as const;
  return (await encodeAnswer(contentAnswer(200, content, headers), GZIP)).headers;
}

test("bytes of a textual type are compressed from 1024 on, others are not", async () => {
  const html = { "content-type": "text/html; charset=utf-8" };
  expect(await headersOfBytes(1023, html)).toEqual(html);
  expect(await headersOfBytes(1024, html)).toEqual({
    ...html,
    vary: "accept-encoding",
    "content-encoding": "gzip",
  });
  const png = { "content-type": "image/png" };
  expect(await headersOfBytes(5000, png)).toEqual(png);
});

test("bytes that are already encoded, or a part of a whole, are not compressed", async () => {
  const type = { "content-type": "text/css" };
  for (const own of [{ "content-encoding": "br" }, { "content-range": "bytes 0-4999/9000" }]) {
    expect(await headersOfBytes(5000, { ...type, ...own })).toEqual({
      ...type,
      ...own,
      vary: "accept-encoding",
    });
  }
});

test("the ETag of compressed bytes is weak", async () => {
  const type = { "content-type": "text/css" };
  expect(await headersOfBytes(5000, { ...type, etag: '"a"' })).toMatchObject({ etag: 'W/"a"' });
  expect(await headersOfBytes(5000, { ...type, etag: 'W/"a"' })).toMatchObject({ etag: 'W/"a"' });
});

test("a stream is not compressed", async () => {
  const content = { kind: "stream", size: 5000, open: () => Readable.from([]) } as const;
  const headers = { "content-type": "text/plain" };
  expect(await encodeAnswer(contentAnswer(206, content, headers), GZIP)).toEqual({
    status: 206,
    headers,
    content,
  });
});
