/**
 * Attachment copy: copies and syncs the contents that a copied store refers to, from one attachment
 * folder to another, for backup and restore.
 */

import { constants } from "node:fs";
import { chmod, copyFile } from "node:fs/promises";
import { dirname } from "node:path";
import { storedAttachments } from "@bigpeer/engine/store";
import { makeFolder, readStore } from "@bigpeer/node";
import {
  type Attachment,
  attachmentPath,
  CONTENT_MODE,
  sizeOf,
  syncPath,
} from "./attachment-files.ts";

/** Records read at once. */
const PAGE = 10_000;

/** Files copied concurrently: most of the time is spent waiting for the disk. */
const TOGETHER = 16;

export interface CopiedFolders {
  /** Store whose records say what to copy. */
  readonly store: string;
  readonly from: string;
  readonly to: string;
}

export interface CopiedAttachments {
  readonly sizeBytes: number;
  /** Ids of contents without a file. */
  readonly missing: readonly string[];
}

/** Contents that exist in `to` are kept: a content never changes. */
export async function copyAttachments(folders: CopiedFolders): Promise<CopiedAttachments> {
  const missing: string[] = [];
  const touched = new Set<string>();
  let sizeBytes = 0;
  for await (const page of attachmentPages(folders.store)) {
    for (let at = 0; at < page.length; at += TOGETHER) {
      const some = page.slice(at, at + TOGETHER);
      const isThere = await Promise.all(some.map(({ id }) => copyContent(folders, id, touched)));
      for (const [index, { id, len }] of some.entries()) {
        if (isThere[index] === true) sizeBytes += len;
        else missing.push(id);
      }
    }
  }
  for (const folder of touched) await syncPath(folder);
  return { sizeBytes, missing };
}

/** Reads the attachment records of a store in pages. Two pages may be of different states. */
export async function* attachmentPages(storeFolder: string): AsyncGenerator<Attachment[]> {
  let after: string | undefined;
  for (;;) {
    const page: Attachment[] = await readStore(storeFolder, (view) => {
      const found: Attachment[] = [];
      for (const each of storedAttachments(view, after)) {
        found.push(each);
        if (found.length === PAGE) break;
      }
      return found;
    });
    yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.id;
  }
}

/** Returns false when the file does not exist. */
async function copyContent(
  { from, to }: CopiedFolders,
  id: string,
  touched: Set<string>,
): Promise<boolean> {
  const source = attachmentPath(from, id);
  const target = attachmentPath(to, id);
  if ((await sizeOf(target)) !== undefined) return true;
  if ((await sizeOf(source)) === undefined) return false;
  const folder = dirname(target);
  makeFolder(folder);
  touched.add(folder);
  try {
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    // It inherits the mode of its source, which an older version may have left readable to others.
    await chmod(target, CONTENT_MODE);
  } catch (error) {
    // Deleted meanwhile.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  await syncPath(target);
  return true;
}
