/**
 * Copies a folder as `cp -a` does, with the access that others have to it. Node 22 and newer give the
 * copy the default access.
 */
import { chmodSync, cpSync, statSync } from "node:fs";

export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  chmodSync(to, statSync(from).mode);
}
