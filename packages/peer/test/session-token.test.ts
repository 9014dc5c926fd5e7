/**
 * The token of a peer: the app's own, or that of a login, asked for anew when it is needed.
 */

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { nodeHost } from "../src/node/node-host.ts";
import type { LoginDetails } from "../src/options.ts";
import { SessionToken } from "../src/session-token.ts";

const appId = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

afterEach(() => {
  vi.restoreAllMocks();
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that gives sessions of a minute, numbered, and keeps what it was asked. */
async function listenForLogins(asked: string[] = []): Promise<string> {
  let count = 0;
  return listen((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`);
      // By a clock of its own, which is right.
      const accessExpiry = new Date(new Date().getTime() + 60_000).toISOString();
      response.end(JSON.stringify({ accessToken: `session ${++count}`, accessExpiry }));
    });
  });
}

function loginAt(baseUrl: string): SessionToken {
  const login = (): Promise<{ provider: string; token: string }> =>
    Promise.resolve({ provider: "guests", token: "come-in-and-welcome" });
  return new SessionToken({ appId, baseUrl, credential: { kind: "login", login } }, nodeHost);
}

test("a token of the app is used unchanged", async () => {
  const credential = { kind: "token", token: "bp_1" } as const;
  const session = new SessionToken(
    { appId, baseUrl: "http://nobody.invalid", credential },
    nodeHost,
  );
  expect(await session.get()).toBe("bp_1");
  session.forget();
  expect(await session.get()).toBe("bp_1");
});

test("a login calls the app's own endpoint, and its session is reused", async () => {
  const asked: string[] = [];
  const session = loginAt(await listenForLogins(asked));
  expect(await session.get()).toBe("session 1");
  expect(await session.get()).toBe("session 1");
  expect(asked).toEqual([
    `POST /${appId}/auth/login {"provider":"guests","token":"come-in-and-welcome"}`,
  ]);
});

test("a session that the server no longer accepts is requested again", async () => {
  const session = loginAt(await listenForLogins());
  expect(await session.get()).toBe("session 1");
  session.forget();
  expect(await session.get()).toBe("session 2");
});

test("a session is renewed after half of its duration", async () => {
  const session = loginAt(await listenForLogins());
  expect(await session.get()).toBe("session 1");
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 29_000);
  expect(await session.get()).toBe("session 1");
  vi.spyOn(Date, "now").mockImplementation(() => now() + 31_000);
  expect(await session.get()).toBe("session 2");
});

test.each([-3_600_000, 3_600_000])(
  "the duration of a session counts by the server's clock, even if ours is off by %d ms",
  async (offMs) => {
    const { now } = Date;
    let laterMs = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + offMs + laterMs);
    const session = loginAt(await listenForLogins());
    expect(await session.get()).toBe("session 1");
    laterMs = 28_000;
    expect(await session.get()).toBe("session 1");
    laterMs = 32_000;
    expect(await session.get()).toBe("session 2");
    laterMs = 94_000;
    expect(session.session).toBeUndefined();
  },
);

test("a renewal is a new login, however much time is left", async () => {
  const session = loginAt(await listenForLogins());
  expect(await session.get()).toBe("session 1");
  expect(await session.renew()).toBe("session 2");
  expect(await session.get()).toBe("session 2");
});

test("a login that started before the session was forgotten is not kept", async () => {
  const session = loginAt(await listenForLogins());
  const begun = session.get();
  session.forget();
  expect(await begun).toBe("session 1");
  expect(session.session).toBeUndefined();
  expect(await session.get()).toBe("session 2");
});

test("a refused login reports the reason, and the next one is tried again", async () => {
  const url = await listen((_request, response) => {
    response.writeHead(401).end('{"message": "the app, the provider or the token is not known"}');
  });
  const session = loginAt(url);
  const sentence = "the login was refused (401): the app, the provider or the token is not known";
  await expect(session.get()).rejects.toThrow(sentence);
  await expect(session.get()).rejects.toThrow(sentence);
});

test("an invalid answer is refused with a message", async () => {
  const url = await listen((_request, response) => response.end("<html>"));
  await expect(loginAt(url).get()).rejects.toThrow("expected an accessToken from the login");
});

test.each([undefined, null, {}, { provider: "guests" }, { provider: 1, token: "x" }])(
  "a login that returns %j is refused with a message",
  async (given) => {
    const login = (): LoginDetails => given as LoginDetails;
    const credential = { kind: "login", login } as const;
    const session = new SessionToken(
      { appId, baseUrl: "http://nobody.invalid", credential },
      nodeHost,
    );
    const message = "expected login to give { provider, token }, two texts";
    await expect(session.get()).rejects.toEqual(
      expect.objectContaining({ code: "config.invalid", message }),
    );
  },
);

test("a server error at a login is not a refusal", async () => {
  const url = await listen((_request, response) => {
    response.writeHead(503).end('{"message": "the webhook did not answer"}');
  });
  const failed = "the login failed (503): the webhook did not answer";
  await expect(loginAt(url).get()).rejects.toEqual(new Error(failed));
});

test("a login that does not reach the server reports the cause", async () => {
  const url = await listen((request) => request.socket.destroy());
  await expect(loginAt(url).get()).rejects.toThrow(/^the login failed: (?!fetch failed)/);
});
