/**
 * Addresses of other Big Peers.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { checkAddress } from "../../src/registry/address.ts";

const LABEL = fc
  .array(fc.constantFrom(..."abcXYZ019-".split("")), { minLength: 1, maxLength: 63 })
  .map((characters) => characters.join(""))
  .filter((label) => !label.startsWith("-") && !label.endsWith("-"));

function isTaken(address: string): boolean {
  try {
    checkAddress(address, "connections[0]");
    return true;
  } catch {
    return false;
  }
}

test.each([
  "localhost:4040",
  "big-peer-2.example.svc.cluster.local:4040",
  "Example.COM:1",
  "127.0.0.1:65535",
  "[::1]:4040",
  "[2001:db8::ff00:42:8329]:443",
  "[::ffff:192.0.2.1]:80",
  "4040.example:4040",
  `${"a".repeat(63)}.b:1`,
])("%s is an address", (address) => {
  expect(isTaken(address)).toBe(true);
});

test.each([
  "",
  "localhost",
  ":4040",
  "localhost:",
  "localhost:0",
  "localhost:04040",
  "localhost:65536",
  "localhost:-1",
  "localhost:4040/path",
  "http://localhost:4040",
  "user@localhost:4040",
  " localhost:4040",
  "localhost:4040\n",
  "local host:4040",
  "-a.example:1",
  "a-.example:1",
  "a..example:1",
  "example.:1",
  ".example:1",
  "under_score:1",
  "bücher.example:1",
  "1.2.3:4040",
  "256.1.1.1:4040",
  "01.2.3.4:4040",
  "1234:4040",
  "::1:4040",
  "[::1]",
  "[::1:4040",
  "[:::1]:4040",
  "[fe80::1%eth0]:4040",
  "[127.0.0.1]:4040",
  "[localhost]:4040",
  `${"a".repeat(64)}.b:1`,
  `${"a.".repeat(126)}ab:1`,
])("%j is not an address", (address) => {
  expect(isTaken(address)).toBe(false);
});

test("every host name and every IPv4 and IPv6 address is accepted with every port", () => {
  const name = fc
    .array(LABEL, { minLength: 1, maxLength: 4 })
    .map((labels) => `${labels.join(".")}.x`)
    .filter((host) => host.length <= 253);
  const host = fc.oneof(
    name,
    fc.domain(),
    fc.ipV4(),
    fc.ipV6().map((six) => `[${six}]`),
  );
  fc.assert(
    fc.property(host, fc.integer({ min: 1, max: 65_535 }), (at, port) => {
      expect(isTaken(`${at}:${port}`)).toBe(true);
    }),
  );
});

test("no text makes the check throw anything else, and an accepted one has one port at its end", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fc.constantFrom(..."[]:.-1a%/@ ".split(""))).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (address) => {
      if (isTaken(address)) expect(address).toMatch(/^[^/@%\s]+:[1-9][0-9]*$/);
    }),
    { numRuns: runs(1_000) },
  );
});

test("an error has the place", () => {
  expect(() => checkAddress("http://a", "connections[3]")).toThrow(
    expect.objectContaining({
      title: "InvalidRequest",
      detail:
        "expected an address host:port, with a host name, an IPv4 address or [an IPv6 address], " +
        'found "http://a" at connections[3]',
    }),
  );
});
