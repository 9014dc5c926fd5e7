/**
 * The example with tasks in a terminal, driven over pipes as a process of its own: what it shows of
 * tasks, sync and others, and that it answers what its server is asked.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { bundleScript } from "../../node/test/support/script.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { type RealServer, startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

const example = fileURLToPath(new URL("../../../examples/tasks-terminal.mjs", import.meta.url));

/** A process that is typed to, and all that it has printed. */
class Terminal {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown[]>;
  text = "";
  errorText = "";

  constructor(path: string, parameters: readonly string[]) {
    this.process = spawn(process.execPath, [path, ...parameters]);
    this.ended = once(this.process, "close");
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.text += text;
    });
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errorText += text;
    });
  }

  type(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  /** Waits until the line was printed. */
  shown(line: string): Promise<void> {
    return until(() => this.text.includes(`${line}\n`));
  }
}

async function open(server: RealServer, ...parameters: string[]): Promise<Terminal> {
  const script = await bundleScript(example);
  onTestFinished(() => script.remove());
  const quickstart = join(temporaryFolder(), "quickstart.json");
  writeFileSync(quickstart, JSON.stringify(server.content));
  const terminal = new Terminal(script.path, ["--quickstart", quickstart, ...parameters]);
  onTestFinished(() => {
    terminal.process.kill("SIGKILL");
  });
  return terminal;
}

async function askPeers({ running, content }: RealServer, statement: string): Promise<unknown> {
  const response = await fetch(`${running.url}/api/v4/sync/remote_execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${content.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ statement }),
  });
  expect(response.status).toBe(200);
  return response.json();
}

test.runIf(isFullSize)(
  "the tasks example shows tasks, sync and other peers, and answers remote statements",
  {
    timeout: 60_000,
  },
  async () => {
    const server = await startRealServer();
    const terminal = await open(server, "--name", "till");
    await terminal.shown("sync: connected, 0 to be uploaded");
    await terminal.shown("tasks: none");
    await terminal.shown("peers: none");

    // What is typed is stored, shown and uploaded; what others do is shown as well.
    terminal.type("add Tea");
    await terminal.shown("tasks: 1 [ ] Tea");
    const other = await server.peer({ deviceName: "phone" });
    other.sync.registerSubscription("SELECT * FROM tasks");
    const titles: unknown[] = [];
    other.store.registerObserver("SELECT title FROM tasks", ({ items }) => {
      titles.push(...items.map((item) => item["title"]));
    });
    other.sync.start();
    await terminal.shown("peers: phone");
    await until(() => titles.includes("Tea"));
    const cake = { _id: "c", title: "Cake\u001b[2J", isDone: false };
    await other.store.execute("INSERT INTO tasks DOCUMENTS (:cake)", { cake });
    await terminal.shown("tasks: 1 [ ] Cake [2J");
    terminal.type("toggle 2");
    await terminal.shown("tasks: 2 [x] Tea");
    terminal.type("toggle 9");
    await terminal.shown("news: expected a number from 1 to 2");
    terminal.type("add ");
    await terminal.shown("news: expected a title");
    terminal.type("sing");
    await terminal.shown('news: expected add, toggle or quit, found "sing"');

    // Only the one that was asked for is asked.
    const where = "SYNC CONTEXT ( PEERS WHERE deviceName = 'till' )";
    const read = "SELECT title FROM tasks WHERE isDone = true";
    expect(await askPeers(server, `${where} ${read}`)).toEqual({
      result: [expect.objectContaining({ items: [{ title: "Tea" }] })],
    });
    await until(() =>
      /news: remote statement: SELECT title.*: 1 rows in \d+ ms\n/.test(terminal.text),
    );
    expect(await askPeers(server, `${where} DELETE FROM tasks`)).toEqual({
      result: [
        expect.objectContaining({
          items: [],
          error: { description: expect.stringContaining("runs only statements that read") },
        }),
      ],
    });
    await terminal.shown(
      "news: remote statement: DELETE FROM tasks: the app of this peer runs only statements that read",
    );

    terminal.type("quit");
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.errorText).toBe("");
  },
);

test.runIf(isFullSize)(
  "the tasks example prints its options with --help, and after an unknown one",
  async () => {
    const script = await bundleScript(example);
    onTestFinished(() => script.remove());
    const helped = new Terminal(script.path, ["--help"]);
    expect(await helped.ended).toEqual([0, null]);
    const options = ["--name", "--folder", "--quickstart", "--remote", "--help"];
    for (const option of options) expect(helped.text).toContain(`  ${option} `);
    expect(helped.errorText).toBe("");

    const mistaken = new Terminal(script.path, ["--nam", "till"]);
    expect(await mistaken.ended).toEqual([2, null]);
    expect(mistaken.errorText).toContain("'--nam'");
    expect(mistaken.errorText).toContain("Usage: node examples/tasks-terminal.mjs");
  },
);
