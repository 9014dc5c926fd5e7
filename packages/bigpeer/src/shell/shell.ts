/**
 * The shell of `bigpeer query`: reads statements from a terminal and runs them. A failure of a
 * statement or of the server ends nothing but that statement.
 */

import { spawn } from "node:child_process";
import { clearLine, createInterface, cursorTo, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { split } from "@bigpeer/engine/language";
import type { Value } from "@bigpeer/protocol";
import { dataClient, findAddresses, requireUrl } from "../connection/addresses.ts";
import type { Call } from "../program/definition.ts";
import { describeFailure, EXIT } from "../program/failure.ts";
import { Output } from "../terminal/output.ts";
import { complete } from "./completion.ts";
import { DOT_COMMANDS, EXIT_COMMAND, runDotCommand, type ShellState } from "./dot-commands.ts";
import { highlight } from "./highlight.ts";
import { History } from "./history.ts";
import { statementFailure } from "./statement-failure.ts";
import { StoreNames } from "./store-names.ts";

const PROMPT = "bigpeer> ";
const CONTINUATION = "      -> ";

/** Returns the exit code when the user leaves. */
export function openShell(call: Call): Promise<number> {
  return new Shell(call).run();
}

class Shell {
  readonly #call: Call;
  readonly #lines: Interface;
  readonly #names: StoreNames;
  readonly #history: History;
  readonly #state: ShellState;
  /** Lines of a statement without its end. */
  #above = "";
  /** Ends what runs now. */
  #stop: AbortController | undefined;
  #isClosed = false;

  constructor(call: Call) {
    const { host, options } = call;
    const client = dataClient(findAddresses(options, host), host);
    this.#call = call;
    this.#names = new StoreNames(client);
    this.#history = new History(host);
    this.#state = {
      client,
      params: new Map(),
      format: call.output.format,
      isTiming: options.has("time"),
      isExplaining: options.has("explain"),
      print: (text) => void host.output.write(text),
      rows: (rows) => this.#print(rows),
      watch: (seconds, statement) => this.#watch(seconds, statement),
      run: (words) => this.#other(words),
    };
    this.#lines = createInterface({
      input: host.input,
      output: highlighting(call, () => this.#lines),
      terminal: true,
      prompt: PROMPT,
      history: this.#history.read(),
      historySize: 1_000,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        const dots = Object.keys(DOT_COMMANDS);
        void complete(line, this.#above, this.#names, dots).then((found) => done(null, found));
      },
    });
  }

  async run(): Promise<number> {
    const { host, options } = this.#call;
    const url = requireUrl(findAddresses(options, host));
    await host.output.write(`${url}, .help lists commands, Ctrl-D leaves\n`);
    this.#lines.on("SIGINT", () => this.#interrupt());
    this.#lines.on("close", () => {
      this.#isClosed = true;
      this.#stop?.abort();
    });
    const { signal } = host;
    const close = (): void => this.#lines.close();
    signal.addEventListener("abort", close);
    this.#lines.prompt();
    for await (const line of this.#lines) {
      await this.#take(line);
      if (this.#isClosed || line.trim() === EXIT_COMMAND) break;
      this.#lines.setPrompt(this.#above === "" ? PROMPT : CONTINUATION);
      this.#lines.prompt();
    }
    signal.removeEventListener("abort", close);
    this.#lines.close();
    await host.output.write("\n");
    return EXIT.done;
  }

  /** Ctrl-C ends the statement that runs, or abandons the line. */
  #interrupt(): void {
    if (this.#stop !== undefined) {
      this.#stop.abort();
      return;
    }
    this.#above = "";
    void this.#call.host.output.write("^C\n");
    this.#lines.setPrompt(PROMPT);
    // Without the text that was typed.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#lines.prompt();
  }

  async #take(line: string): Promise<void> {
    if (this.#above === "" && line.trim() === "") return;
    if (this.#above === "" && line.trimStart().startsWith(".")) {
      this.#history.add(line);
      await this.#attempt(() => runDotCommand(this.#state, line));
      return;
    }
    const { statements, rest } = split(`${this.#above}${line}\n`);
    this.#above = rest.trim() === "" ? "" : rest;
    for (const { text } of statements) {
      this.#history.add(`${text};`);
      await this.#attempt(() => this.#execute(text));
    }
  }

  /** A failure is shown, and the shell goes on. */
  async #attempt(work: () => Promise<void> | void): Promise<void> {
    const stop = new AbortController();
    this.#stop = stop;
    try {
      await work();
    } catch (error) {
      const { output, host } = this.#call;
      const text = stop.signal.aborted ? "stopped" : describeFailure(error);
      await host.output.write(`${output.style("red", text)}\n`);
    } finally {
      this.#stop = undefined;
    }
  }

  async #execute(text: string): Promise<void> {
    const { client, params, isExplaining, isTiming, print } = this.#state;
    const statement = isExplaining ? `EXPLAIN ${text}` : text;
    const startMs = performance.now();
    const args = Object.fromEntries(params);
    const result = await client
      .execute<Value>(statement, args, { signal: this.#stop?.signal })
      .catch((error: unknown) => {
        throw statementFailure(error, statement);
      });
    const ms = (performance.now() - startMs).toFixed(1);
    for (const { description } of result.warnings) print(`warning: ${description}\n`);
    if (result.queryType === "select") await this.#print(result.items);
    const count =
      result.queryType === "select" ? result.items.length : result.mutatedDocumentIds.length;
    const what = result.queryType === "select" ? "rows" : "documents changed";
    const summary = `${count} ${what}${isTiming ? `, ${ms} ms` : ""}`;
    print(`${this.#call.output.style("dim", summary)}\n`);
  }

  /** Long results go through the pager of the user. */
  async #print(rows: readonly Value[]): Promise<void> {
    const { host, options } = this.#call;
    let text = "";
    const output = {
      ...host.output,
      write: (content: string | Uint8Array) => void (text += String(content)),
    };
    const { format } = this.#state;
    const isPlain = options.has("no-color");
    await new Output({ ...host, output }, { format, isPlain }).rows(rows);
    const height = process.stdout.rows ?? 0;
    const isLong = height > 0 && text.split("\n").length > height - 2;
    if (!isLong || !(await this.#page(text))) await host.output.write(text);
  }

  /** Returns false where there is no pager. */
  async #page(text: string): Promise<boolean> {
    const pager = this.#call.host.env["PAGER"] ?? "less -FRSX";
    if (pager === "" || pager === "cat") return false;
    this.#lines.pause();
    process.stdin.setRawMode?.(false);
    const heed = ignoreInterrupts();
    try {
      return await new Promise<boolean>((resolve) => {
        const child = spawn(pager, { shell: true, stdio: ["pipe", "inherit", "inherit"] });
        child.on("error", () => resolve(false));
        child.on("close", (code) => resolve(code === 0));
        // The user may leave before the end.
        child.stdin.on("error", () => {});
        child.stdin.end(text);
      });
    } finally {
      heed();
      process.stdin.setRawMode?.(true);
      this.#lines.resume();
    }
  }

  async #watch(seconds: number, statement: string): Promise<void> {
    const signal = this.#stop?.signal;
    // Ctrl-C ends the statement or the pause, which then throws.
    for (;;) {
      this.#state.print(`${this.#call.output.style("dim", new Date().toISOString())}\n`);
      await this.#execute(statement);
      await pause(seconds * 1000, undefined, { signal });
    }
  }

  async #other(words: readonly string[]): Promise<void> {
    const { host, options } = this.#call;
    const addresses = findAddresses(options, host);
    // The other command calls the same server, wherever its address came from.
    const env = {
      ...host.env,
      BIGPEER_URL: addresses.url?.value,
      BIGPEER_KEY: addresses.key?.value,
    };
    const signal = this.#stop?.signal ?? host.signal;
    await this.#call.runOther(words, { ...host, env, signal });
  }
}

function ignore(): void {}

/** Ctrl-C in a pager reaches this process too, and is not for it. Returns what ends that. */
function ignoreInterrupts(): () => void {
  const listeners = process.listeners("SIGINT");
  process.on("SIGINT", ignore);
  for (const listener of listeners) process.off("SIGINT", listener);
  return () => {
    for (const listener of listeners) process.on("SIGINT", listener);
    process.off("SIGINT", ignore);
  };
}

/**
 * Standard output for readline, which draws the line again with colours whenever it changes. The
 * columns stay the same, because colours take none.
 */
function highlighting(
  { host, output: { style } }: Call,
  lines: () => Interface | undefined,
): Writable {
  const { stdout } = process;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      void host.output.write(chunk.toString("utf8"));
      redraw();
      done();
    },
  });
  let isDue = false;
  const redraw = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      const open = lines();
      // Only what fits on one row is drawn again: readline knows about wrapped lines, we do not.
      if (open === undefined || open.line === "" || (open as { closed?: boolean }).closed === true)
        return;
      const prompt = open.getPrompt();
      if (prompt.length + open.line.length >= (stdout.columns ?? 80)) return;
      const { cols } = open.getCursorPos();
      cursorTo(stdout, prompt.length);
      clearLine(stdout, 1);
      stdout.write(highlight(open.line, style));
      cursorTo(stdout, cols);
    });
  };
  return Object.assign(stream, {
    columns: stdout.columns,
    isTTY: true,
  });
}
