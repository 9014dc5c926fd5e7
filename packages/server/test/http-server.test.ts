import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { answerRequest, type Health, type HttpServer, listenHttp } from "../src/http-server.ts";

const log = (): void => {};

async function listen(health: () => Health = () => "ready"): Promise<HttpServer> {
  const server = await listenHttp({ host: "127.0.0.1", port: 0, health, log });
  onTestFinished(() => server.close());
  return server;
}

test("live is 200 in every state, ready only when the server is", () => {
  for (const health of ["starting", "ready", "closing"] as const) {
    expect(answerRequest("GET", "/health/live", health)).toMatchObject({
      status: 200,
      body: { status: "live" },
    });
    expect(answerRequest("GET", "/health/ready", health)).toMatchObject({
      status: health === "ready" ? 200 : 503,
      body: { status: health },
    });
  }
});

test("a query does not change the path", () => {
  expect(answerRequest("GET", "/health/ready?verbose=1", "ready").status).toBe(200);
});

test.each([
  "/",
  "/health",
  "/health/ready/",
  "/health/readyx",
  "//health/ready",
  "/a?/health/live",
])("%s is 404 with a message", (target) => {
  const { status, body } = answerRequest("GET", target, "ready");
  expect(status).toBe(404);
  expect(body).toEqual({ message: `there is nothing at ${target.split("?")[0]}` });
});

test.each(["POST", "PUT", "DELETE", "OPTIONS"])(
  "%s on health is 405 and says what is allowed",
  (method) => {
    expect(answerRequest(method, "/health/live", "ready")).toEqual({
      status: 405,
      headers: { allow: "GET, HEAD" },
      body: { message: `expected GET or HEAD on /health/live, found ${method}` },
    });
  },
);

test("over the wire: JSON with its length, and HEAD without a body", async () => {
  const { url } = await listen();
  const response = await fetch(`${url}/health/ready`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ status: "ready" });
  const head = await fetch(`${url}/health/ready`, { method: "HEAD" });
  expect(head.status).toBe(200);
  expect(head.headers.get("content-length")).toBe("19");
  expect(await head.text()).toBe("");
  const refused = await fetch(`${url}/health/ready`, { method: "POST", body: "x".repeat(100_000) });
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, HEAD");
});

test("a port in use is told in a sentence that names it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const options = { host: "127.0.0.1", port, health: (): Health => "ready", log };
  await expect(listenHttp(options)).rejects.toMatchObject({
    code: "config.invalid",
    message: `port ${port} of 127.0.0.1 is in use by another program; choose one with --port`,
  });
});

test("an address of another machine is told in a sentence that names it", async () => {
  const options = { host: "192.0.2.1", port: 0, health: (): Health => "ready", log };
  await expect(listenHttp(options)).rejects.toMatchObject({
    code: "config.invalid",
    message: "expected an address of this machine in --host, found 192.0.2.1",
  });
});

test("IPv6 addresses stand in brackets", async () => {
  const server = await listenHttp({ host: "::1", port: 0, health: () => "ready", log });
  onTestFinished(() => server.close());
  expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
});

test("closing does not wait for connections on which nothing is asked", async () => {
  const server = await listen();
  const port = Number(new URL(server.url).port);
  const silent = connect(port, "127.0.0.1");
  await once(silent, "connect");
  await fetch(`${server.url}/health/live`);
  const ended = once(silent, "close");
  silent.resume();
  await server.close();
  await ended;
  await expect(fetch(`${server.url}/health/live`)).rejects.toThrow("fetch failed");
  await server.close();
});
