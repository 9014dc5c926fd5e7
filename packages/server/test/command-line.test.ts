import { expect, test } from "vitest";
import { parseCommandLine, usage } from "../src/command-line.ts";
import { SETTINGS } from "../src/config.ts";

function parse(line: string): ReturnType<typeof parseCommandLine> {
  return parseCommandLine(line.split(" ").filter((word) => word !== ""));
}

test("without a command it is serve", () => {
  expect(parse("")).toEqual({ kind: "command", name: "serve", flags: new Map() });
  expect(parse("--port 1")).toEqual(parse("serve --port 1"));
});

test("the value of a flag is the next word or what follows an equals sign", () => {
  const flags = new Map([
    ["--port", "9000"],
    ["--data-dir", "/a=b"],
  ]);
  const expected = { kind: "command", name: "serve", flags };
  expect(parse("--port 9000 --data-dir /a=b")).toEqual(expected);
  expect(parse("--port=9000 --data-dir=/a=b")).toEqual(expected);
});

test("a switch takes no word, but may be given a value", () => {
  expect(parse("--accept-clock --port 1")).toMatchObject({
    flags: new Map([
      ["--accept-clock", "1"],
      ["--port", "1"],
    ]),
  });
  expect(parse("--accept-clock=0")).toMatchObject({ flags: new Map([["--accept-clock", "0"]]) });
});

test.each([
  ["--prot 1", /^--prot: expected a flag of serve \(.*\); did you mean --port\?$/],
  ["-p 1", /^-p: expected a flag of serve \(--data-dir, --port, --host, .*--accept-clock\)$/],
  ["--port", /^--port: expected a value, --port N$/],
  ["--port 1 --port 2", /^--port: expected it once$/],
  ["sreve", /^expected a command \(serve, backup, restore, verify\), found "sreve"$/],
  ["serve 8080", /^expected a flag of serve \(.*\), found "8080"$/],
  ["backup --data-dir x", /^backup: expected --to FOLDER$/],
  ["restore --data-dir x", /^restore: expected --from FOLDER$/],
  ["verify --port 1", /^--port: expected a flag of verify \(--data-dir\)$/],
])("%s is refused with the flag and what was expected", (line, message) => {
  expect(() => parse(line)).toThrow(message);
});

test("help and version are understood wherever they stand", () => {
  expect(parse("--help")).toEqual({ kind: "help" });
  expect(parse("backup -h --nonsense")).toEqual({ kind: "help" });
  expect(parse("--port 1 --version")).toEqual({ kind: "version" });
});

test("every setting is a flag of serve", () => {
  for (const { flag } of SETTINGS) {
    expect(parse(`${flag}=1`)).toEqual({
      kind: "command",
      name: "serve",
      flags: new Map([[flag, "1"]]),
    });
  }
});

test("usage names every command, flag, variable and default", () => {
  const text = usage();
  const names = SETTINGS.flatMap((setting) => [setting.flag, setting.env, setting.default]);
  for (const name of ["serve", "backup", "restore", "verify", "--to", "--from", ...names]) {
    expect(text).toContain(name);
  }
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
});
