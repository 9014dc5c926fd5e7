/**
 * Content that does not change: compressed once, with the status and the caching that it is given.
 */

import { expect, test } from "vitest";
import type { Answer } from "../../src/http/answer.ts";
import { FixedContent } from "../../src/http/fixed-content.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

function ask(content: FixedContent, headers: Record<string, string>, status?: number) {
  return content.answer(handMadeRequest({ headers }), status);
}

function bytesOf({ body }: Answer): Uint8Array {
  if (body.kind !== "bytes") throw new Error("expected bytes");
  return body.bytes;
}

test("a short page is compressed once, not for each who asks", async () => {
  const bytes = Buffer.from("the same words again ".repeat(100));
  const content = new FixedContent(bytes, { "content-type": "text/plain" });
  const first = bytesOf(await ask(content, { "accept-encoding": "gzip" }));
  expect(first.length).toBeLessThan(bytes.length);
  expect(bytesOf(await ask(content, { "accept-encoding": "gzip" }))).toBe(first);
});

test("content that is compressed already is sent as it is", async () => {
  const bytes = Buffer.from("a font ".repeat(1000));
  const content = new FixedContent(bytes, { "content-type": "font/woff2" });
  const answer = await ask(content, { "accept-encoding": "br" });
  expect(bytesOf(answer)).toBe(bytes);
  expect(answer.headers).not.toHaveProperty("content-encoding");
});

test("clients revalidate, unless the headers say otherwise", async () => {
  const bytes = Buffer.from("a");
  const content = new FixedContent(bytes, { "content-type": "text/plain" });
  expect((await ask(content, {})).headers["cache-control"]).toBe("no-cache");
  const kept = new FixedContent(bytes, {
    "content-type": "text/css",
    "cache-control": "immutable",
  });
  expect((await ask(kept, {})).headers["cache-control"]).toBe("immutable");
});

test("an answer that is no 200 is sent to those who know it, too", async () => {
  const content = new FixedContent(Buffer.from("a"), { "content-type": "text/html" });
  expect((await ask(content, { "if-none-match": "*" })).status).toBe(304);
  const absent = await ask(content, { "if-none-match": "*" }, 404);
  expect([absent.status, Buffer.from(bytesOf(absent)).toString()]).toEqual([404, "a"]);
});
