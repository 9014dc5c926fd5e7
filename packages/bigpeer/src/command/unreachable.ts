/**
 * The failure of a request that nothing answered, for people.
 */

import { CommandFailure, EXIT } from "../program/failure.ts";

export function unreachable(url: string, error: unknown): CommandFailure {
  return new CommandFailure(`failed to reach ${url}: ${reasonOf(error)}`, EXIT.unreachable);
}

/** fetch hides the reason in the cause. */
export function reasonOf(error: unknown): string {
  const { message = String(error), cause } = error as { message?: string; cause?: unknown };
  const inner = (cause as { readonly message?: string } | undefined)?.message;
  return inner === undefined || inner === "" ? message : inner;
}
