import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { parseCommandLine, usage } from "../../src/command/command-line.ts";
import { SETTING_GROUPS, SETTINGS } from "../../src/config/settings.ts";

function parse(line: string): ReturnType<typeof parseCommandLine> {
  return parseCommandLine(line.split(" ").filter((word) => word !== ""));
}

test("without a command the command is start, which is also called serve", () => {
  expect(parse("")).toEqual({ kind: "command", name: "start", flags: new Map() });
  expect(parse("--port 1")).toEqual(parse("serve --port 1"));
});

test("the value of a flag is the next word or the text after an equals sign", () => {
  const flags = new Map([
    ["--port", "9000"],
    ["--data-dir", "/a=b"],
  ]);
  const expected = { kind: "command", name: "start", flags };
  expect(parse("--port 9000 --data-dir /a=b")).toEqual(expected);
  expect(parse("--port=9000 --data-dir=/a=b")).toEqual(expected);
});

test("a switch takes no word, but may have a value", () => {
  expect(parse("--accept-clock --port 1")).toEqual({
    kind: "command",
    name: "start",
    flags: new Map([
      ["--accept-clock", "1"],
      ["--port", "1"],
    ]),
  });
  expect(parse("--accept-clock=0")).toEqual({
    kind: "command",
    name: "start",
    flags: new Map([["--accept-clock", "0"]]),
  });
});

test.each([
  ["--prot 1", /^--prot: expected a flag of start; did you mean --port\?$/],
  ["-p 1", /^-p: expected a flag of start; did you mean --port\?$/],
  ["--data x", /^--data: expected a flag of start; did you mean --data-dir\?$/],
  ["--tls x", /^--tls: expected a flag of start; did you mean --tls-cert or --tls-key\?$/],
  ["-x 1", /^-x: expected a flag of start \(--config, --data-dir, .*--port, .*--accept-clock\)$/],
  ["verify -p 1", /^-p: expected a flag of verify \(--config, --data-dir\)$/],
  ["--port", /^--port: expected a value, --port N$/],
  ["--port 1 --port 2", /^--port: expected it once$/],
  ["sreve", /^expected a command \(start, backup, restore, verify, .*\), found "sreve"$/],
  ["cluster", /^expected a command \(.*cluster adopt\), found "cluster"$/],
  ["cluster states", /^expected a command \(.*\), found "cluster states"$/],
  ["cluster adopt --port 1", /^--port: expected a flag of cluster adopt \(--config, .*\)$/],
  ["serve 8080", /^expected a flag of start \(.*\), found "8080"$/],
  ["backup --data-dir x", /^backup: expected --to FOLDER$/],
  ["restore --data-dir x", /^restore: expected --from FOLDER$/],
  ["verify --port 1", /^--port: expected a flag of verify \(--config, --data-dir\)$/],
])("%s is refused with the flag and the expected value", (line, message) => {
  expect(() => parse(line)).toThrow(message);
});

test("help and version are recognised anywhere", () => {
  expect(parse("--help")).toEqual({ kind: "help" });
  expect(parse("backup -h --nonsense")).toEqual({ kind: "help" });
  expect(parse("--port 1 --version")).toEqual({ kind: "version" });
});

test("every setting except the secrets is a flag of start", () => {
  expect(SETTINGS.filter(({ flag }) => flag === undefined).map(({ name }) => name)).toEqual([
    "admin-token",
    "replication-secret",
    "cluster-secret",
  ]);
  for (const { flag } of SETTINGS) {
    if (flag === undefined) continue;
    expect(parse(`${flag}=1`)).toEqual({
      kind: "command",
      name: "start",
      flags: new Map([[flag, "1"]]),
    });
  }
});

test.each(["--admin-token=hush-hush-hush-hush", "--admin-token hush-hush-hush-hush"])(
  "%s is refused without its value, and the error names where to put it instead",
  (line) => {
    const places = "in the variable BIGPEER_ADMIN_TOKEN or in the file of --config";
    const message = `--admin-token: expected it ${places}; a command line is seen by others`;
    expect(() => parse(line)).toThrow(new PeerError("config.invalid", message));
  },
);

test("the commands that take a data folder accept the config file that names it", () => {
  const flags = new Map([["--config", "bigpeer.json"]]);
  expect(parse("verify --config bigpeer.json")).toEqual({ kind: "command", name: "verify", flags });
});

test("usage names every command, group, flag, variable, default and meaning", () => {
  const text = usage();
  const settings = SETTINGS.flatMap(({ flag, name, env, default: value }) => [
    flag ?? `no flag; ${name}`,
    env,
    value,
  ]);
  const titles = SETTING_GROUPS.map(({ title }) => `\n${title}:\n`);
  const commands = ["start", "backup", "restore", "verify", "--to", "--from"];
  for (const name of [...commands, ...titles, ...settings]) expect(text).toContain(name);
  const words = text.replaceAll(/\s+/g, " ");
  for (const { meaning } of SETTINGS) expect(words).toContain(meaning);
});

test("usage fits a terminal of 80 columns", () => {
  for (const line of usage().split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
});
