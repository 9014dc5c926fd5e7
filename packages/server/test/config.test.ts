import { resolve } from "node:path";
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { type Environment, findUnknownVariables, readConfig, SETTINGS } from "../src/config.ts";

function read(flags: Record<string, string>, env: Environment = {}): ReturnType<typeof readConfig> {
  return readConfig(new Map(Object.entries(flags)), env);
}

test("without flags and variables the defaults hold", () => {
  expect(read({})).toEqual({
    dataDir: resolve("data"),
    port: 8080,
    host: "127.0.0.1",
    statementTimeoutMs: 30_000,
    isClockAccepted: false,
  });
});

test("a variable wins over the default, and a flag over the variable", () => {
  const env = {
    BIGPEER_DATA_DIR: "/srv/one",
    BIGPEER_PORT: "9001",
    BIGPEER_HOST: "0.0.0.0",
    BIGPEER_STATEMENT_TIMEOUT_MS: "500",
    BIGPEER_ACCEPT_CLOCK: "1",
  };
  expect(read({}, env)).toEqual({
    dataDir: "/srv/one",
    port: 9001,
    host: "0.0.0.0",
    statementTimeoutMs: 500,
    isClockAccepted: true,
  });
  const flags = {
    "--data-dir": "/srv/two",
    "--port": "0",
    "--host": "::1",
    "--statement-timeout": "60000",
    "--accept-clock": "0",
  };
  expect(read(flags, env)).toEqual({
    dataDir: "/srv/two",
    port: 0,
    host: "::1",
    statementTimeoutMs: 60_000,
    isClockAccepted: false,
  });
});

test("a variable that is set to nothing is not set", () => {
  expect(read({}, { BIGPEER_PORT: "", BIGPEER_DATA_DIR: "" })).toEqual(read({}));
});

test.each(["", "x", "-1", "65536", "8080.5", "1e3", " 80", "0x50"])(
  'the port "%s" is refused with the name of its flag and what was expected',
  (port) => {
    const message = `--port: expected a port from 0 to 65535, found "${port}"`;
    expect(() => read({ "--port": port })).toThrow(new PeerError("config.invalid", message));
  },
);

test.each(["", "0", "60001", "1.5", "5s", "-1"])(
  'the statement timeout "%s" is refused with what was expected',
  (text) => {
    const message = `--statement-timeout: expected milliseconds from 1 to 60000, found "${text}"`;
    const flags = { "--statement-timeout": text };
    expect(() => read(flags)).toThrow(new PeerError("config.invalid", message));
  },
);

test("a bad value of a variable is told with the name of the variable", () => {
  expect(() => read({}, { BIGPEER_PORT: "http" })).toThrow(
    'BIGPEER_PORT: expected a port from 0 to 65535, found "http"',
  );
  expect(() => read({}, { BIGPEER_ACCEPT_CLOCK: "yes" })).toThrow(
    'BIGPEER_ACCEPT_CLOCK: expected 1 or 0, found "yes"',
  );
});

test("an empty folder or address is refused", () => {
  expect(() => read({ "--data-dir": "" })).toThrow('--data-dir: expected a folder, found ""');
  expect(() => read({ "--host": " " })).toThrow('--host: expected an address, found " "');
});

test("a variable that is near to one of ours is told with the name that was meant", () => {
  expect(findUnknownVariables({ BIGPEER_PROT: "1", BIGPEER_PORT: "1", HOME: "/" })).toEqual([
    "the variable BIGPEER_PROT is not known and has no effect; did you mean BIGPEER_PORT?",
  ]);
  expect(findUnknownVariables({ bigpeer_datadir: "x" })).toEqual([
    "the variable bigpeer_datadir is not known and has no effect; did you mean BIGPEER_DATA_DIR?",
  ]);
});

test("a variable that is near to none of ours is told without a guess", () => {
  expect(findUnknownVariables({ BIGPEER_SOMETHING_ELSE_ENTIRELY: "1" })).toEqual([
    "the variable BIGPEER_SOMETHING_ELSE_ENTIRELY is not known and has no effect",
  ]);
});

test("no two settings share a name, a flag or a variable", () => {
  const names = SETTINGS.flatMap(({ name, flag, env }) => [name, flag, env]);
  expect(new Set(names).size).toBe(3 * SETTINGS.length);
});
