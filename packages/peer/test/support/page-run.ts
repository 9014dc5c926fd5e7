/**
 * Runs the steps of a page as a reader would: saves its programs, types its commands into
 * terminals, and compares their output with what the page shows.
 *
 * In the output on a page, `…` stands for any text within a line, and on a line of its own for any
 * number of lines. A command that still runs is not started again: the page shows its whole output.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type CommandStep, INTERRUPT, type PageStep, stepsOf } from "./page-steps.ts";

export interface PageRun {
  /** The folder that the reader begins in. */
  readonly folder: string;
  /** Replaces text of commands. */
  readonly inCommands?: readonly (readonly [from: string, to: string])[];
  /** Replaces text of the output that the page shows. */
  readonly inOutput?: readonly (readonly [from: string, to: string])[];
  readonly env?: Readonly<Record<string, string>>;
}

/** How long an output may take, on any machine. */
const OUTPUT_MS_MAX = 120_000;

/** Throws at the first step that differs. At the end, the commands that still run are killed. */
export async function runPage(page: string, run: PageRun): Promise<void> {
  const terminals = new Map<string, Terminal>();
  try {
    for (const step of stepsOf(page)) await follow(step, terminals, run);
  } finally {
    for (const terminal of terminals.values()) await terminal.close();
  }
}

async function follow(
  step: PageStep,
  terminals: Map<string, Terminal>,
  run: PageRun,
): Promise<void> {
  if (step.kind === "file") {
    const path = join(run.folder, step.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, step.text);
    return;
  }
  const terminal = terminals.get(step.terminal) ?? new Terminal(run.folder, run.env ?? {});
  terminals.set(step.terminal, terminal);
  const command = replaceAll(step.command, run.inCommands);
  await terminal.follow({ ...step, command, shown: replaceAll(step.shown, run.inOutput) });
}

/** A shell that a reader types into: one command at a time, in a folder that `cd` changes. */
class Terminal {
  readonly #env: Readonly<Record<string, string>>;
  #folder: string;
  #running: RunningCommand | undefined;

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#env = env;
  }

  async follow(step: CommandStep): Promise<void> {
    const { command } = step;
    const folder = /^cd (\S+)$/.exec(command)?.[1];
    if (folder !== undefined) this.#folder = join(this.#folder, folder);
    else if (command === INTERRUPT) await this.#interrupt(step);
    else if (command === this.#running?.command) await this.#running.shows(step);
    else await this.#start(step);
  }

  async close(): Promise<void> {
    this.#running?.kill("SIGKILL");
    await this.#running?.ended;
  }

  async #start(step: CommandStep): Promise<void> {
    if (this.#running !== undefined) throw fault(step, "another command runs in the terminal");
    const running = new RunningCommand(step.command, this.#folder, this.#env);
    this.#running = running;
    if (step.isLasting) return running.shows(step);
    await running.ends(step, ({ code }) => code === 0);
    this.#running = undefined;
  }

  async #interrupt(step: CommandStep): Promise<void> {
    if (this.#running === undefined) throw fault(step, "no command runs in the terminal");
    if (!this.#running.kill("SIGINT")) throw fault(step, "the command has ended by itself");
    await this.#running.ends(step, ({ code, signal }) => code === 0 || signal === "SIGINT");
    this.#running = undefined;
  }
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

class RunningCommand {
  readonly command: string;
  readonly ended: Promise<End>;
  readonly #process: ChildProcess;
  /** All that it has printed, as a terminal shows it. */
  #text = "";
  /** How much of it the page has shown. */
  #seen = 0;
  #end: End | undefined;
  /** Called when there is more of the output, or its end. */
  #onChange: () => void = () => undefined;

  constructor(command: string, cwd: string, env: Readonly<Record<string, string>>) {
    this.command = command;
    // A group of its own, so that a signal also reaches what the shell has started.
    this.#process = spawn("sh", ["-c", `exec 2>&1\n${command}`], {
      cwd,
      env: { ...ownEnvironment(), ...env },
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#text += text;
      this.#onChange();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#process.on("error", reject);
      this.#process.on("close", (code, signal) => {
        this.#end = { code, signal };
        this.#onChange();
        resolve(this.#end);
      });
    });
  }

  /** Waits until all that it has printed is what the step shows. */
  async shows(step: CommandStep): Promise<void> {
    const pattern = patternOf(step.shown);
    const isShown = await this.#reaches(() => this.#end !== undefined || pattern.test(this.#text));
    if (!isShown || this.#end !== undefined) throw this.#differs(step, this.#text);
    this.#seen = this.#text.length;
  }

  /** Waits for its end, after which the rest of its output must be what the step shows. */
  async ends(step: CommandStep, isGood: (end: End) => boolean): Promise<void> {
    await this.#reaches(() => this.#end !== undefined);
    const rest = this.#text.slice(this.#seen);
    const isAsShown = this.#end !== undefined && isGood(this.#end);
    if (!isAsShown || !patternOf(step.shown).test(rest)) throw this.#differs(step, rest);
  }

  /** False if it has ended. */
  kill(signal: NodeJS.Signals): boolean {
    const { pid } = this.#process;
    if (this.#end !== undefined || pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch {
      // It has ended, which is not yet known here.
      return false;
    }
  }

  /** False after too long a time. */
  async #reaches(holds: () => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), OUTPUT_MS_MAX);
      this.#onChange = () => {
        if (!holds()) return;
        clearTimeout(timer);
        resolve(true);
      };
      this.#onChange();
    });
  }

  #differs(step: CommandStep, found: string): Error {
    const state = this.#end === undefined ? "running" : `ended with ${endOf(this.#end)}`;
    return fault(step, `expected\n${step.shown}found (${state})\n${found}`);
  }
}

function endOf({ code, signal }: End): string {
  return signal ?? `code ${code}`;
}

function fault({ line, terminal, command }: CommandStep, text: string): Error {
  return new Error(`line ${line}, ${terminal}$ ${command}: ${text}`);
}

/** What the whole output must match. */
function patternOf(shown: string): RegExp {
  const lines = shown.split("\n").slice(0, -1);
  const patterns = lines.map((line) =>
    line === "…" ? "(?:.*\\n)*?" : `${line.split("…").map(escape).join(".*")}\\n`,
  );
  return new RegExp(`^${patterns.join("")}$`);
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function replaceAll(text: string, pairs: PageRun["inCommands"] = []): string {
  return pairs.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
}

/** Without the settings of whoever runs the tests, and with the Node that runs them. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("BIGPEER_") && name !== "FORCE_COLOR",
  );
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  return { ...Object.fromEntries(entries), PATH: path };
}
