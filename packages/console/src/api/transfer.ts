/**
 * Import and export of documents as NDJSON or CSV, in pieces, with progress.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import { CsvReader, csvHead, csvLine } from "../data/csv.ts";
import { NdjsonReader } from "../data/ndjson.ts";
import { quoteName } from "../values/names.ts";
import { execute, type Fields } from "./execute.ts";
import { ApiError, requestRaw } from "./request.ts";
import { ofApp } from "./session.ts";

export type FileFormat = "ndjson" | "csv";

/** What happens to a document whose id is there already. */
export type ConflictPolicy = "FAIL" | "DO NOTHING" | "DO UPDATE";

export interface ImportRequest {
  readonly app: string;
  readonly collection: string;
  readonly file: File;
  readonly format: FileFormat;
  readonly policy: ConflictPolicy;
  readonly signal: AbortSignal;
  /** Called after each batch. */
  readonly onProgress: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  /** Documents read from the file, and those of them that were written. */
  readonly read: number;
  readonly written: number;
  /** From 0 to 1. */
  readonly share: number;
}

const BATCH_DOCUMENTS = 500;
/** A body of the management API has at most 1 MiB. */
const BATCH_CHARACTERS = 256 * 1024;

/** Inserts the documents of a file. What was written before a failure stays. */
export async function importFile(request: ImportRequest): Promise<ImportProgress> {
  const { file, format, signal, onProgress } = request;
  const parser = format === "csv" ? new CsvReader() : new NdjsonReader();
  const batches = new Batches();
  let progress: ImportProgress = { read: 0, written: 0, share: 0 };
  let readBytes = 0;
  const write = async (documents: readonly Fields[]): Promise<void> => {
    const written = await insert(request, documents);
    progress = {
      read: progress.read + documents.length,
      written: progress.written + written,
      share: file.size === 0 ? 1 : readBytes / file.size,
    };
    onProgress(progress);
  };
  const decoder = new TextDecoder();
  const stream = file.stream().getReader();
  for (;;) {
    const { done, value } = await stream.read();
    signal.throwIfAborted();
    readBytes += value?.length ?? 0;
    const documents = done ? parser.end() : parser.push(decoder.decode(value, { stream: true }));
    for (const batch of batches.add(documents)) await write(batch);
    if (!done) continue;
    for (const batch of batches.rest()) await write(batch);
    return progress;
  }
}

/** Collects documents until a batch is full. */
class Batches {
  #documents: Fields[] = [];
  #characters = 0;

  *add(documents: readonly Fields[]): Iterable<readonly Fields[]> {
    for (const document of documents) {
      const size = stringifyExact(document).length;
      const isFull = this.#documents.length >= BATCH_DOCUMENTS;
      if (isFull || this.#characters + size > BATCH_CHARACTERS) yield* this.rest();
      this.#documents.push(document);
      this.#characters += size;
    }
  }

  *rest(): Iterable<readonly Fields[]> {
    if (this.#documents.length > 0) yield this.#documents;
    this.#documents = [];
    this.#characters = 0;
  }
}

/** The number of documents that were written. */
async function insert(request: ImportRequest, documents: readonly Fields[]): Promise<number> {
  const { app, collection, policy, signal } = request;
  const conflict = policy === "FAIL" ? "" : ` ON ID CONFLICT ${policy}`;
  const text = `INSERT INTO ${quoteName(collection)} DOCUMENTS (:documents)${conflict}`;
  const { mutatedDocumentIds } = await execute(app, text, { args: { documents }, signal });
  return mutatedDocumentIds.length;
}

export interface ExportRequest {
  readonly app: string;
  readonly collection: string;
  readonly format: FileFormat;
  readonly signal: AbortSignal;
  /** Called with the number of documents so far. */
  readonly onProgress: (documents: number) => void;
}

/** All documents of a collection as a file. CSV has a column for each field of any document. */
export async function exportFile(request: ExportRequest): Promise<Blob> {
  const { app, collection, format, signal, onProgress } = request;
  const path = ofApp(app, `/store/export?collection=${encodeURIComponent(collection)}`);
  const response = await requestRaw(path, { signal });
  const lines = new LineCounter(onProgress);
  if (response.body === null) throw new ApiError(0, "Failed", "the answer has no body");
  const counted = response.body.pipeThrough(lines.stream);
  const blob = await new Response(counted).blob();
  return format === "ndjson" ? blob : csvOf(blob);
}

/** Counts line ends in passing. */
class LineCounter {
  readonly stream: TransformStream<Uint8Array, Uint8Array>;
  #count = 0;

  constructor(onProgress: (count: number) => void) {
    this.stream = new TransformStream({
      transform: (chunk, controller) => {
        for (const byte of chunk) if (byte === 10) this.#count++;
        onProgress(this.#count);
        controller.enqueue(chunk);
      },
    });
  }
}

/** Reads the lines twice: for the names of the columns, and for the rows. */
async function csvOf(ndjson: Blob): Promise<Blob> {
  const names = new Set(["_id"]);
  await eachDocument(ndjson, (document) => {
    for (const name of Object.keys(document)) names.add(name);
  });
  const columns = [...names];
  const parts: string[] = [`${csvHead(columns)}\r\n`];
  await eachDocument(ndjson, (document) => {
    parts.push(`${csvLine(columns, document)}\r\n`);
  });
  return new Blob(parts, { type: "text/csv" });
}

async function eachDocument(ndjson: Blob, see: (document: Fields) => void): Promise<void> {
  const parser = new NdjsonReader();
  const reader = ndjson.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value = "" } = await reader.read();
    for (const document of done ? parser.end() : parser.push(value)) see(document);
    if (done) return;
  }
}
