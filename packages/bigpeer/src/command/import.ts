/**
 * `bigpeer import`: writes the documents of a file into a collection.
 */

import { randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { dataClient, findAddresses, requireUrl } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { CommandFailure, EXIT, UsageError } from "../program/failure.ts";
import { count, ProgressLine } from "../terminal/progress-line.ts";
import { contentsBeside } from "../transfer/attachment-contents.ts";
import { Checkpoint, NO_PROGRESS, type Progress } from "../transfer/checkpoint.ts";
import { readColumnTypes } from "../transfer/csv-document.ts";
import { type ReadDocument, readDocuments } from "../transfer/document-reader.ts";
import {
  CONFLICTS,
  type Conflict,
  DocumentWriter,
  type Outcome,
} from "../transfer/document-writer.ts";
import { ImportRun } from "../transfer/import-run.ts";
import { Rejects } from "../transfer/rejects.ts";
import { openSource, SOURCE_FORMATS, type Source, type SourceFormat } from "../transfer/source.ts";
import { SourceFault } from "../transfer/source-record.ts";
import { DATA, own } from "./shared-options.ts";

const BATCH_SIZE = 1_000;
const PATIENCE_SECONDS = 60;

/** Codes of a folder that cannot be written. */
const READ_ONLY = new Set(["EACCES", "EPERM", "EROFS"]);

/** Of a dry run, which takes all documents. */
const DRY_WRITER = {
  write: async (batch: readonly ReadDocument[]): Promise<Outcome> => {
    return { written: batch.length, refused: [] };
  },
};

export const IMPORT: CommandDefinition = {
  name: "import",
  meaning: "write the documents of a file into a collection",
  group: "Work with documents",
  examples: [
    "import cars.ndjson --collection cars",
    "import cars.csv --collection cars --id plate --types plate=text",
    "import cars.json.gz --collection cars --on-conflict update",
    "import dump.json --collection cars  # CouchDB, or mongoexport",
    "import dump.json --collection cars --format mongo",
    "export cars | bigpeer import - --collection copies",
  ],
  words: [{ name: "file", meaning: "the file; - for standard input" }],
  groups: [
    own(
      {
        name: "collection",
        short: "c",
        argument: "NAME",
        isRequired: true,
        meaning: "where the documents go",
      },
      {
        name: "format",
        short: "f",
        argument: "FORMAT",
        choices: SOURCE_FORMATS,
        meaning: "of the file; default: by its name and its beginning; mongo: from mongoexport",
      },
      { name: "id", argument: "FIELD", meaning: "field that becomes the _id" },
      {
        name: "on-conflict",
        argument: "POLICY",
        choices: CONFLICTS,
        meaning: "for an _id that exists already; default: fail",
      },
      {
        name: "types",
        argument: "LIST",
        meaning: "types of columns of CSV, such as zip=text,price=number",
      },
      {
        name: "separator",
        argument: "LETTER",
        meaning: "between cells of CSV; default: a comma, or a tab for .tsv",
      },
      {
        name: "batch",
        argument: "N",
        meaning: `documents of one transaction; default: ${BATCH_SIZE}`,
      },
      { name: "dry-run", meaning: "read and check the file, and write nothing" },
      { name: "continue-on-error", meaning: "leave out what cannot be imported" },
      {
        name: "rejects",
        argument: "FILE",
        meaning:
          "where --continue-on-error writes what it leaves out; default: FILE.rejects.ndjson",
      },
      { name: "restart", meaning: "begin at the start, also if the import was cut before" },
      {
        name: "patience",
        argument: "SECONDS",
        meaning: `how long to try to reach the server; default: ${PATIENCE_SECONDS}`,
      },
      {
        name: "attachments",
        argument: "FOLDER",
        meaning:
          "first store the contents that export --full has written; default: FILE.attachments, if it is there",
      },
      { name: "quiet", short: "q", meaning: "print nothing but errors" },
    ),
    DATA,
  ],
  run: importFile,
};

async function importFile(call: Call): Promise<number> {
  const { words, options, host } = call;
  const file = words[0] ?? "";
  const types = options.text("types");
  const columnTypes = types === undefined ? new Map<never, never>() : readColumnTypes(types);
  // Before anything is opened.
  const batchSize = options.number("batch") ?? BATCH_SIZE;
  options.number("patience");
  if (!options.has("dry-run")) requireUrl(findAddresses(options, host));
  const source = await openSource(
    {
      file,
      format: options.text("format") as SourceFormat | undefined,
      separator: separatorOf(call),
    },
    host,
  );
  const target = targetOf(call);
  const { checkpoint, from } = openCheckpoint(source, target, call);
  if (from.records > 0) call.output.note(`goes on behind ${count(from.records)} records`);
  const rejects = rejectsOf(source, call, from);
  const line = new ProgressLine(host, "documents", options.has("quiet"));
  const run = new ImportRun(writerOf(call, checkpoint), {
    batchSize,
    isContinuing: options.has("continue-on-error"),
    rejects,
    checkpoint,
    from,
    onProgress: ({ imported }) => {
      line.update({ done: imported - from.imported, part: partOf(source) });
    },
  });
  await storeContents(call);
  const documents = readDocuments(source, {
    types: columnTypes,
    idField: options.text("id"),
    isDone: (index) => isDone(from, index),
    isContinuing: options.has("continue-on-error"),
    onMongoValue: ({ line: at }) => {
      const how = "add --format mongo if mongoexport has written the file";
      call.output.warn(
        `line ${at} has values such as {"$date": …}, which stay as they are; ${how}`,
      );
    },
  });
  try {
    const progress = await run.run(documents);
    line.clear();
    checkpoint?.remove();
    return report(progress, { call, seconds: line.seconds, rejects });
  } catch (error) {
    line.clear();
    throw placed(error, file, run);
  } finally {
    rejects?.close();
  }
}

function isDone({ records, ahead }: Progress, index: number): boolean {
  return index < records || ahead.some(({ from, to }) => index >= from && index < to);
}

/** The id of content is its hash, so a second upload changes nothing. */
async function storeContents(call: Call): Promise<void> {
  const { options, host } = call;
  const folder = await contentFolder(call);
  if (folder === undefined || options.has("dry-run")) return;
  const { attachments } = dataClient(findAddresses(options, host), host);
  for (const name of await readdir(folder)) {
    const { id } = await attachments.upload(await openAsBlob(join(folder, name)), {
      signal: host.signal,
    });
    if (id !== name)
      throw new CommandFailure(`${join(folder, name)}: its content has the id ${id}`);
  }
}

/** An export writes contents beside its file. */
async function contentFolder({ words, options, host }: Call): Promise<string | undefined> {
  const given = options.text("attachments");
  if (given !== undefined) return resolve(host.folder, given);
  const beside = contentsBeside(resolve(host.folder, words[0] ?? ""));
  const found = await stat(beside).catch(() => undefined);
  return found?.isDirectory() === true ? beside : undefined;
}

/** The fault with the name of the file, and what is imported. */
function placed(error: unknown, file: string, { linesAhead }: ImportRun): unknown {
  if (!(error instanceof SourceFault)) return error;
  const name = file === "-" ? "standard input" : file;
  const ahead =
    linesAhead === undefined
      ? ""
      : `, and ${count(linesAhead.documents)} behind it, from lines ${linesAhead.first} to ${linesAhead.last}`;
  const how = `the documents before it are imported${ahead}; --continue-on-error leaves such records out`;
  return new CommandFailure(`${name}: ${error.message}\n${how}`);
}

interface Report {
  readonly call: Call;
  readonly seconds: number;
  readonly rejects: Rejects | undefined;
}

function report({ imported, rejected }: Progress, { call, seconds, rejects }: Report): number {
  const verb = call.options.has("dry-run") ? "would import" : "imported";
  call.output.note(`${verb} ${count(imported)} documents in ${seconds.toFixed(1)} s`);
  if (rejected === 0) return EXIT.done;
  const [are, where] =
    rejects === undefined
      ? ["would be", "; without --dry-run, they go to a file of rejects"]
      : ["were", `: see ${rejects.path}`];
  call.output.warn(`${count(rejected)} records ${are} left out${where}`);
  return EXIT.failed;
}

function separatorOf({ words, options }: Call): string {
  const given = options.text("separator");
  if (given !== undefined) return readSeparator(given);
  return /\.tsv(?:\.gz)?$/i.test(words[0] ?? "") ? "\t" : ",";
}

/** Throws UsageError unless it is one letter that can stand between cells. */
function readSeparator(text: string): string {
  const letter = text === "\\t" ? "\t" : text;
  if (/^[^"\r\n]$/u.test(letter)) return letter;
  const found = JSON.stringify(text);
  throw new UsageError(
    `--separator: expected one letter other than a quote, or \\t, found ${found}`,
  );
}

/** Names where the documents go and how, so that another import does not go on with this one. */
function targetOf(call: Call): string {
  const { options, host } = call;
  const { url } = findAddresses(options, host);
  const how = ["collection", "id", "on-conflict", "types", "batch", "format"];
  const given = how.map((name) => options.text(name) ?? null);
  return JSON.stringify([url?.value, ...given, separatorOf(call)]);
}

interface Opened {
  readonly checkpoint: Checkpoint | undefined;
  readonly from: Progress;
}

/** A file in a folder that cannot be written is imported all the same. */
function openCheckpoint({ path }: Source, target: string, { options, output }: Call): Opened {
  if (path === undefined || options.has("dry-run"))
    return { checkpoint: undefined, from: NO_PROGRESS };
  const checkpoint = new Checkpoint(path, target);
  try {
    if (options.has("restart")) checkpoint.remove();
    return { checkpoint, from: checkpoint.open() };
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (!READ_ONLY.has(code)) throw error;
    output.note(`an import that is cut begins at the start: ${message}`);
    return { checkpoint: undefined, from: NO_PROGRESS };
  }
}

function rejectsOf(
  { path: source }: Source,
  { words, options, host }: Call,
  from: Progress,
): Rejects | undefined {
  if (!options.has("continue-on-error") || options.has("dry-run")) return undefined;
  const file = source === undefined || words[0] === undefined ? "import" : words[0];
  const path = options.text("rejects") ?? `${file}.rejects.ndjson`;
  return new Rejects(resolve(host.folder, path), from.records > 0);
}

function writerOf({ options, host }: Call, checkpoint: Checkpoint | undefined) {
  if (options.has("dry-run")) return DRY_WRITER;
  const addresses = findAddresses(options, host);
  return new DocumentWriter({
    url: requireUrl(addresses),
    key: addresses.key?.value,
    collection: options.required("collection"),
    conflict: (options.text("on-conflict") ?? "fail") as Conflict,
    // Standard input cannot be read again, so nothing goes on with it.
    name: checkpoint?.name ?? randomUUID(),
    isContinuing: options.has("continue-on-error"),
    signal: host.signal,
    patienceMs: (options.number("patience") ?? PATIENCE_SECONDS) * 1000,
  });
}

function partOf({ size, bytesRead }: Source): number | undefined {
  return size === undefined || size === 0 ? undefined : bytesRead() / size;
}
