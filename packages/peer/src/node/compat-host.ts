/**
 * Compat host: what `@bigpeer/peer/compat` asks of Node.
 *
 * The documents are in a folder of their own inside the persistence directory. So an app finds its
 * files of the reference SDK there untouched, and both can be open at once while data moves.
 */

import { readdir, stat, writeFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Host } from "../compat/host.ts";
import { openPeer } from "./open-peer.ts";

/** Name of the folder of the documents in a persistence directory. */
const FOLDER = "bigpeer";

/** Where an app without a directory of its own keeps its documents. */
function rootDirectory(): string {
  const { env, platform } = process;
  if (platform === "win32") return join(env["LOCALAPPDATA"] ?? homedir(), "ditto");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support", "ditto");
  return join(env["XDG_DATA_HOME"] ?? join(homedir(), ".local", "share"), "ditto");
}

export const compatHost: Host = {
  deviceName: hostname(),
  get rootDirectory() {
    return rootDirectory();
  },
  directoryOf: (directory) => resolve(rootDirectory(), directory),
  open: ({ directory, ...options }) => openPeer({ ...options, folder: join(directory, FOLDER) }),
  writeFile: (path, bytes, isNew) => writeFile(path, bytes, { flag: isNew ? "wx" : "w" }),
  diskUse: (directory) => sizeOf(join(directory, FOLDER)),
  print: (_isProblem, line) => void process.stderr.write(`${line}\n`),
};

/** Bytes of all files below a folder. Files that go away meanwhile do not count. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => {
    return stat(join(parentPath, name)).then(
      ({ size }) => size,
      () => 0,
    );
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
