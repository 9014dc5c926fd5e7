/**
 * Options of a peer: what is refused, and how that is told.
 */
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import {
  type CheckedNodeOptions,
  checkOptions,
  type LoginDetails,
  type PeerOptions,
} from "../src/options.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";
const GOOD: PeerOptions = { appId: APP, url: "http://localhost:8080", memory: true, token: "bp_1" };

const checked = (options: PeerOptions): CheckedNodeOptions =>
  checkOptions(options, { deviceName: "a machine" });

test.each([
  ["http://localhost:8080", "http://localhost:8080"],
  ["https://example.org/", "https://example.org"],
  ["ws://10.0.0.1:80", "http://10.0.0.1"],
  ["wss://example.org/big/peer//", "https://example.org/big/peer"],
  ["https://example.org/sync", "https://example.org/sync"],
  ["https://example.org/api", "https://example.org/api"],
])("the server at %s is reached at %s", (url, baseUrl) => {
  expect(checked({ ...GOOD, url }).baseUrl).toBe(baseUrl);
});

test.each<[string, object, string]>([
  [
    "no app",
    { appId: undefined },
    "expected the UUID of an app in lower case as appId, found undefined",
  ],
  ["a name", { appId: "shop" }, 'expected the UUID of an app in lower case as appId, found "shop"'],
  ["no url", { url: undefined }, "as url, found undefined"],
  ["a path", { url: "/here" }, 'expected a URL with http, https, ws or wss as url, found "/here"'],
  ["another scheme", { url: "ftp://x" }, 'as url, found "ftp://x"'],
  ["a password", { url: "http://ada:lovelace@x" }, "expected a URL without credentials, query"],
  ["a query", { url: "http://x/?app=1" }, "expected a URL without credentials, query or fragment"],
  ["no place", { memory: undefined }, "expected folder or memory: true, found neither"],
  ["two places", { folder: "x" }, "expected folder or memory: true, found both"],
  ["an empty folder", { memory: undefined, folder: "" }, 'expected a path as folder, found ""'],
  [
    "an option that is misspelt",
    { remot: "off" },
    "expected one of appId, url, folder, memory, token, login, deviceName, metadata, remote, attachmentBytesMax as an option, " +
      'found "remot"; did you mean remote?',
  ],
  ["an option in another letter case", { appID: APP }, 'found "appID"; did you mean appId?'],
  ["an option that is near none", { colour: 1 }, 'found "colour"'],
  [
    "the path of the data API",
    { url: "http://localhost:8080/api/v4" },
    'expected the address of the server as url, found "http://localhost:8080/api/v4"; ' +
      'use "http://localhost:8080", without /api/v4',
  ],
  [
    "the path of an operation behind a prefix",
    { url: `wss://example.org/big/${APP}/api/v5/store/execute/` },
    `; use "https://example.org/big", without /${APP}/api/v5/store/execute`,
  ],
  [
    "the path of the sync",
    { url: `ws://localhost:8080/${APP}/sync` },
    `; use "http://localhost:8080", without /${APP}/sync`,
  ],
  ["no credential", { token: undefined }, "expected token or login, found neither"],
  ["two credentials", { login: () => ({}) }, "expected token or login, found both"],
  ["a token that is none", { token: 7 }, "expected a text as token, found number"],
  ["a login that is none", { token: undefined, login: "x" }, "expected a function as login"],
  ["metadata that is none", { metadata: [] }, "expected an object as metadata, found an array"],
  ["a remote that is none", { remote: "all" }, 'expected "read", "write", "off" or a function as'],
  ["metadata with a function", { metadata: { f: () => 1 } }, "metadata.f"],
])("%s is refused with a message", (_name, change, message) => {
  const check = (): unknown => checked({ ...GOOD, ...change });
  expect(check).toThrow(PeerError);
  expect(check).toThrow(message);
});

test("by default only remote statements that read run, unless the app allows others", () => {
  expect(checked(GOOD).remote).toBe("read");
  for (const remote of ["read", "write", "off", () => true] as const) {
    expect(checked({ ...GOOD, remote }).remote).toBe(remote);
  }
});

test("a refused token is not repeated in the message", () => {
  const check = (): unknown => checked({ ...GOOD, token: "" });
  expect(check).toThrow("expected a text as token, found string");
});

test("a long value is not quoted in full, and a password not at all", () => {
  const check = (change: object) => (): unknown => checked({ ...GOOD, ...change });
  const start = `found "${"x".repeat(100)}…"`;
  expect(check({ deviceName: "x".repeat(5000) })).toThrow(start);
  expect(check({ url: "http://ada:lovelace@x" })).not.toThrow("lovelace");
});

test("options without a store or a credential, or with two of them, do not compile", () => {
  const base = { appId: APP, url: "http://localhost:8080" };
  const login = (): LoginDetails => ({ provider: "p", token: "t" });
  const good: PeerOptions[] = [
    { ...base, memory: true, token: "bp_1" },
    { ...base, folder: "x", login },
  ];
  expect(good.map((options) => checked(options).credential.kind)).toEqual(["token", "login"]);
  // @ts-expect-error -- no place
  const noPlace: PeerOptions = { ...base, token: "bp_1" };
  // @ts-expect-error -- no credential
  const noCredential: PeerOptions = { ...base, memory: true };
  // @ts-expect-error -- two places
  const twoPlaces: PeerOptions = { ...base, memory: true, folder: "x", token: "bp_1" };
  // @ts-expect-error -- two credentials
  const twoCredentials: PeerOptions = { ...base, memory: true, token: "bp_1", login };
  for (const options of [noPlace, noCredential, twoPlaces, twoCredentials]) {
    expect(() => checked(options)).toThrow("expected");
  }
});

test("undefined metadata is omitted", () => {
  expect(checked({ ...GOOD, metadata: { a: 1, b: undefined } }).metadata).toEqual({ a: 1 });
});

test("the name of the device is that of the machine, unless the app gives one", () => {
  expect(checked(GOOD).deviceName).toBe("a machine");
  expect(checked({ ...GOOD, deviceName: "till 3" }).deviceName).toBe("till 3");
  const long = checkOptions(GOOD, { deviceName: "x".repeat(10_000) });
  expect(long.deviceName.length).toBeLessThan(10_000);
});
