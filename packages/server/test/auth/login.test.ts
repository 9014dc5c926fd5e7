/**
 * The login of a real server: a token for a session, and what that opens.
 */

import { nodePlatform } from "@bigpeer/node";
import type { ValueObject } from "@bigpeer/protocol";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { type AuthProviders, readProviders } from "../../src/registry/auth-provider.ts";
import { startServer } from "../../src/server.ts";
import { answeringServer } from "../support/answering-server.ts";
import { DataApi } from "../support/data-api.ts";
import { RawConnection, requestBytes } from "../support/raw-connection.ts";
import { secretToken, signerWith } from "../support/signed-token.ts";
import { testConfig } from "../support/test-config.ts";

const AUTHOR = { actor: "test" };
const SECRET = "a secret of thirty-two bytes, or more";
const BLUE = { queriesByCollection: { cars: ["color == 'blue'"] } };
const REFUSED = "the app, the provider or the token is not known";

let lateMs = 0;
const platform = {
  ...nodePlatform,
  now: () => nodePlatform.now() + lateMs,
  elapsed: () => nodePlatform.elapsed() + lateMs,
};
const random = (size: number): Uint8Array => nodePlatform.random(size);
const host = testHost();
const config = testConfig({ dataDir: folderOfFile(), webhookTimeoutMs: 5_000 });
const server = await startServer(config, { ...host, platform });
afterAll(() => server.close());
const api = new DataApi(server, config);
const { appId } = api.quickstart;
await api.upsert("cars", { c1: { color: "blue" }, c2: { color: "red" } });

beforeEach(() => {
  // The failures of one test do not count for the next.
  lateMs += 61_000;
});

/** All providers of the app; those of before are gone. */
async function provide(providers: ValueObject): Promise<void> {
  const read = () => readProviders(providers, {}, random);
  await server.registry.apps.setProviders("default", read, AUTHOR);
}

/** As provide; one of the same name and type takes the place of the one before. */
async function replace(providers: ValueObject): Promise<void> {
  const read = (before: AuthProviders) => readProviders(providers, before, random);
  await server.registry.apps.setProviders("default", read, AUTHOR);
}

interface Login {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly accessToken?: string;
    readonly accessExpiry?: string;
    readonly userId?: string;
    readonly clientInfo?: unknown;
    readonly message?: string;
  };
}

interface LoginOptions {
  readonly app?: string;
  readonly headers?: Record<string, string>;
}

async function send(
  body: string,
  { app = appId, headers = {} }: LoginOptions = {},
): Promise<Login> {
  const response = await fetch(`${server.url}/${app}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const { status } = response;
  return { status, headers: response.headers, body: (await response.json()) as Login["body"] };
}

function logIn(provider: string, token: string, options?: LoginOptions): Promise<Login> {
  return send(JSON.stringify({ provider, token }), options);
}

function execute(token: string, statement: string) {
  const headers = { authorization: `Bearer ${token}` };
  return api.call("execute", { statement }, { headers });
}

/** Seconds until a session ends. */
function secondsLeft({ body }: Login): number {
  return Math.round((Date.parse(body.accessExpiry ?? "") - platform.now()) / 1000);
}

const ANONYMOUS = {
  type: "anonymous",
  permission: { read: BLUE },
  sessionLength: 120,
  sharedToken: "shared-by-all-of-us",
};

describe("[A12] an anonymous login", () => {
  test("[A10] returns a session with the permission of the provider, for its duration", async () => {
    await provide({ guest: ANONYMOUS });
    const login = await logIn("guest", "shared-by-all-of-us");
    expect(login.status).toBe(200);
    expect(login.headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(login.body)).toEqual([
      "accessToken",
      "accessExpiry",
      "userId",
      "clientInfo",
    ]);
    expect(login.body.clientInfo).toBe(null);
    expect(login.body.accessExpiry).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
    expect([119, 120]).toContain(secondsLeft(login));
    const token = login.body.accessToken ?? "";
    const { body } = await execute(token, "SELECT _id FROM cars");
    expect((body as ValueObject)["items"]).toEqual([{ _id: "c1" }]);
    lateMs += 121_000;
    expect((await execute(token, "SELECT _id FROM cars")).status).toBe(401);
  });

  test("is a new user each time", async () => {
    await provide({ guest: ANONYMOUS });
    const [one, two] = [
      await logIn("guest", "shared-by-all-of-us"),
      await logIn("guest", "shared-by-all-of-us"),
    ];
    expect(one.body.userId).toMatch(/^[0-9a-f-]{36}$/);
    expect(one.body.userId).not.toBe(two.body.userId);
  });

  test("with another token is refused", async () => {
    await provide({ guest: ANONYMOUS });
    for (const token of ["Shared-by-all-of-us", "shared-by-all-of-us ", "x"]) {
      const { status, headers, body } = await logIn("guest", token);
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe("Bearer");
      expect(body).toEqual({ message: REFUSED });
    }
  });

  test("[A13] restricted to this machine is refused if the request came through a proxy", async () => {
    await provide({ guest: { ...ANONYMOUS, loopbackOnly: true } });
    expect((await logIn("guest", "shared-by-all-of-us")).status).toBe(200);
    for (const headers of [
      { "x-forwarded-for": "127.0.0.1" },
      { forwarded: "for=127.0.0.1" },
      { "x-real-ip": "127.0.0.1" },
      { origin: "https://example.com" },
    ]) {
      expect((await logIn("guest", "shared-by-all-of-us", { headers })).status).toBe(401);
    }
  });
});

describe("[A14] a token of a jwt provider", () => {
  const claims = (): Record<string, unknown> => {
    const exp = Math.floor(platform.now() / 1000) + 60;
    return { aud: appId, sub: "bob", exp };
  };

  test("is exchanged for a session that ends with it", async () => {
    await provide({ partner: { type: "jwt", secret: SECRET, permission: { read: BLUE } } });
    const login = await logIn("partner", secretToken(claims(), SECRET));
    expect(login.status).toBe(200);
    expect(login.body.userId).toBe("bob");
    expect(secondsLeft(login)).toBeLessThanOrEqual(60);
    const { status } = await execute(login.body.accessToken ?? "", "SELECT * FROM cars");
    expect(status).toBe(200);
  });

  test("is refused if it is wrong, or valid only by the leeway", async () => {
    await provide({ partner: { type: "jwt", secret: SECRET, permission: { read: BLUE } } });
    const late = { ...claims(), exp: Math.floor(platform.now() / 1000) - 30 };
    for (const token of [secretToken(claims(), `${SECRET}!`), secretToken(late, SECRET), "abc"]) {
      expect((await logIn("partner", token)).status).toBe(401);
    }
  });

  test("without permissions anywhere gets an error that says so", async () => {
    await provide({ partner: { type: "jwt", secret: SECRET } });
    const { status, body } = await logIn("partner", secretToken(claims(), SECRET));
    expect(status).toBe(401);
    expect(body.message).toContain("the token has no claim `permissions`");
  });
});

describe("a login by a webhook", () => {
  const YES = {
    authenticated: true,
    userID: "ann",
    expirationSeconds: 300,
    permissions: { read: BLUE },
    clientInfo: { name: "Ann" },
  };

  test("[A16] has the user, the time and the permissions that the webhook returns", async () => {
    const webhook = await answeringServer(() => ({ body: YES }));
    await provide({ hook: { type: "tokenWebhook", webhookUrl: webhook.url } });
    const login = await logIn("hook", "token-of-ann");
    expect(login.status).toBe(200);
    expect(login.body.userId).toBe("ann");
    expect(login.body.clientInfo).toEqual({ name: "Ann" });
    expect(secondsLeft(login)).toBeLessThanOrEqual(300);
    const token = login.body.accessToken ?? "";
    expect((await execute(token, "SELECT * FROM cars")).status).toBe(200);
    expect((await execute(token, "SELECT * FROM people")).status).toBe(401);
    expect(webhook.asked).toHaveLength(1);
  });

  test("[A16] a rejection is 401, with the message of the webhook", async () => {
    const webhook = await answeringServer(() => ({
      body: { authenticated: false, clientInfo: { reason: "blocked" } },
    }));
    await provide({ hook: { type: "tokenWebhook", webhookUrl: webhook.url } });
    const { status, body } = await logIn("hook", "token-of-ann");
    expect(status).toBe(401);
    expect(body).toEqual({ message: REFUSED, clientInfo: { reason: "blocked" } });
  });

  test("[A17] a failing webhook is 503, and the log does not contain the token", async () => {
    const webhook = await answeringServer(() => ({ status: 500 }));
    await provide({ hook: { type: "tokenWebhook", webhookUrl: webhook.url } });
    const { status, headers, body } = await logIn("hook", "token-of-ann");
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("5");
    expect(body).toEqual({ message: "the provider cannot be asked now" });
    const line = "warn the webhook of a provider failed: expected the status 200, found 500";
    expect(host.lines).toContain(line);
    expect(host.lines.join("\n")).not.toContain("token-of-ann");
  });

  test("[A28] from an address with many wrong tokens asks the webhook only for a token accepted before", async () => {
    const webhook = await answeringServer(() => ({ body: YES }));
    await provide({ hook: { type: "tokenWebhook", webhookUrl: webhook.url } });
    expect((await logIn("hook", "token-of-ann")).status).toBe(200);
    webhook.answering = () => ({ body: { authenticated: false } });
    for (let i = 0; i < 20; i++) expect((await logIn("hook", `wrong ${i}`)).status).toBe(401);
    expect((await logIn("hook", "wrong")).status).toBe(429);
    const asked = webhook.asked.length;
    webhook.answering = () => ({ body: YES });
    expect((await logIn("hook", "token-of-bob")).status).toBe(429);
    expect(webhook.asked).toHaveLength(asked);
    expect((await logIn("hook", "token-of-ann")).status).toBe(200);
  });

  test("whose permissions do not fit in a header is refused", async () => {
    const query = `color == '${"x".repeat(20_000)}'`;
    const permissions = { read: { queriesByCollection: { cars: [query] } } };
    const webhook = await answeringServer(() => ({ body: { ...YES, permissions } }));
    await provide({ hook: { type: "tokenWebhook", webhookUrl: webhook.url } });
    const { status, body } = await logIn("hook", "token-of-ann");
    expect(status).toBe(500);
    expect(body).toEqual({
      message: "the permissions and metadata of this user are too large for a token",
    });
  });
});

describe("[A27] the body of a login", () => {
  test("may be a form, which may name the app", async () => {
    await provide({ guest: ANONYMOUS });
    const headers = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
    for (const form of [
      "provider=guest&token=shared-by-all-of-us",
      `appId=${appId.toUpperCase()}&provider=guest&token=shared-by-all-of-us&siteId=1`,
    ]) {
      expect((await send(form, { headers })).status).toBe(200);
    }
    const other =
      "appId=00000000-0000-4000-8000-000000000000&provider=guest&token=shared-by-all-of-us";
    expect((await send(other, { headers })).status).toBe(401);
  });

  test.each([
    ["{", 400],
    ["[]", 400],
    ["{}", 400],
    ['{"provider":"guest"}', 400],
    ['{"provider":"guest","token":1}', 400],
    ['{"provider":"","token":"shared-by-all-of-us"}', 400],
    [`{"provider":"guest","token":"${"x".repeat(70_000)}"}`, 413],
  ])("that is invalid gets an error: %.30s", async (body, expected) => {
    await provide({ guest: ANONYMOUS });
    const { status, body: answer } = await send(body);
    expect(status).toBe(expected);
    expect(Object.keys(answer)).toEqual(["message"]);
  });

  test.each(["text/plain", "application/cbor", "application/json; charset=latin1", ""])(
    "of the type %j is 415, with the supported types",
    async (type) => {
      const { status, body } = await send("x", { headers: { "content-type": type } });
      const expected = "application/json or application/x-www-form-urlencoded, in UTF-8";
      const message = `expected the content type ${expected}, found ${type || "none"}`;
      expect({ status, body }).toEqual({ status: 415, body: { message } });
    },
  );

  test.each(["application/json", "application/x-www-form-urlencoded"])(
    "may not have a content encoding: %s",
    async (type) => {
      const headers = { "content-type": type, "content-encoding": "gzip" };
      const { status, body } = await send("x", { headers });
      const message = "expected a body without content encoding, found gzip";
      expect({ status, body }).toEqual({ status: 415, body: { message } });
    },
  );

  test.runIf(isFullSize)(
    "that arrives incompletely blocks no other client, however often",
    async () => {
      await provide({ guest: ANONYMOUS });
      const head = requestBytes({
        method: "POST",
        target: `/${appId}/auth/login`,
        headers: [
          ["Host", "localhost"],
          ["Content-Type", "application/json"],
          ["Content-Length", "10"],
        ],
      });
      const opening = Array.from({ length: 600 }, () => RawConnection.open(server.url));
      const connections = await Promise.all(opening);
      onTestFinished(() => {
        for (const connection of connections) connection.destroy();
      });
      await Promise.all(
        connections.map((one) => one.write(Buffer.concat([head, Buffer.from("{")]))),
      );
      await vi.waitFor(async () => {
        const metrics = await (await fetch(`${server.url}/metrics`)).text();
        const underWay = /^bigpeer_http_requests_in_flight (\d+)$/m.exec(metrics)?.[1];
        expect(Number(underWay)).toBeGreaterThan(600);
      }, 10_000);
      expect((await logIn("guest", "shared-by-all-of-us")).status).toBe(200);
      // And it has not long to come as a whole.
      expect((await connections[0]?.next())?.status).toBe(408);
    },
  );

  test("without length is 411", async () => {
    const response = await fetch(`${server.url}/${appId}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Blob(["{}"]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(411);
  });
});

describe("[A11] a refused login", () => {
  test("does not reveal which apps and providers exist", async () => {
    await provide({ guest: ANONYMOUS });
    const answers = [
      await logIn("guest", "wrong"),
      await logIn("nobody", "shared-by-all-of-us"),
      await logIn("__proto__", "shared-by-all-of-us"),
      await logIn("guest", "shared-by-all-of-us", { app: "00000000-0000-4000-8000-000000000000" }),
      await logIn("guest", "shared-by-all-of-us", { app: "default" }),
    ];
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({ status: 401, body: { message: REFUSED } });
    }
    expect((await logIn("guest", "shared-by-all-of-us", { app: appId.toUpperCase() })).status).toBe(
      200,
    );
  });

  test("counts as a wrong credential: after 20 within a minute it is 429", async () => {
    await provide({ guest: ANONYMOUS });
    for (let i = 0; i < 20; i++) expect((await logIn("guest", `wrong ${i}`)).status).toBe(401);
    const { status, headers } = await logIn("guest", "wrong");
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    // A right guess is not told from a wrong one.
    await replace({ guest: ANONYMOUS, fresh: { ...ANONYMOUS, sharedToken: "never used before" } });
    expect((await logIn("fresh", "never used before")).status).toBe(429);
  });

  test("does not block a token that was accepted from the same address before", async () => {
    await provide({ guest: ANONYMOUS });
    expect((await logIn("guest", "shared-by-all-of-us")).status).toBe(200);
    for (let i = 0; i < 21; i++) await logIn("guest", `wrong ${i}`);
    expect((await logIn("guest", "wrong")).status).toBe(429);
    expect((await logIn("guest", "shared-by-all-of-us")).status).toBe(200);
  });

  test("counts even if its body is malformed", async () => {
    await provide({ guest: ANONYMOUS });
    expect((await logIn("guest", ANONYMOUS.sharedToken)).status).toBe(200);
    const bodies = ["{", "[]", '{"provider":1}', `{"a":0.${"3".repeat(60_000)}}`];
    for (let i = 0; i < 20; i++) {
      expect((await send(bodies[i % bodies.length] ?? "")).status).toBe(400);
    }
    expect((await send("{")).status).toBe(429);
    expect((await logIn("guest", ANONYMOUS.sharedToken)).status).toBe(200);
  });
});

describe("[A19] a session ends with its provider", () => {
  const SELECT = "SELECT * FROM cars";

  test("and does not resume if another one of that name is created", async () => {
    await provide({ guest: ANONYMOUS });
    const token = (await logIn("guest", "shared-by-all-of-us")).body.accessToken ?? "";
    expect((await execute(token, SELECT)).status).toBe(200);
    await replace({});
    expect((await execute(token, SELECT)).status).toBe(401);
    await replace({ guest: ANONYMOUS });
    expect((await execute(token, SELECT)).status).toBe(401);
  });

  test("and if the provider changes its type", async () => {
    await provide({ guest: ANONYMOUS });
    const token = (await logIn("guest", "shared-by-all-of-us")).body.accessToken ?? "";
    await replace({ guest: { type: "jwt", secret: SECRET } });
    expect((await execute(token, SELECT)).status).toBe(401);
    await replace({ guest: ANONYMOUS });
    expect((await execute(token, SELECT)).status).toBe(401);
  });

  test("but continues if the provider is replaced by one of its type, even with another token", async () => {
    await provide({ guest: ANONYMOUS });
    const token = (await logIn("guest", "shared-by-all-of-us")).body.accessToken ?? "";
    await replace({
      guest: { ...ANONYMOUS, sharedToken: "another-one-for-all", sessionLength: 60 },
    });
    expect((await execute(token, SELECT)).status).toBe(200);
    expect((await logIn("guest", "shared-by-all-of-us")).status).toBe(401);
  });
});

test("[A26] tokens that cannot be verified now are 503, and count like wrong ones", async () => {
  const keys = await answeringServer(() => ({ status: 500 }));
  await provide({ partner: { type: "jwt", jwksUrl: keys.url } });
  const exp = Math.floor(platform.now() / 1000) + 60;
  const token = signerWith("ES256", "k1").token({ aud: appId, sub: "bob", exp });
  for (let i = 0; i < 10; i++) {
    expect((await execute(token, "SELECT * FROM cars")).status).toBe(503);
    expect((await logIn("partner", token)).status).toBe(503);
  }
  expect((await execute(token, "SELECT * FROM cars")).status).toBe(429);
  expect((await logIn("partner", token)).status).toBe(429);
});

test("[A2] an expired session, and one of a deleted app, is 401 like any other", async () => {
  const { id } = await server.registry.apps.create(
    { name: "second", authProviders: readProviders({ guest: ANONYMOUS }, {}, random) },
    AUTHOR,
  );
  const { body } = await logIn("guest", "shared-by-all-of-us", { app: id });
  const token = body.accessToken ?? "";
  const headers = { authorization: `Bearer ${token}` };
  const ask = { statement: "SELECT * FROM cars" };
  expect((await api.call("execute", ask, { headers })).status).toBe(200);
  await server.registry.apps.remove("second", AUTHOR);
  const reply = await api.call("execute", ask, { headers });
  expect(reply.status).toBe(401);
  expect((reply.body as ValueObject)["error"]).toEqual({
    description: "the credential is not known, has expired, or is not for this app",
  });
});
