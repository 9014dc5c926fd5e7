/**
 * Log: one line for each event, `time level message`, on standard error. Standard output is for
 * what a command was asked to print.
 */

import { PeerError } from "@bigpeer/protocol";

export type LogLevel = "info" | "warn" | "error";

export type Log = (level: LogLevel, message: string) => void;

/** A log that hands each line, with its end, to `write`. */
export function createLog(write: (line: string) => void): Log {
  return (level, message) => {
    const time = new Date().toISOString();
    // One event stays one line, whatever a message carries.
    write(`${time} ${level} ${message.replaceAll(/\s*\n\s*/g, " ")}\n`);
  };
}

/**
 * An error in words: what the world did is a sentence with its cause, what we did wrong is a stack.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOfTheWorld = error instanceof PeerError || "syscall" in error;
  if (!isOfTheWorld) return error.stack ?? error.message;
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
