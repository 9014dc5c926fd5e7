/** Clients that take a long answer slowly, by a clock of the test. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { limitSlowReader, SEND_LOOK_MS } from "../../src/http/slow-reader.ts";
import { SEND_RATE_MIN } from "../../src/limits/limits.ts";
import { MinimumRate } from "../../src/limits/minimum-rate.ts";

test("[H47] the minimum rate holds if enough bytes pass in each window, however they are spread", () => {
  const rate = new MinimumRate({ windowMs: 100, bytes: 1_000 });
  expect([rate.note(99, 0), rate.note(1, 1_000)]).toEqual([true, true]);
  // Time in which nobody was waited for does not count.
  for (let i = 0; i < 50; i++) expect(rate.note(0, 1)).toBe(true);
  expect([rate.note(60, 100), rate.note(60, 100)]).toEqual([true, false]);
});

/** A response of 20 MB whose client reads nothing that it is not told to. */
async function respond(): Promise<{ response: ServerResponse; cuts: number[]; read: () => void }> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const cuts: number[] = [];
  const server = createServer();
  const responding = new Promise<ServerResponse>((resolve) => {
    server.on("request", (_request, response) => {
      limitSlowReader(response, () => cuts.push(1));
      response.end(Buffer.alloc(20_000_000));
      resolve(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  client.on("error", () => {});
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { response: await responding, cuts, read: () => void client.resume() };
}

test("[H47] a client that reads hardly anything of a long answer is disconnected", async () => {
  const { response, cuts } = await respond();
  await vi.waitFor(() => expect(response.socket?.writableLength).toBeGreaterThan(0));
  vi.advanceTimersByTime(SEND_RATE_MIN.windowMs + SEND_LOOK_MS);
  vi.advanceTimersByTime(SEND_RATE_MIN.windowMs);
  expect([response.destroyed, cuts.length > 0]).toEqual([true, true]);
});

test("[H47] a client that reads it is not", async () => {
  const { response, cuts, read } = await respond();
  read();
  await vi.waitFor(() => expect(response.writableFinished).toBe(true));
  vi.advanceTimersByTime(10 * SEND_RATE_MIN.windowMs);
  expect(cuts).toEqual([]);
});
