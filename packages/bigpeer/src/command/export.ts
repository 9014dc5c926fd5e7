/**
 * `bigpeer export`: writes a collection to a file or to standard output, as of one transaction.
 */

import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BigPeerClient } from "@bigpeer/client";
import { isObject, parseJson, type ValueObject } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { UsageError } from "../program/failure.ts";
import { csvLine, flatten } from "../terminal/csv.ts";
import type { Output } from "../terminal/output.ts";
import { count, ProgressLine } from "../terminal/progress-line.ts";
import {
  AttachmentContents,
  attachmentsIn,
  contentsBeside,
  mayHaveAttachment,
} from "../transfer/attachment-contents.ts";
import { lineRecords } from "../transfer/json-records.ts";
import { DATA, own } from "./shared-options.ts";

const FORMATS = ["ndjson", "csv"] as const;

export const EXPORT: CommandDefinition = {
  name: "export",
  meaning: "write a collection to a file or to standard output",
  group: "Work with documents",
  examples: [
    "export cars > cars.ndjson",
    "export cars --output cars.csv.gz --format csv",
    "export cars --full --output cars.ndjson  # with types and attachments, for an equal copy",
  ],
  words: [{ name: "collection", meaning: "name of the collection" }],
  groups: [
    own(
      {
        name: "output",
        short: "o",
        argument: "FILE",
        meaning: "write to a file; one that ends with .gz is packed",
      },
      {
        name: "format",
        short: "f",
        argument: "FORMAT",
        choices: FORMATS,
        meaning: "default: ndjson",
      },
      { name: "full", meaning: "keep types, counters, binary values and attachments" },
      {
        name: "attachments",
        argument: "FOLDER",
        meaning:
          "where --full writes the contents of attachments; default: FILE.attachments beside --output",
      },
      { name: "quiet", short: "q", meaning: "print nothing but data and errors" },
    ),
    DATA,
  ],
  outputFile: "packed",
  run: exportCollection,
};

async function exportCollection(call: Call): Promise<void> {
  const { options, host, output } = call;
  const isCsv = options.text("format") === "csv";
  const isFull = options.has("full");
  if (isCsv && isFull) throw new UsageError("--full needs --format ndjson: CSV has no types");
  if (options.has("attachments") && !isFull) throw new UsageError("--attachments needs --full");
  const isFile = options.has("output");
  const line = new ProgressLine(host, "documents", options.has("quiet") || !isFile);
  const exporting = new Exporting(call, line);
  try {
    if (isCsv) await writeCsv(exporting, output);
    else if (isFull) await writeFull(exporting, call);
    else await writeLines(exporting, output);
    await output.close();
  } finally {
    line.clear();
  }
  const { documents } = exporting;
  if (isFile) output.note(`exported ${count(documents)} documents in ${line.seconds.toFixed(1)} s`);
}

/** The documents of the collection as they arrive, and how far they are. */
class Exporting {
  readonly client: BigPeerClient;
  readonly signal: AbortSignal;
  readonly #collection: string;
  readonly #line: ProgressLine;
  /** Of the last answer. */
  #size: number | undefined;
  /** Bytes of the documents; undefined if the answer does not say. */
  #total: number | undefined;
  #bytes = 0;
  #documents = 0;

  constructor({ words, options, host }: Call, line: ProgressLine) {
    this.client = dataClient(findAddresses(options, host), host, {
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        this.#size = sizeOf(response);
        return response;
      },
    });
    this.signal = host.signal;
    this.#collection = words[0] ?? "";
    this.#line = line;
  }

  get documents(): number {
    return this.#documents;
  }

  async *bytes({ isFull }: { readonly isFull: boolean }): AsyncGenerator<Uint8Array> {
    const query = { collection: this.#collection, types: isFull ? "true" : "false" } as const;
    const { signal } = this;
    const stream = await this.client.export(query, { signal });
    this.#total = this.#size;
    for await (const bytes of stream) {
      this.#bytes += bytes.length;
      yield bytes;
    }
  }

  /** `of` is the number of all documents, if it is known; the size of the answer tells otherwise. */
  onDocument(of?: number): void {
    this.#documents++;
    const total = of ?? this.#total;
    const done = of === undefined ? this.#bytes : this.#documents;
    const part = total === undefined ? undefined : done / total;
    this.#line.update({ done: this.#documents, part });
  }
}

/** Undefined also for an answer that something in between has packed. */
function sizeOf({ headers }: Response): number | undefined {
  const size = Number(headers.get("content-length") ?? 0);
  return size > 0 && !headers.has("content-encoding") ? size : undefined;
}

async function writeLines(exporting: Exporting, output: Output): Promise<void> {
  for await (const bytes of exporting.bytes({ isFull: false })) {
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1))
      exporting.onDocument();
    await output.write(bytes);
  }
}

/** With the contents of attachments, if there is a folder for them. */
async function writeFull(exporting: Exporting, call: Call): Promise<void> {
  const { output } = call;
  const folder = await contentFolder(call);
  const contents =
    folder === undefined ? undefined : new AttachmentContents(exporting.client, folder);
  let withoutContents = 0;
  for await (const lines of lineRecords(decoded(exporting.bytes({ isFull: true })))) {
    for (const { text } of lines) {
      // A look into the text is quick, and most documents have none.
      const ids = mayHaveAttachment(text) ? attachmentsIn(parseJson(text)) : [];
      if (contents !== undefined) await contents.fetch(ids, exporting.signal);
      else if (ids.length > 0) withoutContents++;
      exporting.onDocument();
      await output.write(`${text}\n`);
    }
  }
  if (withoutContents > 0) {
    const how = "--attachments FOLDER writes them";
    output.warn(
      `${count(withoutContents)} documents have attachments without their contents: ${how}`,
    );
  }
  const missing = contents?.missing ?? 0;
  if (missing > 0)
    output.warn(`${count(missing)} attachments are not in the export: the server has no contents`);
}

/** Undefined where no folder can stand beside the output, as on standard output. */
async function contentFolder({ options, host }: Call): Promise<string | undefined> {
  const given = options.text("attachments");
  if (given !== undefined) return resolve(host.folder, given);
  const file = options.text("output");
  if (file === undefined) return undefined;
  const path = resolve(host.folder, file);
  const found = await stat(path).catch(() => undefined);
  return found === undefined || found.isFile() ? contentsBeside(path) : undefined;
}

/**
 * The columns are those of all documents, so the lines wait in a temporary file until all are known.
 */
async function writeCsv(exporting: Exporting, output: Output): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bigpeer-export-"));
  try {
    const path = join(folder, "lines.ndjson");
    await pipeline(exporting.bytes({ isFull: false }), createWriteStream(path));
    const columns = new Set<string>();
    let total = 0;
    for await (const row of rowsIn(path)) {
      total++;
      for (const name of flatten(row).keys()) columns.add(name);
    }
    const names = [...columns];
    if (names.length > 0) await output.write(csvLine(names));
    for await (const row of rowsIn(path)) {
      const cells = flatten(row);
      await output.write(csvLine(names.map((name) => cells.get(name))));
      exporting.onDocument(total);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* rowsIn(path: string): AsyncGenerator<ValueObject> {
  for await (const lines of lineRecords(createReadStream(path, { encoding: "utf8" }))) {
    for (const { text } of lines) {
      const value = parseJson(text);
      if (isObject(value)) yield value;
    }
  }
}

async function* decoded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const part of bytes) yield decoder.decode(part, { stream: true });
  yield decoder.decode();
}
