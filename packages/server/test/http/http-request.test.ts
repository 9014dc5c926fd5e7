/**
 * How a body is read: what its bounds are, and what is left behind when one is passed.
 */

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { bodySizeMaxOf, readBody } from "../../src/http/http-request.ts";
import { ByteBudget } from "../../src/limits/byte-budget.ts";
import { BODY_SIZE_MAX } from "../../src/limits/limits.ts";

test("[H5] a body has its announced size, at most the limit in chunks, and none without either", () => {
  expect(bodySizeMaxOf({ headers: { "content-length": "17" } })).toBe(17);
  expect(bodySizeMaxOf({ headers: { "transfer-encoding": "chunked" } })).toBe(BODY_SIZE_MAX);
  expect(bodySizeMaxOf({ headers: {} })).toBe(0);
});

test("[H5] a body that does not arrive in time is 408", async () => {
  const request = new IncomingMessage(new Socket());
  request.push("half of it");
  await expect(readBody(request, { timeMsMax: 1 })).rejects.toMatchObject({
    status: 408,
    message: "expected the whole body within 1 ms",
  });
  expect(request.listenerCount("data")).toBe(0);
});

test("a body takes memory as it arrives, and its reader gives it back", async () => {
  const room = new ByteBudget(100);
  const request = new IncomingMessage(new Socket());
  const body = readBody(request, { room });
  for (const [text, taken] of [
    ["one", 3],
    ["two", 6],
  ] as const) {
    request.push(text);
    await vi.waitFor(() => expect(room.size).toBe(taken));
  }
  request.push(null);
  expect(Buffer.from(await body).toString()).toBe("onetwo");
  expect(room.size).toBe(6);
});

test("[H5] a body without memory left is 503, and takes no more", async () => {
  const room = new ByteBudget(100);
  room.take(95);
  const request = new IncomingMessage(new Socket());
  const body = readBody(request, { room });
  request.push("four");
  await vi.waitFor(() => expect(room.size).toBe(99));
  request.push("more");
  await expect(body).rejects.toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  expect(room.size).toBe(95);
});

test.each([
  ["that does not come in time", { timeMsMax: 1 }, () => vi.advanceTimersByTime(1), 408],
  ["whose client leaves", {}, (request: IncomingMessage) => request.destroy(), 400],
  [
    "that is too large",
    {},
    (request: IncomingMessage) => request.push(Buffer.alloc(BODY_SIZE_MAX)),
    413,
  ],
] as const)("a body %s gives its memory back", async (_, options, fail, status) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const room = new ByteBudget(2 * BODY_SIZE_MAX);
  const request = new IncomingMessage(new Socket());
  const body = readBody(request, { ...options, room });
  request.push("half of it");
  while (room.size < 10) await setImmediate();
  fail(request);
  await expect(body).rejects.toMatchObject({ status });
  expect(room.size).toBe(0);
});

test("a body that arrives byte by byte is assembled in order", async () => {
  const request = new IncomingMessage(new Socket());
  const body = readBody(request);
  const bytes = Uint8Array.from({ length: 5_000 }, (_, i) => i % 251);
  for (const byte of bytes) request.push(Buffer.of(byte));
  request.push(null);
  expect(new Uint8Array(await body)).toEqual(bytes);
});
