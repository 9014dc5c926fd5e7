/**
 * What a browser says of itself, as a system and a name.
 */
import { expect, test } from "vitest";
import { deviceOf } from "../../src/web/user-agent.ts";

const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0";

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36`, "linux", "Chrome on Linux"],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36`,
    "android",
    "Chrome on Android",
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/156.0`,
    "win32",
    "Edge on Windows",
  ],
  [
    "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0",
    "linux",
    "Firefox on Linux",
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15",
    "darwin",
    "Safari on macOS",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1",
    "ios",
    "Safari on iOS",
  ],
  ["", "unknown", "Browser"],
])("%s", (userAgent, os, deviceName) => {
  expect(deviceOf(userAgent)).toEqual({ os, deviceName });
});
