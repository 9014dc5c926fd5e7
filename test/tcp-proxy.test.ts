/**
 * The proxy between the processes of a cluster under test: what it forwards, and how it breaks.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { TcpProxy } from "../prove/cluster/tcp-proxy.mjs";

const HOST = "127.0.0.1";

/** A server that sends back what it receives, and a proxy before it. */
async function openProxy(): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  await once(server.listen(0, HOST), "listening");
  const { port } = server.address() as AddressInfo;
  const proxy = await TcpProxy.open(() => port);
  onTestFinished(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return proxy;
}

interface Client {
  readonly socket: Socket;
  /** Everything that has come back. */
  readonly received: () => string;
}

/** Whether it was reset. */
function whenClosed({ socket }: Client): Promise<boolean> {
  return new Promise((resolve) => socket.once("close", resolve));
}

function connectTo({ port }: TcpProxy): Client {
  const socket = connect(port, HOST);
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  return { socket, received: () => text };
}

test("it forwards both ways, and the end of a connection after its last bytes", async () => {
  const client = connectTo(await openProxy());
  const large = "x".repeat(3_000_000);
  client.socket.end(large);
  expect(await whenClosed(client)).toBe(false);
  expect(client.received().length).toBe(large.length);
});

test("cut: connections are reset and new ones refused, until it resumes", async () => {
  const proxy = await openProxy();
  const before = connectTo(proxy);
  before.socket.write("a");
  await vi.waitFor(() => expect(before.received()).toBe("a"));
  const isReset = whenClosed(before);
  proxy.cut();
  expect(await isReset).toBe(true);
  expect(await whenClosed(connectTo(proxy))).toBe(true);
  proxy.resume();
  const after = connectTo(proxy);
  after.socket.write("b");
  await vi.waitFor(() => expect(after.received()).toBe("b"));
});

test("stalled: nothing arrives and no one learns it, until all of it arrives", async () => {
  const proxy = await openProxy();
  const before = connectTo(proxy);
  before.socket.write("a");
  await vi.waitFor(() => expect(before.received()).toBe("a"));
  proxy.stall();
  const during = connectTo(proxy);
  before.socket.write("b");
  during.socket.write("c");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([before.received(), during.received()]).toEqual(["a", ""]);
  expect([before.socket.destroyed, during.socket.readyState]).toEqual([false, "open"]);
  proxy.resume();
  await vi.waitFor(() => expect([before.received(), during.received()]).toEqual(["ab", "c"]));
});
