/**
 * The gate of the management API: who may manage, with a token and without one.
 */

import { nodePlatform } from "@bigpeer/node";
import { expect, test } from "vitest";
import { FailedCredentials } from "../../src/auth/failed-credentials.ts";
import { Refusal } from "../../src/http/refusal.ts";
import { ManagementGate } from "../../src/management/management-gate.ts";
import { Problem } from "../../src/management/problem.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const TOKEN = "a-token-of-the-administrator";

function makeGate(adminToken: string | undefined): ManagementGate {
  const failed = new FailedCredentials(() => 0);
  return new ManagementGate({ adminToken, failed, platform: nodePlatform });
}

/** Who is let in, or why nobody is. */
function admit(gate: ManagementGate, headers: Record<string, string>, isEncrypted = false): string {
  try {
    return gate.admit({ ...handMadeRequest({ headers }), isEncrypted }).actor;
  } catch (error) {
    if (error instanceof Problem) return `${error.status} ${error.title}`;
    if (error instanceof Refusal) return String(error.status);
    throw error;
  }
}

test.each([
  "localhost",
  "localhost:8081",
  "LOCALHOST:1",
  "127.0.0.1:8081",
  "127.8.9.10",
  "[::1]",
  "[::1]:8081",
])("[M3] without a token the Host %s may manage", (host) => {
  expect(admit(makeGate(undefined), { host })).toBe("loopback");
});

test.each([
  "",
  "example.com",
  "example.com:8081",
  "evil.localhost",
  "localhost.example.com",
  "127.0.0.1.example.com",
  "1270.0.0.1",
  "10.0.0.1:8081",
  "[::2]",
  "::1",
  "0.0.0.0:8081",
  "localhost:8081@example.com",
  "localhost:",
  "localhost:99999",
  "localhost:65536",
  "127.999.1.1",
  "127.0.0.1:80:80",
])("[M3] without a token the Host %j may not manage, nor with an Origin", (host) => {
  const gate = makeGate(undefined);
  expect(admit(gate, { host })).toBe("403 HostNotAllowed");
  expect(admit(gate, { host, origin: `http://${host}` })).toBe("403 HostNotAllowed");
});

test.each([
  ["127.0.0.1:8081", "http://127.0.0.1:8081"],
  ["localhost", "http://localhost"],
  ["[::1]:8081", "http://[::1]:8081"],
])("[M3] at %s the Origin %s may manage: it is the server itself", (host, origin) => {
  expect(admit(makeGate(undefined), { host, origin })).toBe("loopback");
});

test.each([
  ["127.0.0.1:8081", "https://127.0.0.1:8081"],
  ["127.0.0.1:8081", "http://127.0.0.1:8080"],
  ["127.0.0.1:8081", "http://localhost:8081"],
  ["127.0.0.1:8081", "http://example.com"],
  ["localhost:8081", "null"],
  ["localhost:8081", ""],
])("[M3] at %s the Origin %j may not manage", (host, origin) => {
  expect(admit(makeGate(undefined), { host, origin })).toBe("403 OriginNotAllowed");
});

test("[M3] over HTTPS the own origin of the server has the scheme https", () => {
  const gate = makeGate(undefined);
  const host = "localhost:8081";
  expect(admit(gate, { host, origin: "https://localhost:8081" }, true)).toBe("loopback");
  expect(admit(gate, { host, origin: "http://localhost:8081" }, true)).toBe("403 OriginNotAllowed");
});

test("[M4] with a token every caller that has it may manage, from any address", () => {
  const host = "example.com";
  for (const authorization of [`Bearer ${TOKEN}`, `bearer  ${TOKEN} `]) {
    expect(admit(makeGate(TOKEN), { host, authorization })).toBe("admin token");
  }
  const origin = "https://console.example.com";
  expect(admit(makeGate(TOKEN), { host, origin, authorization: `Bearer ${TOKEN}` })).toBe(
    "admin token",
  );
});

test.each([
  undefined,
  "",
  "Bearer",
  "Bearer ",
  `Basic ${TOKEN}`,
  TOKEN,
  `Bearer ${TOKEN}x`,
  `Bearer ${TOKEN.slice(0, -1)}`,
  `Bearer ${TOKEN} ${TOKEN}`,
  `Bearer ${TOKEN.toUpperCase()}`,
])("[M4] with a token the Authorization %j is 401, also from this machine", (authorization) => {
  const headers = { host: "localhost", ...(authorization !== undefined && { authorization }) };
  expect(admit(makeGate(TOKEN), headers)).toBe("401");
});

test("[M4] after 20 wrong tokens all are 429, unless the right one came from there within a day", () => {
  const guessing = makeGate(TOKEN);
  for (let i = 0; i < 21; i++) admit(guessing, { authorization: "Bearer wrong" });
  expect(admit(guessing, { authorization: `Bearer ${TOKEN}` })).toBe("429");
  const gate = makeGate(TOKEN);
  expect(admit(gate, { authorization: `Bearer ${TOKEN}` })).toBe("admin token");
  const wrong = { authorization: "Bearer wrong" };
  const found = Array.from({ length: 22 }, () => admit(gate, wrong));
  expect(found).toEqual([...Array.from({ length: 20 }, () => "401"), "429", "429"]);
  expect(admit(gate, { authorization: `Bearer ${TOKEN}` })).toBe("admin token");
  // Whoever sends none guesses nothing.
  expect(admit(gate, {})).toBe("401");
});

test.each([undefined, TOKEN])(
  "[M37] pages of other sites may not call, with the token %s",
  (token) => {
    const headers = {
      host: "localhost:8081",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const gate = makeGate(token);
    const sites = ["cross-site", "same-site", "none", "same-origin", undefined];
    const found = sites.map((site) =>
      admit(gate, { ...headers, ...(site !== undefined && { "sec-fetch-site": site }) }),
    );
    const isIn = token === undefined ? "loopback" : "admin token";
    const refused = "403 OriginNotAllowed";
    expect(found).toEqual([refused, refused, isIn, isIn, isIn]);
  },
);
