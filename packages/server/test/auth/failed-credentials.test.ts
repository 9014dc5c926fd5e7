/**
 * How failures of one address are slowed down, by a clock of the test.
 */

import { expect, test } from "vitest";
import { FailedCredentials } from "../../src/auth/failed-credentials.ts";

class Clock {
  now = 1_000_000;
  readonly failed: FailedCredentials = new FailedCredentials(() => this.now);

  /** So many failures; returns what is said about the last one. */
  fail(address: string, count = 1): number | undefined {
    for (let i = 0; i < count; i++) this.failed.note(address);
    return this.failed.retryAfterSeconds(address);
  }
}

test("twenty failures in a minute are answered as usual, later ones must wait for its end", () => {
  const clock = new Clock();
  expect(clock.fail("10.0.0.1", 20)).toBeUndefined();
  expect(clock.fail("10.0.0.1")).toBe(60);
  clock.now += 20_500;
  expect(clock.fail("10.0.0.1")).toBe(40);
  clock.now += 39_499;
  expect(clock.fail("10.0.0.1")).toBe(1);
  clock.now += 1;
  expect(clock.failed.retryAfterSeconds("10.0.0.1")).toBeUndefined();
  expect(clock.fail("10.0.0.1", 20)).toBeUndefined();
  expect(clock.fail("10.0.0.1")).toBe(60);
});

test("a client that has failed too often gets 429, with the time to retry", () => {
  const clock = new Clock();
  for (let i = 0; i < 20; i++) clock.failed.refuse("10.0.0.1", "token");
  clock.now += 20_500;
  expect(() => clock.failed.refuse("10.0.0.1", "token")).toThrow(
    expect.objectContaining({
      status: 429,
      message: "too many requests with a wrong token came from this address",
      headers: { "retry-after": "40" },
    }),
  );
  expect(() => clock.failed.refuse("10.0.0.2", "token")).not.toThrow();
});

test("[H43] while an address is throttled, a credential accepted from there within a day passes", () => {
  const clock = new Clock();
  const { failed } = clock;
  const waits = expect.objectContaining({ status: 429 });
  failed.accept("10.0.0.1", "ann");
  failed.accept("10.0.0.2", "bob");
  clock.fail("10.0.0.1", 21);
  expect(() => failed.pass("10.0.0.1", "ann", "credential")).not.toThrow();
  expect(() => failed.pass("10.0.0.1", "bob", "credential")).toThrow(waits);
  expect(() => failed.pass("10.0.0.2", "eve", "credential")).not.toThrow();
  clock.now += 60_000;
  expect(() => failed.pass("10.0.0.1", "bob", "credential")).not.toThrow();
  clock.now += 86_400_000 - 60_000;
  clock.fail("10.0.0.1", 21);
  expect(() => failed.pass("10.0.0.1", "ann", "credential")).toThrow(waits);
});

test("the memory of accepted credentials is bounded, and the newest stay", () => {
  const clock = new Clock();
  for (let i = 0; i < 50_001; i++) clock.failed.accept("10.0.0.1", String(i));
  expect(clock.failed.wasAccepted("10.0.0.1", "0")).toBe(false);
  expect(clock.failed.wasAccepted("10.0.0.1", "1")).toBe(true);
});

test("an address without failures is not affected", () => {
  const clock = new Clock();
  clock.fail("10.0.0.1", 100);
  expect(clock.failed.retryAfterSeconds("10.0.0.2")).toBeUndefined();
  expect(clock.fail("10.0.0.2")).toBeUndefined();
});

test.each([
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"],
  ["2001:db8::1", "2001:db8:0:0:1::"],
  ["2001:db8::1", "2001:0db8:0000::5"],
  ["::1", "::2"],
  ["fe80::1%eth0", "fe80::2"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
])("%s and %s count as one address", (one, other) => {
  const clock = new Clock();
  clock.fail(one, 20);
  expect(clock.fail(other)).toBe(60);
});

test.each([
  ["2001:db8:1:2::1", "2001:db8:1:3::1"],
  ["2001:db8::1", "2001:db8:0:1::1"],
  ["::ffff:10.0.0.1", "::ffff:10.0.0.2"],
  ["1:2:3:4::", "1:2:3::4"],
])("%s and %s do not count as one address", (one, other) => {
  const clock = new Clock();
  clock.fail(one, 20);
  expect(clock.fail(other)).toBeUndefined();
});

test("ten thousand addresses are remembered, then the one that failed first is forgotten", () => {
  const clock = new Clock();
  const addressOf = (i: number): string => `10.0.${i >> 8}.${i & 255}`;
  for (let i = 0; i < 10_000; i++) clock.fail(addressOf(i), 21);
  expect(clock.failed.retryAfterSeconds(addressOf(0))).toBe(60);
  clock.fail("192.0.2.1");
  expect(clock.failed.count).toBe(10_000);
  expect(clock.failed.retryAfterSeconds(addressOf(0))).toBeUndefined();
  expect(clock.failed.retryAfterSeconds(addressOf(1))).toBe(60);
});

test("[S83] the secret of a link passes from a throttled address if it was proven there within a day", () => {
  const clock = new Clock();
  expect(clock.failed.admits("10.0.0.1", "known")).toBe(true);
  clock.fail("10.0.0.1", 21);
  expect(clock.failed.admits("10.0.0.1", "known")).toBe(true);
  expect(clock.failed.admits("10.0.0.1", "guessed")).toBe(false);
  expect(clock.failed.admits("10.0.0.2", "guessed")).toBe(true);
  clock.now += 60_000;
  expect(clock.failed.admits("10.0.0.1", "guessed")).toBe(true);
  clock.now += 86_400_000;
  clock.fail("10.0.0.1", 21);
  expect(clock.failed.admits("10.0.0.1", "known")).toBe(false);
});
