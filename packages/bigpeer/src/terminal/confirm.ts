/**
 * Asks before a command destroys something. Without a terminal no one can answer, so it needs
 * `--yes`.
 */

import type { Call } from "../program/definition.ts";
import { CommandFailure, UsageError } from "../program/failure.ts";
import { isInteractive } from "../program/host.ts";

/** Throws unless the user agrees. */
export async function confirm({ options, host }: Call, question: string): Promise<void> {
  if (options.has("yes")) return;
  if (!isInteractive(host)) {
    throw new UsageError(`${question} There is no terminal to answer at: add --yes to agree`);
  }
  const answer = await host.ask(`${question} [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandFailure("nothing was changed");
}
