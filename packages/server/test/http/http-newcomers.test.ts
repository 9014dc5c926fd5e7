/** Connections of a listener without a credential: how many there may be, and who stays. */

import { expect, test, vi } from "vitest";
import { connectTo, HEAD, listen } from "../support/http-listener.ts";

const NEWCOMERS = { max: 10, perAddressMax: 2 };

test("[H45] an address has a limited number of connections without an accepted credential", async () => {
  const met: string[] = [];
  const decide = async (): Promise<number> => 401;
  const onRefused = (bound: string): void => void met.push(bound);
  const server = await listen(decide, { newcomers: NEWCOMERS, onRefused });
  const first = await connectTo(server);
  const second = await connectTo(server);
  const third = await connectTo(server);
  await vi.waitFor(() => expect(third.socket.closed).toBe(true));
  second.socket.write(`${HEAD}\r\n`);
  await vi.waitFor(() => expect(second.received()).toContain("HTTP/1.1 401"));
  expect(met).toEqual(["newcomers"]);
  first.socket.destroy();
  await vi.waitFor(async () => {
    const next = await connectTo(server);
    next.socket.write(`${HEAD}\r\n`);
    await vi.waitFor(() => expect(next.received()).toContain("HTTP/1.1 401"), 200);
  });
});

test("[H45] connections with an accepted credential do not count, and have a share of their own", async () => {
  const server = await listen(
    async (request) => {
      request.identify("shop key");
      return 200;
    },
    { newcomers: NEWCOMERS },
  );
  for (let i = 0; i < 8; i++) {
    const { socket, received } = await connectTo(server);
    socket.write(`${HEAD}\r\n`);
    await vi.waitFor(() => expect(received()).toContain("HTTP/1.1 200"));
  }
});
