/**
 * Every subcommand of the contract: it exists, has a help, is completed, and does its work as a
 * process against a real server.
 */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { folderOfFile } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { COMMANDS } from "../../src/command/commands.ts";
import { CommandProcess, type ProcessOutcome } from "../support/command-process.ts";
import { runBigpeer, startTestServer, type TestServer } from "../support/run-bigpeer.ts";

const NAMES =
  "start dev status doctor login app key provider replication webhook query remote peers tail import export dataset attachment backup restore verify cluster openapi completion version".split(
    " ",
  );

test("the commands of the contract exist, and sink beside webhook", () => {
  expect(COMMANDS.map(({ name }) => name).toSorted()).toEqual([...NAMES, "sink"].toSorted());
});

test.each(NAMES)("the help of %s has examples before its usage", async (name) => {
  const { code, stdout, stderr } = await runBigpeer([name, "--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(
    new RegExp(`^Examples:\n {2}\\$ bigpeer ${name}[^]*^Usage: bigpeer ${name}`, "m"),
  );
});

test.runIf(isFullSize)(
  "bash completes every command, the commands below one, options and their values",
  async () => {
    const { stdout: script } = await runBigpeer(["completion", "bash"]);
    const complete = (...words: string[]): string[] => {
      const list = ["bigpeer", ...words].map((word) => `'${word}'`).join(" ");
      const call = `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _bigpeer; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["-c", `${script}\n${call}`])
        .toString()
        .trimEnd()
        .split("\n");
    };
    for (const name of NAMES) expect(complete(name.slice(0, 3))).toContain(name);
    expect(complete("webhook", "dea")).toEqual(["dead-letters"]);
    expect(complete("tail", "--vi")).toEqual(["--view"]);
    expect(complete("tail", "orders", "--view", "")).toEqual(["document", "fields"]);
    // An option of the same name has other values in another command.
    expect(complete("export", "orders", "--format", "")).toEqual(["ndjson", "csv"]);
    expect(complete("import", "a", "-f", "m")).toEqual(["mongo"]);
    expect(complete("query", "--format", "v")).toEqual(["vertical"]);
    expect(complete("webhook", "resume", "w", "--from", "old")).toEqual(["oldest"]);
    expect(complete("restore", "--from", "")).not.toContain("oldest");
  },
);

/** What each command is run with, and what shows that it did its work. */
const RUNS: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["status", [], /"status":"ready"/],
  ["doctor", [], /"check":"server","verdict":"ok"/],
  ["login", ["URL", "--key-stdin"], /^$/],
  ["app", ["list", "--format", "json"], /^\[\{"name":"default"/],
  ["key", ["list"], /"name":"quickstart"/],
  ["provider", ["list"], /^\[/],
  ["replication", ["list"], /^\[\]/],
  ["webhook", ["list"], /^\[\]/],
  ["sink", ["list"], /^\[\]/],
  ["import", ["cars.ndjson", "--collection", "cars"], /^$/],
  ["query", ["SELECT * FROM cars", "--format", "json"], /^\[\{"_id":"a"\}\]\n$/],
  ["export", ["cars"], /^\{"_id":"a"\}\n$/],
  ["tail", ["cars", "--since", "0", "--count", "1"], /^\{"type":"insert","collection":"cars"/],
  ["remote", ["SELECT * FROM cars"], /^\[\]/],
  ["peers", [], /^\[\]\n$/],
  ["dataset", ["load", "tasks"], /^\[\{"collection":"tasks","documents":100,"added":100\}\]\n$/],
  ["attachment", ["put", "cars.ndjson"], /"len":12/],
  ["backup", ["--data-dir", "DATA", "--to", "copy"], /^copied to \S+copy: registry, apps 1, /],
  ["verify", ["--data-dir", "copy"], /^registry: keys \d+, [^]*\nno problems found\n$/],
  [
    "restore",
    ["--from", "copy", "--data-dir", "restored"],
    /^copied to \S+restored: registry, apps 1, /,
  ],
  ["cluster", ["status"], /^\{"cluster":null,"nodes":\[\]\}\n$/],
  ["openapi", [], /"openapi":/],
  ["completion", ["zsh"], /^#compdef bigpeer/],
  ["version", [], /^\d+\.\d+\.\d+\n$/],
];

test("every command of the contract is run below, or serves", () => {
  const run = new Set(RUNS.map(([name]) => name));
  expect(NAMES.filter((name) => !run.has(name))).toEqual(["start", "dev"]);
});

describe.runIf(isFullSize)("as a process", () => {
  let server: TestServer;
  const folder = folderOfFile();

  beforeAll(async () => {
    server = await startTestServer();
    writeFileSync(join(folder, "cars.ndjson"), '{"_id":"a"}\n');
  });

  function runProcess(words: readonly string[]): Promise<ProcessOutcome> {
    return new CommandProcess(words, { folder, env: server.env, input: server.key }).ended;
  }

  test.each(RUNS)("%s %j does its work and exits with 0", async (name, words, expected) => {
    const places: Record<string, string> = {
      URL: server.url,
      DATA: server.dataDir,
      MANAGEMENT: server.managementUrl,
    };
    const { code, stdout, stderr } = await runProcess([
      name,
      ...words.map((word) => places[word] ?? word),
    ]);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(expected);
  });

  test.each([
    ["start", ["--data-dir", "served", "--port", "0", "--management-port", "off"], / stop /],
    ["serve", ["--data-dir", "served too", "--port", "0", "--management-port", "off"], / stop /],
    [
      "flags alone",
      ["--data-dir", "served as well", "--port", "0", "--management-port", "off"],
      / stop /,
    ],
    // A row is on the screen with nothing else typed.
    ["dev", ["--port", "0"], /^demo-task-00003 .*\n/m],
  ])("%s serves until it is stopped, and exits with 0", async (name, words, lastWords) => {
    const named = name === "flags alone" ? [] : [name];
    const serving = new CommandProcess([...named, ...words], { folder });
    const [, url = ""] = await serving.waitFor(/^ {2}url +(http\S+)$/m);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await serving.waitFor(lastWords);
    serving.child.kill("SIGTERM");
    expect(await serving.ended).toMatchObject({ code: 0, signal: null });
  });
});
