import { createHmac } from "node:crypto";
import { readPermissions } from "@bigpeer/engine/query";
import { describe, expect, test } from "vitest";
import { ProviderTokens } from "../../src/auth/provider-tokens.ts";
import type { JwtProvider } from "../../src/registry/auth-provider.ts";
import { answeringServer, type Given } from "../support/answering-server.ts";
import { type KeyAlgorithm, secretToken, signerWith, tokenOf } from "../support/signed-token.ts";

const APP = "6bb92a35-e1bf-41a2-afc7-2067df0c701d";
const SECRET = "a secret of thirty-two bytes, or more";
const NOW_S = 1_800_000_000;
const PERMISSIONS = { read: { everything: true }, write: {}, remoteQuery: false };
const CLAIMS = { aud: APP, sub: "ann", exp: NOW_S + 600, permissions: PERMISSIONS };
const ANN = {
  userId: "ann",
  permissions: readPermissions(PERMISSIONS),
  expiresAt: NOW_S + 600,
};

const WITH_SECRET: JwtProvider = { id: "p1", type: "jwt", keys: { secret: SECRET } };

interface Clock {
  elapsedMs: number;
}

function tokensAt(clock: Clock = { elapsedMs: 0 }, timeoutMs = 5_000): ProviderTokens {
  return new ProviderTokens({
    now: () => NOW_S * 1000,
    elapsed: () => clock.elapsedMs,
    log: () => {},
    timeoutMs,
  });
}

function verify(token: string, provider = WITH_SECRET): Promise<unknown> {
  return tokensAt().verify(token, provider, APP);
}

describe("[A6] the type of key decides how a token may be signed", () => {
  test("a secret of the app verifies HS256", async () => {
    expect(await verify(secretToken(CLAIMS, SECRET))).toEqual(ANN);
    expect(await verify(secretToken(CLAIMS, `${SECRET}!`))).toBeUndefined();
  });

  test.each(["RS256", "PS256", "ES256", "EdDSA"] satisfies KeyAlgorithm[])(
    "a key set verifies %s",
    async (algorithm) => {
      const signer = signerWith(algorithm, "k1");
      const other = signerWith(algorithm, "k1");
      const provider: JwtProvider = {
        id: "p1",
        type: "jwt",
        keys: { jwks: { keys: [signer.jwk] } },
      };
      expect(await verify(signer.token(CLAIMS), provider)).toEqual(ANN);
      expect(await verify(other.token(CLAIMS), provider)).toBeUndefined();
    },
  );

  test("a token that does not name its key is tried with all matching ones", async () => {
    const signers = [
      signerWith("ES256", "k1"),
      signerWith("ES256", "k2"),
      signerWith("EdDSA", "k3"),
    ];
    const keys = { jwks: { keys: signers.map(({ jwk }) => jwk) } };
    const provider: JwtProvider = { id: "p1", type: "jwt", keys };
    for (const signer of signers) {
      expect(await verify(signer.token(CLAIMS, { kid: undefined }), provider)).toEqual(ANN);
    }
    const stranger = signerWith("ES256", "k9").token(CLAIMS, { kid: undefined });
    expect(await verify(stranger, provider)).toBeUndefined();
  });

  test("alg none, and a public key used as a secret, are refused", async () => {
    const signer = signerWith("RS256", "k1");
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwks: { keys: [signer.jwk] } } };
    const unsigned = tokenOf({ header: { alg: "none" }, claims: CLAIMS }, () => Buffer.alloc(0));
    const pem = signer.publicKey.export({ type: "spki", format: "pem" }).toString();
    const confused = [pem, JSON.stringify(signer.jwk)].map((key) => {
      return secretToken(CLAIMS, key, { kid: "k1" });
    });
    for (const token of [unsigned, ...confused]) {
      expect(await verify(token, provider)).toBeUndefined();
      expect(await verify(token)).toBeUndefined();
    }
  });

  test.each(["", "abc", "a.b.c", "..", `${secretToken(CLAIMS, SECRET)}x`, "é.é.é"])(
    "text that is not a token is refused: %s",
    async (token) => {
      expect(await verify(token)).toBeUndefined();
    },
  );
});

describe("[A7] required claims of a token", () => {
  test.each([
    ["another app", { ...CLAIMS, aud: "ae90f7b2-499f-4c73-8353-bae98ff03c6c" }],
    ["no app", { ...CLAIMS, aud: undefined }],
    ["no end", { ...CLAIMS, exp: undefined }],
    ["an end that is no number", { ...CLAIMS, exp: "tomorrow" }],
    ["a start that is no number", { ...CLAIMS, nbf: "yesterday" }],
    ["an end before the leeway", { ...CLAIMS, exp: NOW_S - 61 }],
    ["a start beyond the leeway", { ...CLAIMS, nbf: NOW_S + 61 }],
  ])("%s is refused", async (_, claims) => {
    expect(await verify(secretToken(claims, SECRET))).toBeUndefined();
  });

  test("an expiry beyond the range of numbers is refused", async () => {
    const sign = (text: string): Buffer => createHmac("sha256", SECRET).update(text).digest();
    const [header = ""] = secretToken(CLAIMS, SECRET).split(".");
    const claims = JSON.stringify(CLAIMS).replace(String(CLAIMS.exp), "1e999");
    const text = `${header}.${Buffer.from(claims).toString("base64url")}`;
    expect(await verify(`${text}.${sign(text).toString("base64url")}`)).toBeUndefined();
  });

  test("clocks may differ by a minute, and the app may be one of several audiences", async () => {
    const claims = { ...CLAIMS, aud: ["elsewhere", APP], exp: NOW_S - 59, nbf: NOW_S + 59 };
    expect(await verify(secretToken(claims, SECRET))).toEqual({ ...ANN, expiresAt: NOW_S - 59 });
  });

  test("the issuer must be that of the provider, if it has one", async () => {
    const provider = { ...WITH_SECRET, issuer: "https://id.example.com" };
    const token = secretToken({ ...CLAIMS, iss: "https://id.example.com" }, SECRET);
    expect(await verify(token, provider)).toEqual(ANN);
    expect(await verify(token)).toEqual(ANN);
    for (const iss of [undefined, "https://other.example.com"]) {
      expect(await verify(secretToken({ ...CLAIMS, iss }, SECRET), provider)).toBeUndefined();
    }
  });
});

describe("[A8] permissions of a token", () => {
  const permission = readPermissions({ write: { everything: true } });

  test("are those of its claim, or else those of the provider", async () => {
    const provider = { ...WITH_SECRET, permission };
    expect(await verify(secretToken(CLAIMS, SECRET), provider)).toEqual(ANN);
    const without = secretToken({ ...CLAIMS, permissions: undefined }, SECRET);
    expect(await verify(without, provider)).toEqual({ ...ANN, permissions: permission });
  });

  test.each([
    [{ ...CLAIMS, permissions: undefined }, "the token has no claim `permissions`"],
    [{ ...CLAIMS, permissions: { read: true } }, "expected an object, found"],
    [{ ...CLAIMS, permissions: null }, "expected an object, found"],
    [{ ...CLAIMS, sub: undefined }, "expected the id of a user as claim `sub`"],
    [{ ...CLAIMS, sub: "" }, "expected the id of a user as claim `sub`"],
    [{ ...CLAIMS, sub: "ann\ud800" }, "expected the id of a user as claim `sub`"],
  ])(
    "that are invalid are reported to the holder of a validly signed token: %j",
    async (claims, message) => {
      await expect(verify(secretToken(claims, SECRET))).rejects.toMatchObject({
        status: 401,
        message: expect.stringContaining(message),
      });
    },
  );
});

describe("[A9] a key set at a URL", () => {
  const [first, second] = [signerWith("ES256", "k1"), signerWith("ES256", "k2")];

  test("is fetched once, and again if a token names an unknown key", async () => {
    const served = [first.jwk];
    const server = await answeringServer(() => ({ body: { keys: served } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const clock = { elapsedMs: 0 };
    const tokens = tokensAt(clock);
    for (let i = 0; i < 3; i++) {
      expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toEqual(ANN);
    }
    expect(server.asked.map(({ method }) => method)).toEqual(["GET"]);
    // Whoever makes up names of keys does not make us ask each time.
    served.push(second.jwk);
    expect(await tokens.verify(second.token(CLAIMS), provider, APP)).toBeUndefined();
    expect(server.asked).toHaveLength(1);
    clock.elapsedMs = 30_001;
    expect(await tokens.verify(second.token(CLAIMS), provider, APP)).toEqual(ANN);
    expect(server.asked).toHaveLength(2);
  });

  test("is fetched by one request for all concurrent callers", async () => {
    const server = await answeringServer(() => ({ body: { keys: [first.jwk] } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const tokens = tokensAt();
    const coming = Array.from({ length: 10 }, () =>
      tokens.verify(first.token(CLAIMS), provider, APP),
    );
    expect(await Promise.all(coming)).toEqual(coming.map(() => ANN));
    expect(server.asked).toHaveLength(1);
  });

  test("is fetched again after ten minutes; if that fails, the previous keys are used", async () => {
    const server = await answeringServer(() => ({ body: { keys: [first.jwk] } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const clock = { elapsedMs: 0 };
    const tokens = tokensAt(clock);
    await tokens.verify(first.token(CLAIMS), provider, APP);
    server.answering = () => ({ status: 500 });
    clock.elapsedMs = 600_001;
    expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toEqual(ANN);
    expect(server.asked).toHaveLength(2);
    // A key that is not among them may be a new one.
    const unknown = tokens.verify(second.token(CLAIMS), provider, APP);
    await expect(unknown).rejects.toMatchObject({ status: 503 });
    server.answering = () => ({ body: { keys: [second.jwk] } });
    clock.elapsedMs += 5_001;
    expect(await tokens.verify(second.token(CLAIMS), provider, APP)).toEqual(ANN);
    expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toBeUndefined();
  });

  test("[A26] whose server hangs does not block tokens that the previous keys verify", async () => {
    const server = await answeringServer(() => ({ body: { keys: [first.jwk] } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const clock = { elapsedMs: 0 };
    // Longer than a test may take.
    const tokens = tokensAt(clock, 60_000);
    await tokens.verify(first.token(CLAIMS), provider, APP);
    let answer: (given: Given) => void = () => {};
    server.answering = () => new Promise((resolve) => void (answer = resolve));
    clock.elapsedMs = 600_001;
    for (let i = 0; i < 10; i++) {
      expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toEqual(ANN);
    }
    expect(server.asked).toHaveLength(2);
    // One that they do not verify waits for the others.
    const waiting = tokens.verify(second.token(CLAIMS), provider, APP);
    answer({ body: { keys: [second.jwk] } });
    expect(await waiting).toEqual(ANN);
    expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toBeUndefined();
    expect(server.asked).toHaveLength(2);
  });

  test("is fetched again before an old key is trusted, if its server answers", async () => {
    const server = await answeringServer(() => ({ body: { keys: [first.jwk] } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const clock = { elapsedMs: 0 };
    const tokens = tokensAt(clock);
    await tokens.verify(first.token(CLAIMS), provider, APP);
    server.answering = () => ({ body: { keys: [second.jwk] } });
    clock.elapsedMs = 600_001;
    expect(await tokens.verify(first.token(CLAIMS), provider, APP)).toBeUndefined();
  });

  test("[A26] whose keys are more than a day old is 503", async () => {
    const server = await answeringServer(() => ({ body: { keys: [first.jwk] } }));
    const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
    const clock = { elapsedMs: 0 };
    const tokens = tokensAt(clock);
    await tokens.verify(first.token(CLAIMS), provider, APP);
    server.answering = () => ({ status: 500 });
    clock.elapsedMs = 24 * 60 * 60_000;
    const late = tokens.verify(first.token(CLAIMS), provider, APP);
    await expect(late).rejects.toMatchObject({ status: 503 });
  });

  test.each([
    ["another status", { status: 404 }],
    ["no JSON", { body: "<html>" }],
    ["no key set", { body: [1] }],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }],
    ["too much", { body: "x".repeat(300_000) }],
  ])(
    "that answers with %s is 503 and not 401, and is not fetched again for a while",
    async (_, given) => {
      const server = await answeringServer(() => given);
      const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl: server.url } };
      const clock = { elapsedMs: 0 };
      const tokens = tokensAt(clock);
      const ask = (): Promise<unknown> => tokens.verify(first.token(CLAIMS), provider, APP);
      const refusal = { status: 503, headers: { "retry-after": "5" } };
      await expect(ask()).rejects.toMatchObject(refusal);
      await expect(ask()).rejects.toMatchObject(refusal);
      expect(server.asked).toHaveLength(1);
      server.answering = () => ({ body: { keys: [first.jwk] } });
      clock.elapsedMs = 5_001;
      expect(await ask()).toEqual(ANN);
    },
  );

  test("whose server does not answer at all is 503", async () => {
    const server = await answeringServer(() => new Promise(() => {}));
    for (const jwksUrl of [server.url, "http://127.0.0.1:1/"]) {
      const tokens = tokensAt(undefined, 50);
      const provider: JwtProvider = { id: "p1", type: "jwt", keys: { jwksUrl } };
      await expect(tokens.verify(first.token(CLAIMS), provider, APP)).rejects.toMatchObject({
        status: 503,
      });
    }
  });
});
