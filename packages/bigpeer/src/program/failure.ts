/**
 * Failures of commands and their exit codes.
 *
 *   0  done
 *   1  the server refused it, or the command found a problem; also a timeout, after which a write
 *      may still have happened
 *   2  the command line, a variable or a file of settings is wrong
 *   3  no connection, or the server does not accept the credential
 *   4  another process has the data folder
 */

import { BigPeerError } from "@bigpeer/client";
import { PeerError } from "@bigpeer/protocol";

export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3, locked: 4 } as const;

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A command that ends with a message and an exit code. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Undefined for an error that is a fault of the program. */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof BigPeerError) return codeOfAnswer(error);
  if (error instanceof PeerError) return codeOfPeerError(error);
  // Of the system: a file that is not there, a disk that is full.
  return error instanceof Error && "code" in error && "syscall" in error ? EXIT.failed : undefined;
}

function codeOfAnswer({ code, status }: BigPeerError): number {
  if (code === "config.invalid") return EXIT.usage;
  const isRefused = status === 401 || status === 403;
  return code === "client.network" || code === "client.answer" || isRefused
    ? EXIT.unreachable
    : EXIT.failed;
}

function codeOfPeerError({ code }: PeerError): number {
  if (code === "config.invalid") return EXIT.usage;
  return code === "store.in_use" ? EXIT.locked : EXIT.failed;
}

/** One sentence for people. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof BigPeerError)) {
    return error instanceof Error ? error.message : String(error);
  }
  const { message, code } = error;
  if (code === "client.timeout") {
    return `${message}; if it was a write, it may still take effect`;
  }
  return /^(?:http|client)\./.test(code) ? message : `${message} (${code})`;
}
