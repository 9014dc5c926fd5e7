/**
 * The newest meta page of an LMDB file, read directly: what is durable, whoever has it open.
 */

import { closeSync, openSync, readSync } from "node:fs";

export interface FileMeta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
}

export function readMetaOf(path: string): FileMeta {
  const descriptor = openSync(path, "r");
  const head = Buffer.alloc(0x10000 + 168);
  readSync(descriptor, head, 0, head.length, 0);
  closeSync(descriptor);
  const pageSize = head.readUInt32LE(48);
  const [a, b] = [0, pageSize].map((start) => ({
    pageSize,
    lastPage: Number(head.readBigUInt64LE(start + 144)),
    transaction: Number(head.readBigUInt64LE(start + 152)),
  })) as [FileMeta, FileMeta];
  return a.transaction > b.transaction ? a : b;
}
