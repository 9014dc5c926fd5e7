import { createHmac } from "node:crypto";
import { readPermissions } from "@bigpeer/engine/query";
import { nodePlatform } from "@bigpeer/node";
import { describe, expect, test } from "vitest";
import { type Asker, Webhooks, type WebhookVerdict } from "../../src/auth/webhook.ts";
import { drawWebhookSecret, type WebhookProvider } from "../../src/registry/auth-provider.ts";
import {
  type Answering,
  type AnsweringServer,
  answeringServer,
  type Given,
} from "../support/answering-server.ts";

const APP = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
const NOW_S = 1_800_000_000;
const PERMISSIONS = { read: { everything: true }, write: {}, remoteQuery: false };
const YES = {
  authenticated: true,
  userID: "ann",
  expirationSeconds: 600,
  permissions: PERMISSIONS,
};
const ANN = {
  isAuthenticated: true,
  userId: "ann",
  permissions: readPermissions(PERMISSIONS),
  expiresAt: NOW_S + 600,
  clientInfo: undefined,
};

/** An array in an array, so many times. */
function nested(levels: number): string {
  return `${"[".repeat(levels)}${"]".repeat(levels)}`;
}

function drawSecret(): string {
  return drawWebhookSecret((size) => nodePlatform.random(size));
}

interface Asking {
  readonly server: AnsweringServer;
  readonly provider: WebhookProvider;
  readonly lines: string[];
  nowS: number;
  ask(token?: string, provider?: WebhookProvider, asker?: Partial<Asker>): Promise<WebhookVerdict>;
}

async function asking(answering: Answering, timeoutMs = 5_000): Promise<Asking> {
  const server = await answeringServer(answering);
  const secrets = [drawSecret(), drawSecret()];
  const lines: string[] = [];
  const webhooks = new Webhooks({
    now: () => one.nowS * 1000,
    log: (level, message, fields) =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`),
    timeoutMs,
  });
  const webhook: WebhookProvider = {
    id: "p1",
    type: "tokenWebhook",
    webhookUrl: `${server.url}check`,
    secrets,
  };
  const one: Asking = {
    server,
    provider: webhook,
    lines,
    nowS: NOW_S,
    ask: (token = "token-of-ann", provider = webhook, asker = {}) =>
      webhooks.ask(
        { appId: APP, name: "hook", provider, token },
        { address: "10.0.0.1", isSuspect: false, ...asker },
      ),
  };
  return one;
}

test("[A15] the request names app, provider and token, and is signed with every secret", async () => {
  const one = await asking(() => ({ body: YES }));
  await one.ask("tökén");
  const [asked] = one.server.asked;
  expect(asked?.method).toBe("POST");
  expect(asked?.path).toBe("/check");
  expect(asked?.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(asked?.body ?? "")).toEqual({
    databaseID: APP,
    appID: APP,
    version: "1",
    provider: "hook",
    token: "tökén",
  });
  const expected = one.provider.secrets.map((secret) => {
    const key = Buffer.from(secret, "base64");
    return `v1=${createHmac("sha256", key).update(`${NOW_S}.${asked?.body}`).digest("hex")}`;
  });
  const signature = `t=${NOW_S},${expected.join(",")}`;
  expect(asked?.headers["bigpeer-signature"]).toBe(signature);
  expect(asked?.headers["ditto-signature"]).toBe(signature);
});

describe("[A16] the answer of a webhook", () => {
  test("has the user, the permissions and the duration", async () => {
    const one = await asking(() => ({ body: { ...YES, clientInfo: { name: "Ann" } } }));
    expect(await one.ask()).toEqual({ ...ANN, clientInfo: { name: "Ann" } });
  });

  test("may use the former field names", async () => {
    const { authenticated: _, ...rest } = YES;
    const one = await asking(() => ({ body: { ...rest, authenticate: true, userInfo: 7 } }));
    expect(await one.ask()).toEqual({ ...ANN, clientInfo: 7 });
  });

  test.each([
    [{ body: { authenticated: false } }, undefined],
    [{ body: { authenticated: false, clientInfo: "blocked" } }, "blocked"],
    [{ body: { authenticate: false, userInfo: "blocked" } }, "blocked"],
    [{ status: 401, body: { authenticated: false, clientInfo: "blocked" } }, "blocked"],
    [{ status: 403, body: "go away" }, undefined],
    [{ status: 401, body: YES }, undefined],
  ])("may be a rejection, with a message for the client: %j", async (given, clientInfo) => {
    const one = await asking(() => given);
    expect(await one.ask()).toEqual({ isAuthenticated: false, clientInfo });
  });

  test("that is a rejection stays one whatever else it contains", async () => {
    const one = await asking(() => ({ status: 401, body: `{"clientInfo":${nested(20_000)}}` }));
    expect(await one.ask()).toEqual({ isAuthenticated: false, clientInfo: undefined });
  });
});

describe("[A17] a webhook that fails is 503 for the client, and is logged", () => {
  test.each([
    ["expected the status 200, found 500", { status: 500 }],
    ["expected the status 200, found 302", { status: 302, headers: { location: "/yes" } }],
    ["expected a value", { body: "" }],
    ["expected an object in JSON", { body: [] }],
    ["expected true or false at authenticated", { body: {} }],
    ["expected true or false at authenticated", { body: { ...YES, authenticated: "yes" } }],
    ["at userID of its answer", { body: { ...YES, userID: "" } }],
    ["found a lone surrogate", { body: { ...YES, userID: "ann\ud800" } }],
    ["at most 64 levels", { body: `{"authenticated":true,"clientInfo":${nested(20_000)}}` }],
    ["at most 64 levels", { body: `{"authenticated":false,"clientInfo":${nested(20_000)}}` }],
    ["at expirationSeconds of its answer", { body: { ...YES, expirationSeconds: 0 } }],
    ["at expirationSeconds of its answer", { body: { ...YES, expirationSeconds: 2 ** 32 } }],
    ["identityServiceMetadata", { body: { ...YES, identityServiceMetadata: [] } }],
    [
      "identityServiceMetadata",
      { body: { ...YES, identityServiceMetadata: { a: "x".repeat(4096) } } },
    ],
    ["at permissions", { body: { ...YES, permissions: undefined } }],
    ["at permissions.read", { body: { ...YES, permissions: { read: 1 } } }],
    ["expected an answer of at most 65536 bytes", { body: "x".repeat(66_000) }],
  ])("%s", async (message, given) => {
    const one = await asking(() => given);
    await expect(one.ask()).rejects.toMatchObject({
      status: 503,
      message: "the provider cannot be asked now",
      headers: { "retry-after": "5" },
    });
    expect(one.server.asked).toHaveLength(1);
    expect(one.lines).toHaveLength(1);
    expect(one.lines[0]).toContain(message);
    expect(one.lines[0]).toContain(`{"appId":"${APP}","provider":"hook"}`);
    expect(one.lines[0]).not.toContain("token-of-ann");
  });

  test("a webhook that does not answer in time", async () => {
    const one = await asking(() => new Promise(() => {}), 50);
    await expect(one.ask()).rejects.toMatchObject({ status: 503 });
    expect(one.lines[0]).toContain("expected an answer within 50 ms");
  });

  test("an unreachable webhook", async () => {
    const one = await asking(() => ({}));
    const provider = { ...one.provider, webhookUrl: "http://127.0.0.1:1/" };
    await expect(one.ask("token-of-ann", provider)).rejects.toMatchObject({ status: 503 });
    expect(one.lines).toHaveLength(1);
  });

  test("more than 64 concurrent questions", async () => {
    let answer: (given: Given) => void = () => {};
    const answered = new Promise<Given>((resolve) => void (answer = resolve));
    const one = await asking(() => answered);
    const waiting = Array.from({ length: 64 }, (_, i) =>
      one.ask(`token ${i}`, undefined, { address: `10.0.0.${i}` }),
    );
    await expect(one.ask("one more")).rejects.toMatchObject({
      status: 503,
      message: "too many logins wait for this provider",
    });
    answer({ body: YES });
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ANN));
    expect(await one.ask("one more")).toEqual(ANN);
  });
});

describe("[A28] callers at one address share a part of the concurrent questions", () => {
  const TOO_MANY = {
    status: 503,
    message: "too many logins from this address wait for this provider",
    headers: { "retry-after": "1" },
  };

  test.each([
    ["16 at once", 16, false],
    ["4 when many of its tokens were wrong", 4, true],
  ])("%s", async (_, count, isSuspect) => {
    let answer: (given: Given) => void = () => {};
    const answered = new Promise<Given>((resolve) => void (answer = resolve));
    const one = await asking(() => answered);
    const asker = { address: "2001:db8::1", isSuspect };
    const waiting = Array.from({ length: count }, (_each, i) =>
      one.ask(`token ${i}`, undefined, asker),
    );
    const neighbour = { address: "2001:db8::2", isSuspect };
    await expect(one.ask("one more", undefined, neighbour)).rejects.toMatchObject(TOO_MANY);
    waiting.push(one.ask("one more", undefined, { address: "10.0.0.9" }));
    answer({ body: YES });
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ANN));
    expect(one.server.asked).toHaveLength(count + 1);
    expect(await one.ask("another", undefined, neighbour)).toEqual(ANN);
  });

  test("and a cached answer does not count", async () => {
    const one = await asking(() => ({ body: YES }));
    await one.ask();
    let answer: (given: Given) => void = () => {};
    const answered = new Promise<Given>((resolve) => void (answer = resolve));
    one.server.answering = () => answered;
    const waiting = Array.from({ length: 16 }, (_, i) => one.ask(`token ${i}`));
    expect(await one.ask()).toEqual(ANN);
    answer({ body: YES });
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ANN));
  });
});

describe("[A18] a webhook is not asked more often than needed", () => {
  test("an acceptance is cached for half of its time, for this token alone", async () => {
    const one = await asking(() => ({ body: YES }));
    await one.ask();
    one.nowS += 299;
    expect(await one.ask()).toEqual(ANN);
    expect(one.server.asked).toHaveLength(1);
    await one.ask("another");
    expect(one.server.asked).toHaveLength(2);
    one.nowS += 1;
    expect(await one.ask()).toEqual({ ...ANN, expiresAt: NOW_S + 900 });
    expect(one.server.asked).toHaveLength(3);
  });

  test("a rejection is not cached", async () => {
    const one = await asking(() => ({ body: { authenticated: false } }));
    await one.ask();
    await one.ask();
    expect(one.server.asked).toHaveLength(2);
  });

  test("a provider with another URL or secret is asked again", async () => {
    const one = await asking(() => ({ body: YES }));
    await one.ask();
    await one.ask("token-of-ann", { ...one.provider, webhookUrl: `${one.server.url}other` });
    await one.ask("token-of-ann", { ...one.provider, secrets: one.provider.secrets.slice(1) });
    expect(one.server.asked).toHaveLength(3);
  });

  test("concurrent callers with one token share one request", async () => {
    const one = await asking(() => ({ body: YES }));
    const verdicts = await Promise.all([one.ask(), one.ask(), one.ask()]);
    expect(verdicts).toEqual([ANN, ANN, ANN]);
    expect(one.server.asked).toHaveLength(1);
  });
});

test("[A22] a webhook may return claims about the user", async () => {
  const identityServiceMetadata = { store: "Berlin", floor: 2 };
  const one = await asking(() => ({ body: { ...YES, identityServiceMetadata } }));
  expect(await one.ask()).toEqual({ ...ANN, identity: identityServiceMetadata });
});
