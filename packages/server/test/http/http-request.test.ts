/**
 * How a body is read: what its bounds are, and what is left behind when one is passed.
 */

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { bodySizeMaxOf, readBody } from "../../src/http/http-request.ts";
import { BODY_SIZE_MAX } from "../../src/limits.ts";

test("[H5] a body has its announced size, at most the bound in chunks, and none without either", () => {
  expect(bodySizeMaxOf({ headers: { "content-length": "17" } })).toBe(17);
  expect(bodySizeMaxOf({ headers: { "transfer-encoding": "chunked" } })).toBe(BODY_SIZE_MAX);
  expect(bodySizeMaxOf({ headers: {} })).toBe(0);
});

test("[H5] a body that does not come in time is 408", async () => {
  const request = new IncomingMessage(new Socket());
  request.push("half of it");
  await expect(readBody(request, { timeMsMax: 1 })).rejects.toMatchObject({
    status: 408,
    message: "expected the whole body within 1 ms",
  });
  expect(request.listenerCount("data")).toBe(0);
});
