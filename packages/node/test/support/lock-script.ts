/**
 * A process that takes the lock of a folder when it is told to, and says what came of it.
 *
 *   node script.mjs <folder> [pipe]
 *
 *   acquire   answers with "taken" or with the error's message
 *   release   gives the lock back; answers "released"
 *
 * With `pipe` it is the lock of Windows, on a stand-in for its pipe.
 */

import { createInterface } from "node:readline";
import { acquireFolderLock } from "../../src/lock/folder-lock.ts";
import type { FolderLock } from "../../src/lock/lock-holder.ts";
import { acquirePipeLock } from "../../src/lock/pipe-lock.ts";
import { pipeStandIn } from "./pipe-stand-in.ts";

const [folder = "", kind] = process.argv.slice(2);
let lock: FolderLock | undefined;

process.stdout.write('"waiting"\n');
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
await lock?.release();

async function answer(line: string): Promise<string> {
  if (line === "release") {
    await lock?.release();
    return "released";
  }
  try {
    lock =
      kind === "pipe"
        ? await acquirePipeLock(folder, pipeStandIn)
        : await acquireFolderLock(folder);
    lock.announce("http://127.0.0.1:1");
    return "taken";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
