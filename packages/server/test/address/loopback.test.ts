/**
 * What names this machine: addresses of connections, hosts, the header Host, origins of pages.
 */

import { describe, expect, test } from "vitest";
import {
  isLoopbackAddress,
  isLoopbackAuthority,
  isLoopbackHost,
  isLoopbackOrigin,
} from "../../src/address/loopback.ts";

describe("[M3] this machine", () => {
  test.each(["localhost", "LocalHost", "127.0.0.1", "127.255.255.255", "::1"])(
    "is the host %s",
    (host) => {
      expect(isLoopbackHost(host)).toBe(true);
    },
  );

  test.each([
    "",
    "localhost.",
    "a.localhost",
    "127.1",
    "127.0.0.256",
    "127.0.0.01",
    "128.0.0.1",
    "0.0.0.0",
    "::",
    "::2",
    "[::1]",
    "localhost:80",
  ])("is not the host %j", (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  });

  test.each(["127.0.0.1", "::1", "::ffff:127.0.0.1", "::FFFF:127.1.2.3"])(
    "has the address %s",
    (address) => {
      expect(isLoopbackAddress(address)).toBe(true);
    },
  );

  test.each(["", "localhost", "10.0.0.1", "::ffff:10.0.0.1", "::ffff:127.0.0.256", "127.0.0.1x"])(
    "does not have the address %j",
    (address) => {
      expect(isLoopbackAddress(address)).toBe(false);
    },
  );

  test.each(["localhost", "localhost:0", "127.0.0.1:65535", "[::1]", "[::1]:8081"])(
    "is named by the header Host: %s",
    (header) => {
      expect(isLoopbackAuthority(header)).toBe(true);
      expect(URL.canParse(`http://${header}`)).toBe(true);
    },
  );

  test.each([
    "",
    ":80",
    "localhost:",
    "localhost:65536",
    "localhost:99999",
    "localhost:+80",
    "localhost:8 ",
    "::1",
    "[::1",
    "[127.0.0.1]",
    "[localhost]",
    "127.999.1.1",
    "user@localhost",
    "localhost/",
  ])("is not named by the header Host: %j", (header) => {
    expect(isLoopbackAuthority(header)).toBe(false);
  });

  test.each(["http://localhost", "https://a.localhost:3000", "http://127.0.0.1", "http://[::1]:1"])(
    "has the page %s",
    (origin) => {
      expect(isLoopbackOrigin(origin)).toBe(true);
    },
  );

  test.each([
    "",
    "null",
    "localhost",
    "http://localhost/",
    "HTTP://localhost",
    "http://localhost:80",
    "http://localhost.example.com",
    "http://.localhost",
    "ftp://localhost",
    "http://128.0.0.1",
  ])("does not have the page %j", (origin) => {
    expect(isLoopbackOrigin(origin)).toBe(false);
  });
});
