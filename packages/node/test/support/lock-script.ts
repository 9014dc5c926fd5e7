/**
 * A process that takes the lock of a folder when it is told to, and says what came of it.
 *
 *   node script.mjs <folder>
 *
 *   acquire   answers with "taken" or with the error's message
 *   release   gives the lock back; answers "released"
 */

import { createInterface } from "node:readline";
import { acquireFolderLock, type FolderLock } from "../../src/folder-lock.ts";

const folder = process.argv[2] ?? "";
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
    lock = await acquireFolderLock(folder);
    lock.announce("http://127.0.0.1:1");
    return "taken";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
