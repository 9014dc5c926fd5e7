import { readPermissions } from "@bigpeer/engine/query";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { describe, expect, test } from "vitest";
import {
  type AuthProviders,
  drawWebhookSecret,
  providersOfStore,
  readProvider,
  readProviders,
  shownProviders,
  storedProviders,
  weakProviders,
  withNewSecret,
} from "../../src/registry/auth-provider.ts";
import { signerWith } from "../support/signed-token.ts";

const PERMISSION = { read: { everything: true } };
const ANONYMOUS = {
  type: "anonymous",
  permission: PERMISSION,
  sessionLength: 3600,
  sharedToken: "shared-by-all-of-us",
};
const WEBHOOK = { type: "tokenWebhook", webhookUrl: "https://auth.example.com/check" };
const SECRET = "s".repeat(32);
const ID: unknown = expect.stringMatching(/^[0-9a-f]{16}$/);

let drawn = 0;

function random(size: number): Uint8Array {
  drawn++;
  return new Uint8Array(size).fill(drawn);
}

function read(given: unknown, before: AuthProviders = {}): AuthProviders {
  return readProviders(given, before, random);
}

function refusal(given: unknown): unknown {
  try {
    return read(given);
  } catch (error) {
    return (error as Error).message;
  }
}

describe("[A20] providers", () => {
  test("are parsed in all their types", () => {
    const { jwk } = signerWith("ES256", "k1");
    const permission = readPermissions(PERMISSION);
    const providers = read({
      __playgroundProvider: { ...ANONYMOUS, loopbackOnly: true },
      hook: WEBHOOK,
      secret: {
        type: "jwt",
        secret: SECRET,
        issuer: "https://id.example.com",
        permission: PERMISSION,
      },
      keys: { type: "jwt", jwks: { keys: [jwk] } },
      url: { type: "jwt", jwksUrl: "https://id.example.com/keys" },
    });
    const { hook, ...others } = providers;
    expect(others).toEqual({
      __playgroundProvider: {
        id: ID,
        type: "anonymous",
        permission,
        sessionLength: 3600,
        sharedToken: "shared-by-all-of-us",
        isLoopbackOnly: true,
      },
      secret: {
        id: ID,
        type: "jwt",
        keys: { secret: SECRET },
        issuer: "https://id.example.com",
        permission,
      },
      keys: { id: ID, type: "jwt", keys: { jwks: { keys: [jwk] } } },
      url: { id: ID, type: "jwt", keys: { jwksUrl: "https://id.example.com/keys" } },
    });
    const ids = Object.values(providers).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const secrets = hook?.type === "tokenWebhook" ? hook.secrets : [];
    expect(secrets.map((secret) => Buffer.from(secret, "base64").length)).toEqual([128]);
  });

  test("may be under the name of their type, and a webhook under its alias", () => {
    const { type: _, ...anonymous } = ANONYMOUS;
    const { type: _type, ...webhook } = WEBHOOK;
    const { a, ...hooks } = read({
      a: { anonymous },
      b: { tokenWebhook: webhook },
      c: { ...WEBHOOK, type: "webhookUrl" },
      d: webhook,
    });
    expect(a?.type).toBe("anonymous");
    const types = Object.values(hooks).map(({ type }) => type);
    expect(types).toEqual(["tokenWebhook", "tokenWebhook", "tokenWebhook"]);
  });

  test("may have names such as __proto__", () => {
    const providers = read(JSON.parse(`{"__proto__": ${JSON.stringify(WEBHOOK)}}`));
    expect(Object.keys(providers)).toEqual(["__proto__"]);
    expect(Object.keys(shownProviders(providers))).toEqual(["__proto__"]);
    expect(Object.keys(providersOfStore(storedProviders(providers)))).toEqual(["__proto__"]);
  });

  test.each([
    [null, "expected an object of providers by name, found null at authProviders"],
    [[], "expected an object of providers by name, found an array at authProviders"],
    [{ "a/b": WEBHOOK }, "expected a name of 1 to 63 characters without spaces and slashes"],
    [{ "": WEBHOOK }, "expected a name of 1 to 63 characters"],
    [{ ["x".repeat(64)]: WEBHOOK }, "expected a name of 1 to 63 characters"],
    [{ "a b": WEBHOOK }, "expected a name of 1 to 63 characters"],
    [{ a: 1 }, "expected an object, found the number 1 at authProviders.a"],
    [
      { a: {} },
      "missing required field: expected one of anonymous, tokenWebhook, jwt at authProviders.a.type",
    ],
    [{ a: { type: "ldap" } }, 'found "ldap" at authProviders.a.type'],
    [{ a: { ...ANONYMOUS, permission: null } }, "missing required field: expected"],
    [{ a: { ...ANONYMOUS, sharedToken: null } }, "missing required field: expected"],
    [{ a: { ...ANONYMOUS, sharedToken: "" } }, "found 0 characters at authProviders.a.sharedToken"],
    [
      { a: { ...ANONYMOUS, sharedToken: "fifteen letters" } },
      "expected a secret of at least 16 characters, found 15 characters at authProviders.a.sharedToken",
    ],
    [
      { a: { ...ANONYMOUS, loopbackOnly: 1 } },
      "found the number 1 at authProviders.a.loopbackOnly",
    ],
    [{ a: { ...ANONYMOUS, sessionLength: 0 } }, "an integer from 1 to 31536000"],
    [{ a: { ...ANONYMOUS, sessionLength: 31_536_001 } }, "an integer from 1 to 31536000"],
    [{ a: { ...ANONYMOUS, sessionLenght: 1 } }, "expected no other fields"],
    [{ a: { ...ANONYMOUS, permission: { read: 1 } } }, "authProviders.a.permission.read"],
    [
      {
        a: {
          ...ANONYMOUS,
          permission: { read: { everything: false, queriesByCollection: { cars: ["color =="] } } },
        },
      },
      "authProviders.a.permission.read.queriesByCollection.cars[0]",
    ],
    [
      { a: { type: "tokenWebhook" } },
      "missing required field: expected a URL at authProviders.a.webhookUrl",
    ],
    [{ a: { webhookUrl: 1 } }, "tokenWebhook, jwt at authProviders.a.type"],
    [{ a: { ...WEBHOOK, id: "0" } }, "expected no other fields"],
    [{ a: { type: "jwt" } }, "expected exactly one of secret, jwks and jwksUrl at authProviders.a"],
    [{ a: { type: "jwt", secret: "s".repeat(31) } }, "expected at least 32 bytes, found 31 bytes"],
    [
      { a: { type: "jwt", secret: SECRET, jwksUrl: "https://a.example" } },
      "expected exactly one of secret, jwks and jwksUrl",
    ],
    [{ a: { type: "jwt", jwks: { keys: [] } } }, "a JWK set with 1 to 100 keys"],
    [{ a: { type: "jwt", jwks: { keys: [{ kty: "oct", k: "AA" }] } } }, "jwks.keys[0]"],
    [{ a: { type: "jwt", jwks: { keys: [{ kty: "EC", d: "AA" }] } } }, "without its private part"],
    [{ a: { ...WEBHOOK, secrets: ["c2hvcnQ="] } }, "1 to 2 texts in base64, each of 128 bytes"],
  ])("that are invalid are refused with their place: %j", (given, expected) => {
    expect(refusal(given)).toContain(expected);
  });

  test.each([
    "ftp://auth.example.com",
    "auth.example.com",
    "https://user:pass@auth.example.com",
    "https://auth.example.com/#part",
  ])("may have only http and https URLs without credentials: %s", (webhookUrl) => {
    const message = "expected a URL with http or https, without credentials and fragment";
    expect(refusal({ a: { ...WEBHOOK, webhookUrl } })).toContain(message);
    expect(refusal({ a: { type: "jwt", jwksUrl: webhookUrl } })).toContain(message);
    expect(refusal({ a: { ...WEBHOOK, webhookUrl } })).not.toContain("pass");
  });
});

test("[A20] one provider is refused at the places of its request", () => {
  const places = { name: "name", config: "config" };
  const readOne = (name: string, given: unknown) => () =>
    readProvider(name, given, { before: undefined, random, places });
  expect(readOne("a", { type: "ldap" })).toThrow('found "ldap" at config.type');
  expect(readOne("a", { ...ANONYMOUS, permission: {}, x: 1 })).toThrow("at config.x");
  expect(readOne("a", { anonymous: { permission: { read: 1 } } })).toThrow(
    "at config.anonymous.permission.read",
  );
  expect(readOne("a b", WEBHOOK)).toThrow("without spaces and slashes at name");
  expect(readOne("a", WEBHOOK)().type).toBe("tokenWebhook");
});

describe("[A29] the id of a provider", () => {
  const ids = (providers: AuthProviders) => Object.values(providers).map(({ id }) => id);

  test("stays if another of its type replaces it, and is never shown", () => {
    const before = read({ a: ANONYMOUS, b: WEBHOOK });
    const changed = { ...ANONYMOUS, sharedToken: "another-one-for-all", sessionLength: 1 };
    const webhookUrl = "https://other.example.com/";
    expect(ids(read({ a: changed, b: { ...WEBHOOK, webhookUrl } }, before))).toEqual(ids(before));
    for (const id of ids(before)) expect(JSON.stringify(shownProviders(before))).not.toContain(id);
  });

  test("is new for one of another type, and for one that is created again", () => {
    const before = read({ a: ANONYMOUS, b: WEBHOOK });
    const after = read({ a: WEBHOOK, b: ANONYMOUS }, before);
    const anew = read({ a: ANONYMOUS, b: WEBHOOK }, read({}, before));
    expect(new Set([before, after, anew].flatMap(ids)).size).toBe(6);
  });

  test("is the same at each read for those stored before there were ids", () => {
    const kept = storedProviders(read({ a: ANONYMOUS })) as { a: ValueObject };
    const { id: _, ...rest } = kept.a;
    const [first, second] = [providersOfStore({ a: rest }), providersOfStore({ a: rest })];
    expect(ids(first)).toEqual(ids(second));
    expect(providersOfStore(storedProviders(first))).toEqual(first);
    expect(() => providersOfStore({ a: { ...rest, id: 1 } })).toThrow("expected auth providers");
  });
});

describe("[A21] the secrets of providers", () => {
  const given = {
    anonymous: ANONYMOUS,
    hook: WEBHOOK,
    jwt: { type: "jwt", secret: SECRET },
  };

  test("are never shown, and the shown providers can be sent back without losing them", () => {
    const providers = read(given);
    const shown = shownProviders(providers);
    for (const text of ["shared-by-all-of-us", SECRET, "secrets", "sharedToken"]) {
      expect(JSON.stringify(shown)).not.toContain(`"${text}"`);
    }
    expect(read(shown, providers)).toEqual(providers);
  });

  test("are not taken over by a provider of another name or type", () => {
    const providers = read(given);
    const { type: _, ...hook } = WEBHOOK;
    const changed = read({ other: WEBHOOK, hook: { tokenWebhook: hook } }, providers);
    expect(changed["hook"]).toEqual(providers["hook"]);
    expect(changed["other"]).not.toEqual(providers["hook"]);
    expect(() => read({ hook: { type: "jwt" } }, providers)).toThrow(
      "expected exactly one of secret",
    );
    expect(() => read({ jwt: { ...ANONYMOUS, sharedToken: null } }, providers)).toThrow(
      "missing required field: expected text",
    );
  });

  test("are stored in the registry", () => {
    const providers = read(given);
    expect(providersOfStore(storedProviders(providers))).toEqual(providers);
    for (const value of [null, { a: WEBHOOK }, { a: { type: "jwt" } }] as Value[]) {
      expect(() => providersOfStore(value)).toThrow("expected auth providers in the registry");
    }
  });

  test("of a webhook are two while they are rotated", () => {
    const { hook } = read(given);
    if (hook?.type !== "tokenWebhook") throw new Error("expected a webhook");
    const [first = ""] = hook.secrets;
    const second = drawWebhookSecret(random);
    const third = drawWebhookSecret(random);
    const changed = withNewSecret(hook, second);
    expect(changed.secrets).toEqual([second, first]);
    expect(withNewSecret(changed, third).secrets).toEqual([third, second]);
  });
});

test("[A21] a short shared token that was stored earlier still works, and stays if it is not given", () => {
  const stored = storedProviders(read({ door: ANONYMOUS }));
  const old = JSON.parse(JSON.stringify(stored).replace("shared-by-all-of-us", "short"));
  const before = providersOfStore(old);
  expect(weakProviders(before)).toEqual(["door"]);
  const { sharedToken: _, ...rest } = ANONYMOUS;
  const after = readProviders({ door: { ...rest, sessionLength: 1 } }, before, random);
  expect(weakProviders(after)).toEqual(["door"]);
  const given = { door: { ...ANONYMOUS, sharedToken: "short" } };
  expect(() => readProviders(given, before, random)).toThrow("at least 16 characters");
});
