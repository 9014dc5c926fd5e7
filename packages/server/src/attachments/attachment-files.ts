/**
 * Attachment files: the on-disk layout of attachment contents. Each content is a file named by its
 * id, in a folder named by the first two characters of the id. The id is the SHA-256 of the content
 * in base64url.
 */

import { type Dirent, readdirSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";

/** A content, as documents refer to it. */
export interface Attachment {
  readonly id: string;
  readonly len: number;
}

/** Mode of its files: owner only. */
export const CONTENT_MODE = 0o600;

const ATTACHMENT_ID = /^[\w-]{43}$/;
const PREFIX = /^[\w-]{2}$/;

export function isAttachmentId(text: string): boolean {
  return ATTACHMENT_ID.test(text);
}

export function attachmentPath(folder: string, id: string): string {
  return join(folder, id.slice(0, 2), id);
}

/** Folder of uploads in progress; after a crash its content is discarded. */
export function partialFolder(folder: string): string {
  return join(folder, "partial");
}

/** Folder of contents in transfer from other Big Peers. */
export function incomingFolder(folder: string): string {
  return join(folder, "incoming");
}

/** Folder of uploads that can be continued by offset. */
export function uploadsFolder(folder: string): string {
  return join(folder, "uploads");
}

/** Paths of all files in an attachment folder, whole and partial, in groups that are read at once. */
export function* contentFiles(folder: string): Generator<string[]> {
  for (const { name } of entriesOf(folder)) {
    const inner = join(folder, name);
    yield entriesOf(inner).flatMap((entry) => (entry.isFile() ? [join(inner, entry.name)] : []));
  }
}

/** Undefined when the file does not exist. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Ids of the files in an attachment folder, in groups that are each read at once. */
export function* fileIds(folder: string): Generator<string[]> {
  for (const { name: prefix } of entriesOf(folder)) {
    if (!PREFIX.test(prefix)) continue;
    const files = entriesOf(join(folder, prefix)).filter((entry) => entry.isFile());
    yield files
      .map(({ name }) => name)
      .filter((name) => isAttachmentId(name) && isIn(prefix, name));
  }
}

/** Some file systems ignore case. */
function isIn(prefix: string, id: string): boolean {
  return id.slice(0, 2).toLowerCase() === prefix.toLowerCase();
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Makes the content of a file or the entries of a folder durable, without blocking. */
export async function syncPath(path: string): Promise<void> {
  // Windows cannot sync a folder, and does so by itself.
  if (process.platform === "win32") return;
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
