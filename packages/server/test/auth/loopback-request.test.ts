import { describe, expect, test } from "vitest";
import { isFromThisMachine } from "../../src/auth/loopback-request.ts";
import { handMadeRequest } from "../support/hand-made-request.ts";

const HOST = { host: "127.0.0.1:8080" };

describe("[A13] a request from this machine", () => {
  test.each(["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])(
    "may come from %s",
    (address) => {
      expect(isFromThisMachine(handMadeRequest({ remoteAddress: address, headers: HOST }))).toBe(
        true,
      );
    },
  );

  test.each(["10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1", "", "127.0.0.1.example"])(
    "may not come from %s",
    (address) => {
      const request = handMadeRequest({ remoteAddress: address, headers: HOST });
      expect(isFromThisMachine(request)).toBe(false);
    },
  );

  test.each([
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-anything",
    "x-real-ip",
    "via",
    "cf-connecting-ip",
    "true-client-ip",
  ])("may not have the header %s", (name) => {
    const headers = { ...HOST, [name]: "127.0.0.1" };
    expect(isFromThisMachine(handMadeRequest({ headers }))).toBe(false);
  });

  test.each([
    ["http://localhost:3000", true],
    ["http://127.0.0.1:8080", true],
    ["https://example.com", false],
    ["http://localhost.example.com", false],
    ["null", false],
    ["", false],
  ])("may not be from a page of another machine: %s", (origin, isMeant) => {
    const headers = { ...HOST, origin };
    expect(isFromThisMachine(handMadeRequest({ headers }))).toBe(isMeant);
  });

  test.each([
    ["localhost", true],
    ["LocalHost:8080", true],
    ["[::1]:8080", true],
    ["127.0.0.1", true],
    ["127.999.1.1", false],
    ["localhost:99999", false],
    ["evil.example", false],
    ["localhost.evil.example", false],
    ["127.0.0.1.evil.example:8080", false],
    [undefined, false],
  ])("must name this machine as its host: %s", (host, isMeant) => {
    const headers = host === undefined ? {} : { host };
    expect(isFromThisMachine(handMadeRequest({ headers }))).toBe(isMeant);
  });
});
