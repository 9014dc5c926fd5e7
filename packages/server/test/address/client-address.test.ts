/** The address of a client: what a proxy says is believed only where the proxy is trusted. */

import { expect, test } from "vitest";
import {
  type AddressRange,
  readAddressRange,
  TrustedProxies,
} from "../../src/address/client-address.ts";

function proxies(...texts: string[]): TrustedProxies {
  return new TrustedProxies(texts.map((text) => readAddressRange(text) as AddressRange));
}

test.each([
  ["10.0.0.5", { address: "10.0.0.5", family: "ipv4", prefix: 32 }],
  ["10.0.0.0/8", { address: "10.0.0.0", family: "ipv4", prefix: 8 }],
  ["0.0.0.0/0", { address: "0.0.0.0", family: "ipv4", prefix: 0 }],
  ["fd00::/8", { address: "fd00::", family: "ipv6", prefix: 8 }],
  ["::1", { address: "::1", family: "ipv6", prefix: 128 }],
  ["::ffff:10.0.0.5", { address: "10.0.0.5", family: "ipv4", prefix: 32 }],
])("%s is an address range", (text, range) => {
  expect(readAddressRange(text)).toEqual(range);
});

test.each([
  "",
  "proxy",
  "10.0.0",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "fd00::/129",
  "::1/-1",
])("%s is not an address range", (text) => {
  expect(readAddressRange(text)).toBe(undefined);
});

const TRUSTED = proxies("10.0.0.0/8", "fd00::/8");

test.each([
  ["the header of an untrusted client is ignored", "192.0.2.7", "198.51.100.1", "192.0.2.7"],
  ["the client of a proxy", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["entries further left are not trusted", "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"],
  ["through several proxies", "10.0.0.1", "198.51.100.1,10.9.9.9 , fd00::2", "198.51.100.1"],
  ["a proxy as it is in IPv6", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["a client in IPv6", "fd00::1", "2001:db8::5", "2001:db8::5"],
  ["a mapped client", "fd00::1", "::ffff:198.51.100.1", "198.51.100.1"],
  ["with ports", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
  ["with brackets and a port", "10.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"],
  ["proxies alone", "10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"],
  ["nothing", "10.0.0.1", "", "10.0.0.1"],
  ["no address", "10.0.0.1", "unknown", "10.0.0.1"],
  ["no address left of a proxy", "10.0.0.1", "<script>, 10.0.0.2", "10.0.0.2"],
  ["commas", "10.0.0.1", ",,,", "10.0.0.1"],
  ["a host with a port", "10.0.0.1", "[198.51.100.1]:80", "10.0.0.1"],
])("[H46] %s", (_name, remoteAddress, header, client) => {
  expect(TRUSTED.clientOf(remoteAddress, header)).toBe(client);
});

test("[H46] a very long header is read from its end, and only partly", () => {
  const header = `198.51.100.1${", 10.0.0.2".repeat(5_000)}`;
  expect(TRUSTED.clientOf("10.0.0.1", header)).toBe("10.0.0.2");
  expect(TRUSTED.clientOf("10.0.0.1", "x".repeat(100_000))).toBe("10.0.0.1");
});

test("[H46] without trusted proxies the header has no effect", () => {
  expect(proxies().clientOf("10.0.0.1", "198.51.100.1")).toBe("10.0.0.1");
  expect(TRUSTED.clientOf("10.0.0.1", undefined)).toBe("10.0.0.1");
});
