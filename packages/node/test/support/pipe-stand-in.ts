/**
 * What stands for a named pipe of Windows on Linux: a socket in the abstract namespace. Like a pipe it
 * is no file, only one process can listen on it, and it is gone with its process.
 */

import { pipeName } from "../../src/lock/pipe-lock.ts";

export function pipeStandIn(realPath: string): string {
  return `\0${pipeName(realPath)}`;
}
