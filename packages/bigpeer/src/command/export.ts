/**
 * `bigpeer export`: writes a collection to a file or to standard output, as of one transaction.
 */

import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { BigPeerClient } from "@bigpeer/client";
import { isObject, parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { dataClient, findAddresses } from "../connection/addresses.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { UsageError } from "../program/failure.ts";
import { csvLine, flatten } from "../terminal/csv.ts";
import type { Output } from "../terminal/output.ts";
import { count, ProgressLine } from "../terminal/progress-line.ts";
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
    "export cars --full --output cars.ndjson  # with types, for an equal copy",
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
      { name: "full", meaning: "keep types, counters and binary values" },
      {
        name: "attachments",
        argument: "FOLDER",
        meaning: "also fetch the contents of attachments; needs --full",
      },
      { name: "quiet", short: "q", meaning: "print nothing but data and errors" },
    ),
    DATA,
  ],
  outputFile: "packed",
  run: exportCollection,
};

async function exportCollection(call: Call): Promise<void> {
  const { words, options, host, output } = call;
  const isCsv = options.text("format") === "csv";
  const isFull = options.has("full");
  if (isCsv && isFull) throw new UsageError("--full needs --format ndjson: CSV has no types");
  if (options.has("attachments") && !isFull) throw new UsageError("--attachments needs --full");
  const client = dataClient(findAddresses(options, host), host);
  const collection = words[0] ?? "";
  const isFile = options.has("output");
  const line = new ProgressLine(host, "documents", options.has("quiet") || !isFile);
  let documents = 0;
  const onDocument = (): void => line.update({ done: ++documents });
  try {
    if (isCsv) await writeCsv(client, collection, { output, onDocument, signal: host.signal });
    else await writeLines(client, call, { output, onDocument, signal: host.signal });
    await output.close();
  } finally {
    line.clear();
  }
  if (isFile) output.note(`exported ${count(documents)} documents in ${line.seconds.toFixed(1)} s`);
}

interface Exporting {
  readonly output: Output;
  readonly onDocument: () => void;
  readonly signal: AbortSignal;
}

async function writeLines(client: BigPeerClient, call: Call, exporting: Exporting): Promise<void> {
  const { output, onDocument, signal } = exporting;
  const { options, words, host } = call;
  const types = options.has("full") ? "true" : "false";
  const stream = await client.export({ collection: words[0] ?? "", types }, { signal });
  const folder = options.text("attachments");
  const contents =
    folder === undefined ? undefined : new Contents(client, resolve(host.folder, folder));
  if (contents === undefined) {
    for await (const bytes of stream) {
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) onDocument();
      await output.write(bytes);
    }
    return;
  }
  for await (const lines of lineRecords(decoded(stream))) {
    for (const { text } of lines) {
      await contents.fetchOf(parseJson(text), signal);
      onDocument();
      await output.write(`${text}\n`);
    }
  }
}

/**
 * The columns are those of all documents, so the lines wait in a temporary file until all are known.
 */
async function writeCsv(
  client: BigPeerClient,
  collection: string,
  exporting: Exporting,
): Promise<void> {
  const { output, onDocument, signal } = exporting;
  const folder = await mkdtemp(join(tmpdir(), "bigpeer-export-"));
  try {
    const path = join(folder, "lines.ndjson");
    await pipeline(
      await client.export({ collection, types: "false" }, { signal }),
      createWriteStream(path),
    );
    const columns = new Set<string>();
    for await (const row of rowsIn(path)) for (const name of flatten(row).keys()) columns.add(name);
    const names = [...columns];
    if (names.length > 0) await output.write(csvLine(names));
    for await (const row of rowsIn(path)) {
      const cells = flatten(row);
      await output.write(csvLine(names.map((name) => cells.get(name))));
      onDocument();
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

/** Contents of attachments, each in a file with its id as name. */
class Contents {
  readonly #client: BigPeerClient;
  readonly #folder: string;
  readonly #known = new Set<string>();

  constructor(client: BigPeerClient, folder: string) {
    this.#client = client;
    this.#folder = folder;
  }

  /** Fetches those of a line of a full export that are not there yet. */
  async fetchOf(line: Value, signal: AbortSignal): Promise<void> {
    for (const id of idsIn(isObject(line) ? (line["fields"] ?? null) : null)) {
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      await mkdir(this.#folder, { recursive: true });
      const path = join(this.#folder, id);
      const content = await this.#client.attachments.stream(id, { signal });
      try {
        await pipeline(content, createWriteStream(`${path}.part`, { mode: 0o600 }));
        await rename(`${path}.part`, path);
      } catch (error) {
        await rm(`${path}.part`, { force: true });
        throw error;
      }
    }
  }
}

/** Ids of attachments in wrapped fields. */
function idsIn(fields: Value): string[] {
  if (!isObject(fields)) return [];
  return Object.values(fields).flatMap((wrapped) => {
    if (!isObject(wrapped)) return [];
    const map = wrapped["map"];
    if (map !== undefined && isObject(map)) return idsIn(map["value"] ?? null);
    const attachment = wrapped["attachment"];
    const token =
      attachment !== undefined && isObject(attachment) ? attachment["value"] : undefined;
    const id = token !== undefined && isObject(token) ? token["id"] : undefined;
    // An id becomes the name of a file.
    return typeof id === "string" && /^[\w-]+$/.test(id) ? [id] : [];
  });
}
