/**
 * The frame of the command line: help, suggestions, exit codes and where output goes.
 */

import { expect, test } from "vitest";
import { COMMANDS } from "../../src/command/commands.ts";
import { isServerCommand } from "../../src/command/server-commands.ts";
import type { CommandDefinition } from "../../src/program/definition.ts";
import { runBigpeer } from "../support/run-bigpeer.ts";

function pathsOf(commands: readonly CommandDefinition[], above: string[] = []): string[][] {
  return commands.flatMap(({ name, commands: inner = [] }) => {
    const path = [...above, name];
    return [path, ...pathsOf(inner, path)];
  });
}

test.each(pathsOf(COMMANDS).map((path) => [path.join(" "), path] as const))(
  "the help of %s begins with examples of that command",
  async (name, path) => {
    const { code, stdout, stderr } = await runBigpeer([...path, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Examples:\n {2}\$ bigpeer /);
    expect(stdout).toContain(`$ bigpeer ${name.split(" ")[0]}`);
    expect(stdout).toContain(`Usage: bigpeer ${name}`);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(160);
  },
);

test("the help of all lists every command under a heading", async () => {
  const { code, stdout } = await runBigpeer(["--help"]);
  expect(code).toBe(0);
  for (const { name, meaning } of COMMANDS) {
    expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(meaning);
  }
  expect(stdout).toContain("Manage a server:");
});

test("the help of start has every setting with its variable", async () => {
  const { stdout } = await runBigpeer(["start", "--help"]);
  expect(stdout).toContain("--data-dir <DIR>");
  expect(stdout).toContain("BIGPEER_DATA_DIR");
  expect(stdout).toContain("Usage: bigpeer start|serve");
});

test("flags without a command, and serve, start the server; a help is for all commands", () => {
  expect(isServerCommand([])).toBe(true);
  expect(isServerCommand(["--port", "9000"])).toBe(true);
  expect(isServerCommand(["serve"])).toBe(true);
  expect(isServerCommand(["start", "--port=1"])).toBe(true);
  expect(isServerCommand(["cluster", "adopt"])).toBe(true);
  expect(isServerCommand(["cluster", "status"])).toBe(false);
  expect(isServerCommand(["start", "--help"])).toBe(false);
  expect(isServerCommand(["--version"])).toBe(false);
  expect(isServerCommand(["query", "SELECT 1"])).toBe(false);
});

test.each([
  [["statsu"], /unknown command 'statsu'\n\(Did you mean status\?\)/],
  [["cluster", "statsu"], /unknown command 'statsu'\n\(Did you mean status\?\)/],
  [["app", "lst"], /unknown command 'lst'\n\(Did you mean list\?\)/],
  [["status", "--fromat", "json"], /unknown option '--fromat'\n\(Did you mean --format\?\)/],
  [
    ["status", "--format", "xml"],
    /argument 'xml' is invalid\. Allowed choices are table, vertical, json/,
  ],
  [["remote"], /missing required argument 'statement'/],
  [["completion", "ksh"], /Allowed choices are bash, zsh, fish/],
  [
    ["query", "SELECT 1", "--timeout", "soon"],
    /--timeout: expected a whole number from 1 on, found "soon"/,
  ],
  [["query", "SELECT 1", "--url", ""], /--url: expected a value, found nothing/],
  [["app", "list", "--management-url", ""], /--management-url: expected a value, found nothing/],
  [["key", "list", "--app", ""], /--app: expected a value, found nothing/],
  [["query", "SELECT 1", "--param", "id"], /expected a parameter as name=value, found "id"/],
  [["query", "SELECT 1", "--args", "[1]"], /--args: expected an object in JSON/],
])("wrong usage is exit code 2 and prints nothing to stdout: %j", async (words, message) => {
  const env = { BIGPEER_URL: "http://127.0.0.1:1" };
  const { code, stdout, stderr } = await runBigpeer(words, { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^bigpeer: /);
});

test("a group without one of its commands is wrong usage and shows its help on stderr", async () => {
  const { code, stdout, stderr } = await runBigpeer(["app"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("Usage: bigpeer app");
});

test("no server is exit code 3, with what to do", async () => {
  const none = await runBigpeer(["status"]);
  expect(none).toMatchObject({ code: 3, stdout: "" });
  expect(none.stderr).toMatch(/^bigpeer: no server is known: run bigpeer start .*BIGPEER_URL/);
  // Nothing listens on port 1.
  const env = { BIGPEER_URL: "http://127.0.0.1:1", BIGPEER_KEY: "x" };
  const dead = await runBigpeer(["status"], { env });
  expect(dead).toMatchObject({ code: 3, stdout: "" });
  expect(dead.stderr).toMatch(/^bigpeer: failed to reach http:\/\/127\.0\.0\.1:1: /);
});

test("an address that is none is wrong usage and names its source", async () => {
  const { code, stderr } = await runBigpeer(["status"], { env: { BIGPEER_URL: "localhost" } });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^bigpeer: BIGPEER_URL: expected an address such as http.*"localhost"/);
});

test.each(["bash", "zsh", "fish"])(
  "completion %s prints a script with all commands",
  async (shell) => {
    const { code, stdout, stderr } = await runBigpeer(["completion", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const { name } of COMMANDS) expect(stdout).toContain(name);
    expect(stdout).toContain("bigpeer");
    expect(stdout).toContain(shell === "fish" ? "-l format" : "--format");
  },
);

test("version prints the version, as --version does", async () => {
  const { stdout } = await runBigpeer(["version"]);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await runBigpeer(["--version"])).stdout).toBe(stdout);
});
