/**
 * A real pseudo-terminal: a program inside tmux, which is typed into and whose screen is read.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished, vi } from "vitest";

const run = promisify(execFile);

export interface TerminalOptions {
  readonly tmux: string;
  /** Of the socket of tmux; also HOME of the program. */
  readonly folder: string;
  readonly words: readonly string[];
  readonly env: Record<string, string>;
}

export class Terminal {
  readonly #tmux: string;
  readonly #socket: string;

  private constructor({ tmux, folder }: TerminalOptions) {
    this.#tmux = tmux;
    this.#socket = join(folder, "tmux");
  }

  static async open(options: TerminalOptions): Promise<Terminal> {
    const { folder, words, env } = options;
    const terminal = new Terminal(options);
    // A person sits at it, wherever the tests run.
    const person = { CI: "", NO_COLOR: "" };
    const variables = Object.entries({ HOME: folder, ...person, ...env }).flatMap(
      ([name, value]) => ["-e", `${name}=${value}`],
    );
    const size = ["-x", "100", "-y", "40"];
    // The screen stays when the program has ended.
    const command = ["-f", "/dev/null", "new-session", "-d", ...size, ...variables, ...words];
    await terminal.#call([...command, ";", "set-option", "remain-on-exit", "on"]);
    onTestFinished(async () => {
      await terminal.#call(["kill-server"]).catch(() => {});
    });
    return terminal;
  }

  async type(text: string): Promise<void> {
    // A semicolon at the end would end the command of tmux.
    await this.#call(["send-keys", "-l", text.replace(/;$/, "\\;")]);
  }

  async press(...keys: readonly string[]): Promise<void> {
    await this.#call(["send-keys", ...keys]);
  }

  async enter(text: string): Promise<void> {
    await this.type(text);
    await this.press("Enter");
  }

  /** The text on the screen; with its colours if wanted. */
  async screen({ isColoured = false } = {}): Promise<string> {
    return this.#call(["capture-pane", "-p", ...(isColoured ? ["-e"] : [])]);
  }

  async waitFor(expected: RegExp, { isColoured = false } = {}): Promise<string> {
    return vi.waitFor(
      async () => {
        const screen = await this.screen({ isColoured });
        if (!expected.test(screen))
          throw new Error(`expected ${expected} on the screen:\n${screen}`);
        return screen;
      },
      { timeout: 60_000, interval: 50 },
    );
  }

  async #call(words: readonly string[]): Promise<string> {
    const { stdout } = await run(this.#tmux, ["-S", this.#socket, ...words]);
    return stdout;
  }
}
