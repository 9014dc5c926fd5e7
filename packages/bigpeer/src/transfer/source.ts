/**
 * Source: a file or standard input as records, whatever its format and compression.
 */

import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandFailure, UsageError } from "../program/failure.ts";
import type { ProgramHost } from "../program/host.ts";
import { csvRecords } from "./csv-records.ts";
import { lineRecords, listRecords } from "./json-records.ts";
import { type RecordGroups, SourceFault } from "./source-record.ts";

export const SOURCE_FORMATS = ["ndjson", "json", "csv", "mongo"] as const;

export type SourceFormat = (typeof SOURCE_FORMATS)[number];

/** What the records of a file are: documents, or what another program has written of them. */
export type Dialect = "plain" | "typed" | "mongo" | "couch";

export interface SourceOptions {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** By default that of the name, or else of the first letter. */
  readonly format: SourceFormat | undefined;
  readonly separator: string;
}

export interface Source {
  /** Absolute; undefined for what cannot be read again, such as standard input or a pipe. */
  readonly path: string | undefined;
  /** Undefined if the first record tells. The rows of an answer of CouchDB hold the documents. */
  readonly dialect: Dialect | undefined;
  /** Compressed bytes; undefined for what is no file on a disk. */
  readonly size: number | undefined;
  /** Compressed bytes that were read so far. */
  readonly bytesRead: () => number;
  readonly records: RecordGroups;
}

/** The name of the list in an answer of CouchDB is within the first bytes. */
const HEAD_LENGTH = 4_096;
const COUCH =
  /^\s*\{\s*(?:"(?:total_rows|offset|update_seq)"\s*:\s*(?:\d+|null|"[^"]*")\s*,\s*)*"rows"\s*:\s*(?=\[)/;

export async function openSource(options: SourceOptions, host: ProgramHost): Promise<Source> {
  const isInput = options.file === "-";
  const named = isInput ? undefined : resolve(host.folder, options.file);
  const size = named === undefined ? undefined : await sizeOf(named);
  const path = size === undefined ? undefined : named;
  const raw: Readable = named === undefined ? host.input : createReadStream(named);
  addAbortSignal(host.signal, raw);
  let read = 0;
  const counted = (async function* (): AsyncGenerator<Buffer> {
    for await (const bytes of raw) {
      host.signal.throwIfAborted();
      read += (bytes as Buffer).length;
      yield bytes as Buffer;
    }
  })();
  const text = textOf(await unpacked(counted));
  const { head, whole } = await peek(text);
  const couch = COUCH.exec(head);
  const isMongo = options.format === "mongo";
  const format = isMongo
    ? jsonFormatOf(head)
    : (options.format ?? formatOf(options.file, head, couch !== null));
  const isCouch = couch !== null && format === "json";
  const records = isCouch
    ? listRecords(skipping(whole, couch[0]), "}")
    : recordsOf(format, whole, options.separator);
  const dialect = isMongo ? "mongo" : isCouch ? "couch" : undefined;
  return { path, dialect, size, bytesRead: () => read, records };
}

/** Undefined for a pipe or a device. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new UsageError(`expected a file, found the folder ${path}`);
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new CommandFailure(`failed to read ${path}: ${(error as Error).message}`);
  }
}

/** Gzip begins with these two bytes, whatever the name of the file. */
async function unpacked(bytes: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const first = await bytes.next();
  if (first.done === true) return (async function* () {})();
  const all = (async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield* bytes;
  })();
  const [one, two] = first.value;
  if (one !== 0x1f || two !== 0x8b) return all;
  const { Readable } = await import("node:stream");
  const gunzip = createGunzip();
  const packed = Readable.from(all, { objectMode: false });
  packed.on("error", (error) => gunzip.destroy(error));
  return packed.pipe(gunzip);
}

/** Throws SourceFault where a packed file ends too early, or bytes are no UTF-8. */
async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const place = { line: 1, column: 1 };
  // Of a letter that goes on in the next part.
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const part of bytes) {
      const all = rest.length === 0 ? part : Buffer.concat([rest, part]);
      const whole = all.subarray(0, wholeLength(all));
      rest = all.subarray(whole.length);
      const isValid = isUtf8(whole);
      const text = (isValid ? whole : validStart(whole)).toString("utf8");
      if (text !== "") yield text;
      pass(text, place);
      if (!isValid) throw notUtf8(place);
    }
  } catch (error) {
    const { code = "", message } = error as { readonly code?: string; readonly message: string };
    if (!code.startsWith("Z_")) throw error;
    throw new SourceFault(`expected more of the gzip file, found ${message}`, place);
  }
  if (rest.length > 0) throw notUtf8(place);
}

function notUtf8(place: { readonly line: number; readonly column: number }): SourceFault {
  return new SourceFault("expected text in UTF-8, found bytes of another encoding", place);
}

/** Length without a letter that is cut at the end. */
function wholeLength(bytes: Buffer): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back] ?? 0;
    const isLater = byte >= 0x80 && byte < 0xc0;
    if (isLater) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? length - back : length;
  }
  return length;
}

/** The letters before the first byte that is no UTF-8. */
function validStart(bytes: Buffer): Buffer {
  const until = (end: number): Buffer => {
    const start = bytes.subarray(0, end);
    return start.subarray(0, wholeLength(start));
  };
  let [valid, invalid] = [0, bytes.length];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    if (isUtf8(until(middle))) valid = middle;
    else invalid = middle;
  }
  return until(valid);
}

function pass(text: string, place: { line: number; column: number }): void {
  let start = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", start)) {
    place.line++;
    place.column = 1;
    start = at + 1;
  }
  place.column += text.length - start;
}

async function peek(
  text: AsyncGenerator<string>,
): Promise<{ readonly head: string; readonly whole: AsyncIterable<string> }> {
  let head = "";
  let failure: unknown;
  try {
    while (head.length < HEAD_LENGTH) {
      const next = await text.next();
      if (next.done === true) break;
      head += next.value;
    }
  } catch (error) {
    // It belongs behind the head.
    failure = error;
  }
  head = head.replace(/^\ufeff/, "");
  const whole = (async function* (): AsyncGenerator<string> {
    if (head !== "") yield head;
    if (failure !== undefined) throw failure;
    yield* text;
  })();
  return { head, whole };
}

/** Spaces in place of what is skipped keep lines and columns. */
async function* skipping(text: AsyncIterable<string>, prefix: string): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of text) {
    yield isFirst ? prefix.replaceAll(/[^\n]/g, " ") + piece.slice(prefix.length) : piece;
    isFirst = false;
  }
}

function formatOf(file: string, head: string, isCouch: boolean): SourceFormat {
  const [, ending = ""] = /\.(\w+)(?:\.gz)?$/.exec(file.toLowerCase()) ?? [];
  if (ending === "csv" || ending === "tsv") return "csv";
  if (ending === "ndjson" || ending === "jsonl") return "ndjson";
  const [first = ""] = head.trimStart();
  if (first === "[" || isCouch) return "json";
  if (first === "{" || first === "" || ending === "json") return "ndjson";
  throw new UsageError(`${file}: expected JSON, or its format with --format csv`);
}

/** mongoexport writes lines, or a list with --jsonArray. */
function jsonFormatOf(head: string): SourceFormat {
  return head.trimStart().startsWith("[") ? "json" : "ndjson";
}

function recordsOf(
  format: SourceFormat,
  text: AsyncIterable<string>,
  separator: string,
): RecordGroups {
  if (format === "csv") return csvRecords(text, separator);
  return format === "json" ? listRecords(text) : lineRecords(text);
}
