/**
 * The steps of a page that a reader follows: programs to save, and commands to type.
 *
 * A block `js` begins with a comment that names its file. A block `console` has commands such as
 * `phone$ node device.mjs`, each with the name of its terminal before the `$` and its output below
 * it. A command continues on the next line while a quotation mark is open. `^C` interrupts the
 * command that runs in its terminal.
 */

export interface FileStep {
  readonly kind: "file";
  readonly line: number;
  readonly path: string;
  readonly text: string;
}

export interface CommandStep {
  readonly kind: "command";
  readonly line: number;
  readonly terminal: string;
  readonly command: string;
  /** The output that the page shows. */
  readonly shown: string;
  /** Whether it runs until the page interrupts it. */
  readonly isLasting: boolean;
}

export type PageStep = FileStep | CommandStep;

export const INTERRUPT = "^C";

/** Throws if the page has a block that cannot be run. */
export function stepsOf(page: string): PageStep[] {
  const steps: PageStep[] = [];
  for (const { index, 1: language = "", 2: text = "" } of page.matchAll(
    /^```(.*)\n([^]*?)^```$/gm,
  )) {
    const line = page.slice(0, index).split("\n").length + 1;
    if (language === "js") steps.push(fileOf(text, line));
    else if (language === "console") steps.push(...commandsOf(text, line));
    else throw new Error(`expected a block js or console, found ${language || "none"} at ${line}`);
  }
  return steps.map((step, place) => {
    if (step.kind === "file") return step;
    return { ...step, isLasting: isInterrupted(step, steps.slice(place + 1)) };
  });
}

function fileOf(text: string, line: number): FileStep {
  const path = /^\/\/ (\S+)\n/.exec(text)?.[1];
  if (path === undefined) throw new Error(`expected a comment with the file at line ${line}`);
  return { kind: "file", line, path, text };
}

function commandsOf(text: string, start: number): CommandStep[] {
  const found: { line: number; terminal: string; command: string; shown: string }[] = [];
  for (const [place, content] of text.split("\n").slice(0, -1).entries()) {
    const line = start + place;
    const last = found.at(-1);
    if (last !== undefined && isOpen(last.command)) {
      last.command += `\n${content}`;
      continue;
    }
    const [, terminal, command] = /^(\w+)\$ (.+)$/.exec(content) ?? [];
    if (terminal !== undefined && command !== undefined) {
      found.push({ line, terminal, command, shown: "" });
    } else if (last !== undefined) last.shown += `${content}\n`;
    else throw new Error(`expected a command after the name of a terminal at line ${line}`);
  }
  return found.map((step) => ({ kind: "command", ...step, isLasting: false }));
}

/** Whether a quotation mark is open. */
function isOpen(command: string): boolean {
  return command.split('"').length % 2 === 0;
}

/** Whether the next other step of its terminal interrupts it. */
function isInterrupted({ terminal, command }: CommandStep, later: readonly PageStep[]): boolean {
  const next = later.find(
    (step) => step.kind === "command" && step.terminal === terminal && step.command !== command,
  );
  return command !== INTERRUPT && next?.kind === "command" && next.command === INTERRUPT;
}
