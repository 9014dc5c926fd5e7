/**
 * `bigpeer dev` in an empty folder, on a free port.
 */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { type Outcome, runBigpeer } from "../support/run-bigpeer.ts";

const PATIENCE = { timeout: 60_000, interval: 20 };

interface Dev {
  readonly folder: string;
  readonly input: PassThrough;
  readonly ended: Promise<Outcome>;
  /** Its output so far. */
  readonly shown: () => string;
  readonly waitFor: (expected: RegExp) => Promise<RegExpExecArray>;
  readonly stop: () => void;
}

function openDev(
  words: string[] = [],
  { folder = temporaryFolder(), isTerminal = true } = {},
): Dev {
  const input = new PassThrough();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let output = "";
  const ended = runBigpeer(["dev", "--port", "0", ...words], {
    folder,
    input,
    isTerminal,
    env: { NO_COLOR: "1" },
    signal: stop.signal,
    onOutput: (text) => (output = text),
  });
  const waitFor = (expected: RegExp) =>
    vi.waitFor(() => {
      const found = expected.exec(output);
      if (found === null) throw new Error(`expected ${expected} in:\n${output}`);
      return found;
    }, PATIENCE);
  return { folder, input, ended, shown: () => output, waitFor, stop: () => stop.abort() };
}

test("dev starts a server with sample documents and prints addresses, variables, a program and rows", async () => {
  const dev = openDev();
  await dev.waitFor(/x quit\n$/);
  const text = dev.shown();
  const [, url = ""] = /^ {2}url +(http:\/\/127\.0\.0\.1:\d+)$/m.exec(text) ?? [];
  expect(text).toContain(`BIGPEER_URL=${url}\n`);
  expect(text).toMatch(
    /^BIGPEER_KEY=bp_\S+\nBIGPEER_APP_ID=[\da-f-]{36}\nBIGPEER_MANAGEMENT_URL=/m,
  );
  expect(text).toContain('import { openPeer } from "@bigpeer/peer";');
  expect(text).toMatch(/^demo-task-00001 .*\ndemo-task-00002 .*\ndemo-task-00003 /m);
  expect(existsSync(join(dev.folder, ".bigpeer", "quickstart.json"))).toBe(true);
  // The other commands find the server by themselves.
  const status = await runBigpeer(["status"], { folder: dev.folder });
  expect(JSON.parse(status.stdout)).toMatchObject({ url, collections: ["tasks"] });
  const block = /BIGPEER_URL[^]*?(?=\n\n)/.exec(text)?.[0] ?? "";
  const other = temporaryFolder();
  writeFileSync(join(other, ".env"), block);
  expect((await runBigpeer(["doctor"], { folder: other })).code).toBe(0);
  dev.input.write("x");
  expect((await dev.ended).code).toBe(0);
  expect((await runBigpeer(["status"], { folder: dev.folder })).code).toBe(3);
});

test("the key r begins again after a question, and Ctrl-C quits", async () => {
  const dev = openDev(["--dataset", "none"]);
  const [, url = ""] = await dev.waitFor(/^ {2}url +(\S+)$[^]*x quit\n$/m);
  const [, managementUrl = ""] = await dev.waitFor(/^ {2}manage +(\S+)$/m);
  const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'a'})";
  expect((await runBigpeer(["query", insert], { folder: dev.folder })).code).toBe(0);
  dev.input.write("r");
  await dev.waitFor(/begin again\? \[y\/N\] $/);
  dev.input.write("n");
  await dev.waitFor(/nothing was changed\n$/);
  dev.input.write("r");
  await dev.waitFor(/nothing was changed\n.*begin again\? \[y\/N\] $/);
  dev.input.write("y");
  await dev.waitFor(/begin again\? \[y\/N\] y\nBig Peer [^]*x quit\n$/);
  expect(dev.shown().split(`url     ${url}\n`)).toHaveLength(3);
  expect(dev.shown().split(`manage  ${managementUrl}\n`)).toHaveLength(3);
  const { stdout } = await runBigpeer(["status"], { folder: dev.folder });
  expect(JSON.parse(stdout)).toMatchObject({ url, collections: [] });
  dev.input.write("\u0003");
  expect((await dev.ended).code).toBe(0);
});

test("without a terminal there are no keys, and the documents last to the next start", async () => {
  const first = openDev([], { isTerminal: false });
  await first.waitFor(/demo-task-00003 .*\n/);
  const mine = "UPDATE tasks SET title = 'mine' WHERE _id = 'demo-task-00001'";
  await runBigpeer(["query", mine], { folder: first.folder });
  const busy = await openDev([], { folder: first.folder }).ended;
  expect(busy).toMatchObject({ code: 4, stdout: "" });
  first.stop();
  await first.ended;
  const second = openDev([], { folder: first.folder, isTerminal: false });
  await second.waitFor(/demo-task-00001 .*mine/);
  expect(second.shown()).not.toContain("keys:");
});

test.runIf(isFullSize)(
  "--reset asks before it deletes, and needs --yes without a terminal",
  async () => {
    const words = ["--dataset", "none", "--reset"];
    // There is nothing to delete yet.
    const first = openDev(words, { isTerminal: false });
    await first.waitFor(/^ {2}url +(\S+)$/m);
    const insert = "INSERT INTO cars DOCUMENTS ({'_id': 'a'})";
    const { folder } = first;
    expect((await runBigpeer(["query", insert], { folder })).code).toBe(0);
    first.stop();
    await first.ended;
    const refused = await openDev(words, { folder, isTerminal: false }).ended;
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("add --yes to agree");
    const collections = async (): Promise<unknown> => {
      const { stdout } = await runBigpeer(["status"], { folder });
      return (JSON.parse(stdout) as { collections: unknown }).collections;
    };
    for (const [more, expected] of [
      [[], ["cars"]],
      [["--reset", "--yes"], []],
    ] as const) {
      const dev = openDev(["--dataset", "none", ...more], { folder, isTerminal: false });
      await dev.waitFor(/^ {2}url +(\S+)$/m);
      expect(await collections()).toEqual(expected);
      dev.stop();
      await dev.ended;
    }
  },
);
