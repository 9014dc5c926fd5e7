/**
 * Content check: verifies the attachment files of an app against their records, for `verify`. Each
 * record must have a file of its length whose content matches its id.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { attachmentOf } from "@bigpeer/engine/store";
import { readStore } from "@bigpeer/node";
import { describeError } from "../observability/log.ts";
import { attachmentPages } from "./attachment-copy.ts";
import { type Attachment, attachmentPath, fileIds, sizeOf } from "./attachment-files.ts";

export interface CheckedContents {
  readonly count: number;
  readonly sizeBytes: number;
  readonly problems: readonly ContentProblem[];
  /** Files without a record. */
  readonly strayCount: number;
}

export interface ContentProblem {
  readonly id: string;
  readonly message: string;
}

/** Bytes of a file between two calls of `tick`. */
const BYTES_PER_TICK = 64 * 1024 * 1024;

/**
 * Reads all files in `folder`, also while a server adds and deletes some. Calls `tick` periodically
 * with the id of the current attachment.
 */
export async function checkContents(
  storeFolder: string,
  folder: string,
  tick: (id: string) => void = () => {},
): Promise<CheckedContents> {
  let count = 0;
  let sizeBytes = 0;
  const found: ContentProblem[] = [];
  for await (const page of attachmentPages(storeFolder)) {
    for (const attachment of page) {
      count++;
      sizeBytes += attachment.len;
      tick(attachment.id);
      const message = await findProblem(attachment, folder, tick);
      if (message !== undefined) found.push({ id: attachment.id, message });
    }
  }
  // A content deleted meanwhile is no problem, and one added meanwhile is no stray.
  const ids = [...fileIds(folder)].flat();
  return readStore(storeFolder, (view) => {
    const problems = found.filter(({ id }) => attachmentOf(view, id) !== undefined);
    const strayCount = ids.filter((id) => attachmentOf(view, id) === undefined).length;
    return { count, sizeBytes, problems, strayCount };
  });
}

async function findProblem(
  { id, len }: Attachment,
  folder: string,
  tick: (id: string) => void,
): Promise<string | undefined> {
  const path = attachmentPath(folder, id);
  try {
    const size = await sizeOf(path);
    if (size === undefined) return "expected its file, found none";
    if (size !== len) return `expected a file of ${len} bytes, found ${size}`;
    if ((await idOf(path, () => tick(id))) !== id)
      return "expected the content of this id, found another";
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}

async function idOf(path: string, tick: () => void): Promise<string> {
  const hash = createHash("sha256");
  let unticked = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    hash.update(chunk);
    unticked += chunk.length;
    if (unticked < BYTES_PER_TICK) continue;
    unticked = 0;
    tick();
  }
  return hash.digest("base64url");
}
