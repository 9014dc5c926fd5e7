/**
 * The failure of a request that nothing answered, or another program, for people.
 */

import { BigPeerError } from "@bigpeer/client";
import type { Value } from "@bigpeer/protocol";
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

/** The failure of a request that another program answered. */
export function notOurs(url: string, status: number): CommandFailure {
  const message = `${url} answered ${status}, but not as a Big Peer does; check the address`;
  return new CommandFailure(message, EXIT.unreachable);
}

/** Returns an answer of the management API: what it manages has a name. */
export function named(answer: unknown): Value {
  const { name } = (answer ?? {}) as { readonly name?: unknown };
  if (typeof name === "string") return answer as Value;
  throw foreign("JSON without a name");
}

/** Returns text of an answer, such as a key. */
export function textual(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw foreign("no text");
}

/** The failure of an answer that is not one of a Big Peer. */
export function foreign(found: string): BigPeerError {
  const message = `expected an answer of a Big Peer, found ${found}; check the address`;
  return new BigPeerError("client.answer", message);
}
