/**
 * System calls of a process, from what strace prints.
 */

/** A finished system call: what strace prints when it returns. */
export interface Call {
  readonly name: string;
  readonly text: string;
}

/** With several threads a call may take two lines; it counts where it returns. */
export function parseTrace(trace: string): Call[] {
  const started = new Map<string, string>();
  const calls: Call[] = [];
  for (const line of trace.split("\n")) {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest);
    if (unfinished !== null) {
      started.set(thread, unfinished[1] ?? "");
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const text = resumed === null ? rest : `${started.get(thread)}${resumed[1]}`;
    const [, name] = /^(\w+)\(/.exec(text) ?? [];
    if (name !== undefined) calls.push({ name, text });
  }
  return calls;
}
