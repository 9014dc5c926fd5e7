import { FULL_PERMISSIONS, readPermissions } from "@bigpeer/engine/query";
import { describe, expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { Authentication } from "../../src/auth/authentication.ts";
import { userCredentialId } from "../../src/auth/credential.ts";
import { type AuthRegistry, type Bearer, Credentials } from "../../src/auth/credentials.ts";
import { ProviderTokens } from "../../src/auth/provider-tokens.ts";
import { type AuthApp, type Session, signSession } from "../../src/auth/session.ts";
import { DataGate } from "../../src/data-api/data-gate.ts";
import type { KnownKey } from "../../src/registry/api-keys.ts";
import type { AuthProviders, JwtProvider } from "../../src/registry/auth-provider.ts";
import { answeringServer } from "../support/answering-server.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";
import { secretToken, signerWith } from "../support/signed-token.ts";

const NOW_S = 1_800_000_000;
const SECRET = "a secret of thirty-two bytes, or more";
const READ = readPermissions({ read: { everything: true } });
const PROVIDERS: AuthProviders = {
  login: { id: "p1", type: "tokenWebhook", webhookUrl: "https://auth.example.com/", secrets: [] },
  partner: { id: "p2", type: "jwt", keys: { secret: SECRET }, permission: READ },
};
const SESSION: Session = {
  provider: "login",
  userId: "ann",
  permissions: FULL_PERMISSIONS,
  expiresAt: NOW_S + 3600,
};

function appWith(id: string, changes: Partial<AuthApp> = {}): AuthApp {
  const secret = new Uint8Array(32).fill(id.charCodeAt(0));
  return { id, authProviders: PROVIDERS, sessionKeys: [{ id: "s1", secret }], ...changes };
}

const ONE = appWith("1bb92a35-e1bf-41a2-afc7-2067df0c701d");
const TWO = appWith("2e90f7b2-499f-4c73-8353-bae98ff03c6c");

/** Nobody comes so far. */
const NO_APPS = {
  tryUse: (): undefined => undefined,
  use: (): Promise<never> => Promise.reject(new Error("no app")),
};

/** What a registry says, and how often a token was really looked at. */
class Setting {
  readonly apps = new Map<string, AuthApp>([ONE, TWO].map((app) => [app.id, app]));
  readonly keys = new Map<string, KnownKey>();
  nowS = NOW_S;
  readonly #credentials: Credentials;

  constructor() {
    const now = (): number => this.nowS * 1000;
    const host = { now, elapsed: () => 0, log: () => {}, timeoutMs: 1_000 };
    this.#credentials = new Credentials({ now, tokens: new ProviderTokens(host) });
  }

  get registry(): AuthRegistry {
    const { apps, keys } = this;
    return { apps: { get: (id) => apps.get(id) }, keys: { find: (text) => keys.get(text) } };
  }

  get count(): number {
    return this.#credentials.count;
  }

  /** Why tokens were not taken. */
  readonly reasons: string[] = [];

  find(text: string, appId?: string): Bearer | undefined | Promise<Bearer | undefined> {
    const note = (reason: string): number => this.reasons.push(reason);
    return this.#credentials.find(this.registry, text, appId, note);
  }
}

async function sessionOf(app: AuthApp, changes: Partial<Session> = {}): Promise<string> {
  return signSession(app, { ...SESSION, ...changes }, NOW_S * 1000);
}

describe("[A1] a bearer token", () => {
  test("is an API key, found synchronously", () => {
    const setting = new Setting();
    const permissions = FULL_PERMISSIONS;
    setting.keys.set("bp_1", { id: "1", name: "k1", appId: ONE.id, permissions, until: 7 });
    const found = setting.find("bp_1");
    expect(found).toEqual({
      appId: ONE.id,
      credential: {
        id: "1",
        permissions,
        writer: { credential: "k1" },
        authority: undefined,
        mayAskPeers: true,
        mayUpload: true,
      },
      expiresAtMs: 7,
    });
    expect(setting.find("bp_1", ONE.id.toUpperCase())).toBe(found);
    expect(setting.find("bp_1", TWO.id)).toBeUndefined();
    expect(setting.find("bp_2")).toBeUndefined();
  });

  test("is a session of an app", async () => {
    const setting = new Setting();
    for (const app of [ONE, TWO]) {
      expect(await setting.find(await sessionOf(app))).toEqual({
        appId: app.id,
        credential: {
          id: "session:login:ann",
          permissions: FULL_PERMISSIONS,
          writer: { provider: "login", user: "ann" },
          authority: undefined,
          mayAskPeers: true,
          mayUpload: true,
        },
        expiresAtMs: SESSION.expiresAt * 1000,
        userId: "ann",
      });
    }
  });

  test("is a token of a jwt provider", async () => {
    const setting = new Setting();
    const claims = { aud: ONE.id, sub: "bob", exp: NOW_S + 600 };
    const found = await setting.find(secretToken(claims, SECRET));
    expect(found?.appId).toBe(ONE.id);
    expect(found?.credential.id).toBe("jwt:partner:bob");
    expect(found?.credential.authority?.isReadingAll).toBe(true);
    expect(found?.credential.authority?.isWritingAll).toBe(false);
    expect(found?.credential.mayUpload).toBe(false);
  });

  test("must be for the app of the path", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    for (let i = 0; i < 2; i++) {
      expect((await setting.find(session, ONE.id.toUpperCase()))?.appId).toBe(ONE.id);
      expect(await setting.find(session, TWO.id)).toBeUndefined();
    }
    const both = secretToken({ aud: [ONE.id, TWO.id], sub: "bob", exp: NOW_S + 600 }, SECRET);
    for (const { id } of [ONE, TWO, ONE]) expect((await setting.find(both, id))?.appId).toBe(id);
    // What was asked before is remembered for its app alone.
    for (const { id } of [ONE, TWO]) expect(setting.find(both, id)).toMatchObject({ appId: id });
  });

  test("[A25] that is for several apps needs one in the path, whatever was requested before", async () => {
    const setting = new Setting();
    const claims = { sub: "bob", exp: NOW_S + 600 };
    const both = secretToken({ ...claims, aud: [ONE.id, TWO.id] }, SECRET);
    const refusal = {
      status: 401,
      message: "the token is for several apps: the path must name one, as in /{appId}/api/v4/…",
    };
    await expect(setting.find(both)).rejects.toMatchObject(refusal);
    for (const { id } of [ONE, TWO]) {
      expect((await setting.find(both, id))?.appId).toBe(id);
      await expect(setting.find(both)).rejects.toMatchObject(refusal);
    }
    const elsewhere = secretToken({ ...claims, aud: [ONE.id, "elsewhere", ONE.id] }, SECRET);
    expect((await setting.find(elsewhere))?.appId).toBe(ONE.id);
    // Whoever made it up learns nothing.
    const forged = secretToken({ ...claims, aud: [ONE.id, TWO.id] }, `${SECRET}!`);
    expect(await setting.find(forged)).toBeUndefined();
  });

  test("is the same user as the session that was issued for it", async () => {
    const setting = new Setting();
    const token = secretToken({ aud: ONE.id, sub: "bob", exp: NOW_S + 600 }, SECRET);
    const session = await sessionOf(ONE, { provider: "partner", userId: "bob" });
    const ids = [await setting.find(token), await setting.find(session)].map(
      (bearer) => bearer?.credential.id,
    );
    expect(ids).toEqual(["jwt:partner:bob", "jwt:partner:bob"]);
  });

  test("of one app opens no other, whoever signed it", async () => {
    const setting = new Setting();
    const [key] = TWO.sessionKeys;
    const claims = { iss: "bigpeer", aud: ONE.id, sub: "ann", provider: "login", exp: NOW_S + 60 };
    const permissions = { read: { everything: true }, write: { everything: true } };
    const forged = secretToken({ ...claims, permissions }, key?.secret ?? "", { kid: "s1" });
    expect(await setting.find(forged)).toBeUndefined();
    for (const text of ["", "abc", "a.b.c", secretToken({ aud: "nobody" }, SECRET)]) {
      expect(await setting.find(text)).toBeUndefined();
    }
  });
});

describe("[A19] a session ends", () => {
  test("at its expiry, without leeway", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE, { expiresAt: NOW_S + 60 });
    setting.nowS = NOW_S + 59;
    expect(await setting.find(session)).toBeDefined();
    setting.nowS = NOW_S + 60;
    expect(await setting.find(session)).toBeUndefined();
    expect(setting.count).toBe(0);
  });

  test("when its provider is deleted", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    expect(await setting.find(session)).toBeDefined();
    setting.apps.set(ONE.id, { ...ONE, authProviders: {} });
    expect(await setting.find(session)).toBeUndefined();
  });

  test("when its provider is replaced by another of the same name", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    const { login, partner } = PROVIDERS;
    if (!login || !partner) throw new Error("expected two providers");
    for (const other of [{ ...login, id: "p3" }, partner]) {
      setting.apps.set(ONE.id, { ...ONE, authProviders: { ...PROVIDERS, login: other } });
      expect(await setting.find(session)).toBeUndefined();
    }
    setting.apps.set(ONE.id, { ...ONE, authProviders: { login } });
    expect(await setting.find(session)).toBeDefined();
  });

  test("when its signing key has been rotated twice", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    const [first] = ONE.sessionKeys;
    const [second, third] = ["s2", "s3"].map((id) => ({ id, secret: new Uint8Array(32).fill(9) }));
    if (!first || !second || !third) throw new Error("expected three keys");
    const rotated = { ...ONE, sessionKeys: [second, first] };
    setting.apps.set(ONE.id, rotated);
    expect(await setting.find(session)).toBeDefined();
    expect(await setting.find(await sessionOf(rotated))).toBeDefined();
    setting.apps.set(ONE.id, { ...ONE, sessionKeys: [third, second] });
    expect(await setting.find(session)).toBeUndefined();
    expect(await setting.find(await sessionOf(rotated))).toBeDefined();
  });
});

describe("a verified token", () => {
  test("is a lookup from then on, until the registry changes", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    const first = await setting.find(session);
    expect(setting.find(session)).toBe(first);
    expect(setting.find(session, ONE.id)).toBe(first);
    setting.apps.set(ONE.id, { ...ONE });
    const again = setting.find(session);
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toEqual(first);
  });

  test("is verified again after ten minutes", async () => {
    const setting = new Setting();
    const session = await sessionOf(ONE);
    await setting.find(session);
    setting.nowS += 599;
    expect(setting.find(session)).not.toBeInstanceOf(Promise);
    setting.nowS += 1;
    expect(setting.find(session)).toBeInstanceOf(Promise);
  });

  test.runIf(isFullSize)("is evicted if there are too many others, or too long ones", async () => {
    const setting = new Setting();
    const claims = { aud: ONE.id, exp: NOW_S + 600 };
    const tokens = Array.from({ length: 40 }, (_, i) => {
      return secretToken({ ...claims, sub: `user ${i}`, filler: "x".repeat(500_000) }, SECRET);
    });
    for (const token of tokens) await setting.find(token);
    expect(setting.count).toBeLessThan(30);
    expect(setting.count).toBeGreaterThan(20);
    expect(setting.find(tokens.at(-1) ?? "")).not.toBeInstanceOf(Promise);
    const first = setting.find(tokens[0] ?? "");
    expect(first).toBeInstanceOf(Promise);
    expect((await first)?.credential.id).toBe("jwt:partner:user 0");
  });

  test("is not cached if it is invalid", async () => {
    const setting = new Setting();
    for (let i = 0; i < 10; i++) {
      await setting.find(secretToken({ aud: ONE.id, sub: "x", exp: NOW_S + 60 }, `wrong ${i}`));
    }
    expect(setting.count).toBe(0);
  });
});

test("[A9] a provider whose keys are unavailable does not block tokens that another has signed", async () => {
  const server = await answeringServer(() => ({ status: 500 }));
  const broken = { id: "p3", type: "jwt", keys: { jwksUrl: server.url } } as const;
  const setting = new Setting();
  setting.apps.set(ONE.id, { ...ONE, authProviders: { broken, ...PROVIDERS } });
  const claims = { aud: ONE.id, sub: "bob", exp: NOW_S + 600 };
  expect(await setting.find(secretToken(claims, SECRET))).toBeDefined();
  const unknown = signerWith("ES256", "k1").token(claims);
  await expect(setting.find(unknown)).rejects.toMatchObject({ status: 503 });
});

test("no two users have one id, whatever their names and the names of their providers", () => {
  const names = ["a", "a:b", "b", "#", "%3A"];
  const users = ["a", "b", "b:a", "x".repeat(200), "y".repeat(200), "#"];
  const ids = names.flatMap((name) => users.map((user) => userCredentialId("session", name, user)));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => id.length <= 128)).toBe(true);
});

describe("[A22] the claims that a provider states about a user", () => {
  test("are in the session unchanged, 64-bit numbers included", async () => {
    const identity = { store: "Köln", number: 2n ** 62n, __proto__x: [1, null] };
    const found = await new Setting().find(await sessionOf(ONE, { identity }));
    expect([found?.userId, found?.identity]).toEqual(["ann", identity]);
    const none = await new Setting().find(await sessionOf(ONE));
    expect([none?.userId, none?.identity]).toEqual(["ann", undefined]);
  });

  test("are a claim of a token, which is refused if it is not an object or is too large", async () => {
    const claims = { aud: ONE.id, sub: "bob", exp: NOW_S + 600 };
    const findWith = (identityServiceMetadata: unknown): unknown =>
      new Setting().find(secretToken({ ...claims, identityServiceMetadata }, SECRET), ONE.id);
    expect(await findWith({ role: "cook" })).toEqual(
      expect.objectContaining({ userId: "bob", identity: { role: "cook" } }),
    );
    const largest = { text: "x".repeat(4_096 - '{"text":""}'.length) };
    expect(await findWith(largest)).toEqual(expect.objectContaining({ identity: largest }));
    for (const wrong of ["cook", [1], { text: `${largest.text}x` }]) {
      await expect(findWith(wrong)).rejects.toEqual(
        expect.objectContaining({
          status: 401,
          message: expect.stringMatching(
            /claim `identityServiceMetadata` .* expected (an|at most)/,
          ),
        }),
      );
    }
  });

  test("do not exist for an API key", () => {
    const setting = new Setting();
    setting.keys.set("bp_1", {
      id: "1",
      name: "k1",
      appId: ONE.id,
      permissions: FULL_PERMISSIONS,
      until: 7,
    });
    const found = setting.find("bp_1");
    expect(found instanceof Promise ? 0 : [found?.userId, found?.identity]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("[A23] the settings of a jwt provider", () => {
  const claims = { aud: "https://api.example", iss: "https://id.example/", sub: "bob" };

  function settingWith(changes: Partial<JwtProvider>): Setting {
    const setting = new Setting();
    const partner: JwtProvider = {
      id: "p2",
      type: "jwt",
      keys: { secret: SECRET },
      permission: READ,
    };
    const authProviders = { partner: { ...partner, ...changes } };
    setting.apps.set(ONE.id, { ...ONE, authProviders });
    return setting;
  }

  test("an own audience replaces the app's id, if the path names the app", async () => {
    const setting = settingWith({ audience: ["https://api.example", "other"] });
    const token = secretToken({ ...claims, exp: NOW_S + 600 }, SECRET);
    expect((await setting.find(token, ONE.id))?.userId).toBe("bob");
    expect((await setting.find(token, ONE.id))?.userId).toBe("bob");
    expect(await setting.find(token)).toBeUndefined();
    expect(await setting.find(token, TWO.id)).toBeUndefined();
    const own = secretToken({ ...claims, aud: ONE.id, exp: NOW_S + 600 }, SECRET);
    expect(await setting.find(own, ONE.id)).toBeUndefined();
  });

  test("issuer, algorithms and clock tolerance are enforced, and the reason of a refusal is logged", async () => {
    const good = { ...claims, aud: ONE.id, exp: NOW_S + 600 };
    const issuer = settingWith({ issuer: "https://id.example/" });
    expect((await issuer.find(secretToken(good, SECRET)))?.userId).toBe("bob");
    expect(await issuer.find(secretToken({ ...good, iss: "x" }, SECRET))).toBeUndefined();
    expect(issuer.reasons).toEqual([
      "its iss is not the issuer of the provider (provider partner)",
    ]);

    const late = secretToken({ ...good, exp: NOW_S - 30 }, SECRET);
    expect((await settingWith({}).find(late))?.userId).toBe("bob");
    const strict = settingWith({ clockTolerance: 10 });
    expect(await strict.find(late)).toBeUndefined();
    expect(strict.reasons).toEqual([expect.stringMatching(/"exp" claim .*\(provider partner\)/)]);

    const none = settingWith({ algorithms: ["RS256"] });
    expect(await none.find(secretToken(good, SECRET))).toBeUndefined();
    expect(none.reasons).toHaveLength(1);
    expect(await none.find("no token")).toBeUndefined();
    expect(none.reasons.at(-1)).toBe("it is no JWT");
  });

  test("[P22] rules of the provider use the token's user and claims", async () => {
    const read = { queriesByCollection: { notes: ["owner == :userId", "team == :claims.team"] } };
    const permission = readPermissions({ read }, "permission", { isOfUsers: true });
    const setting = settingWith({ permission });
    const rulesOf = async (team: string): Promise<unknown> => {
      const token = secretToken({ ...claims, aud: ONE.id, team, exp: NOW_S + 600 }, SECRET);
      return (await setting.find(token))?.credential.permissions.read;
    };
    const queries = (team: string) => ({
      everything: false,
      queriesByCollection: { notes: ['owner ==  "bob" ', `team ==  "${team}" `] },
    });
    expect(await rulesOf("red")).toEqual(queries("red"));
    expect(await rulesOf("blue")).toEqual(queries("blue"));
  });
});

test("[A24] the reason why a token was refused is in the log with the request id, never in the answer", async () => {
  const lines: unknown[] = [];
  let elapsedMs = 0;
  const auth = new Authentication({
    platform: { now: () => NOW_S * 1000, elapsed: () => elapsedMs },
    log: (level, message, fields) => lines.push([level, message, fields]),
    webhookTimeoutMs: 1,
  });
  const { registry } = new Setting();
  const gate = new DataGate({ source: () => ({ registry, apps: NO_APPS }), auth });
  const token = secretToken({ aud: ONE.id, sub: "bob", exp: NOW_S - 3600 }, SECRET);
  const request = {
    ...handMadeRequest({ headers: { authorization: `Bearer ${token}` } }),
    id: "request-7",
  };
  const place = { appId: undefined, version: "v4", parameters: {}, query: "" };
  const refused = Promise.resolve().then(() => gate.authenticate(request as never, place));
  await expect(refused).rejects.toThrow(
    /^the credential is not known, has expired, or is not for this app$/,
  );
  expect(lines).toEqual([
    [
      "info",
      expect.stringMatching(/^a token was refused: "exp" claim .*\(provider partner\)$/),
      { requestId: "request-7", appId: undefined },
    ],
  ]);
  for (let i = 0; i < 100; i++) auth.noteReason("no", { requestId: "r" });
  expect(lines).toHaveLength(60);
  elapsedMs += 60_000;
  auth.noteReason("no", { requestId: "r" });
  expect(lines).toHaveLength(61);
});

test("[C23] a token whose provider gives no permission any more is no longer valid for what is open", async () => {
  const setting = new Setting();
  const platform = { now: () => NOW_S * 1000, elapsed: () => 0 };
  const auth = new Authentication({ platform, log: () => {}, webhookTimeoutMs: 1 });
  const apps = { ...NO_APPS, tryUse: () => ({ app: ONE, release: () => {} }) };
  const gate = new DataGate({ source: () => ({ registry: setting.registry, apps }), auth });
  const token = secretToken({ aud: ONE.id, sub: "bob", exp: NOW_S + 600 }, SECRET);
  const request = handMadeRequest({ headers: { authorization: `Bearer ${token}` } });
  const place = { appId: undefined, version: "v4", parameters: {}, query: "" };
  expect(await gate.authenticateAgain(request as never, place)).toBeDefined();
  const partner: JwtProvider = { id: "p2", type: "jwt", keys: { secret: SECRET } };
  setting.apps.set(ONE.id, appWith(ONE.id, { authProviders: { partner } }));
  expect(await gate.authenticateAgain(request as never, place)).toBeUndefined();
});
