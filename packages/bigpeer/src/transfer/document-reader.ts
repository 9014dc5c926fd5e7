/**
 * DocumentReader: makes documents of records: it parses them, finds the dialect of the file, and
 * chooses the id.
 */

import { isObject, PeerError, parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { type ColumnType, checkColumnTypes, documentOfRow, readHeader } from "./csv-document.ts";
import { couchDocument, hasMongoValue, mongoValue } from "./foreign-document.ts";
import type { Dialect, Source } from "./source.ts";
import { SourceFault, type SourceRecord } from "./source-record.ts";
import { isTypedLine, type TypedDocument, typedDocument } from "./typed-document.ts";

export interface ReadDocument extends TypedDocument {
  readonly record: SourceRecord;
  /** Of the record in the file, from 0. */
  readonly index: number;
}

/** A record that is no document. */
export interface ReadFault {
  readonly fault: SourceFault;
  readonly record: SourceRecord;
  readonly index: number;
}

export type ReadRecord = ReadDocument | ReadFault;

export interface ReaderOptions {
  readonly types: ReadonlyMap<string, ColumnType>;
  /** Field that is the id; undefined for `_id`. */
  readonly idField: string | undefined;
  /** Whether the record was imported before. */
  readonly isDone: (index: number) => boolean;
  /** Whether a record that is no document is handed out as a fault; otherwise it is thrown. */
  readonly isContinuing: boolean;
  /** Called once, for a plain file that has a value of mongoexport behind its first record. */
  readonly onMongoValue: (record: SourceRecord) => void;
}

/** Documents and faults in groups, as the records are. */
export async function* readDocuments(
  source: Source,
  options: ReaderOptions,
): AsyncGenerator<readonly ReadRecord[], void, void> {
  const reader = new DocumentReader(source, options);
  for await (const records of source.records) {
    const read: ReadRecord[] = [];
    let failure: unknown;
    try {
      for (const record of records) {
        const found = reader.read(record);
        if (found !== undefined) read.push(found);
      }
    } catch (error) {
      failure = error;
    }
    if (read.length > 0) yield read;
    if (failure !== undefined) throw failure;
  }
}

class DocumentReader {
  readonly #options: ReaderOptions;
  #header: string[][] | undefined;
  #dialect: Dialect | undefined;
  #index = -1;
  #hasMongoValue = false;

  constructor({ dialect }: Source, options: ReaderOptions) {
    this.#options = options;
    this.#dialect = dialect;
  }

  /** Undefined for a record without a document, or one that was imported before. */
  read(record: SourceRecord): ReadRecord | undefined {
    if (record.cells !== undefined && this.#header === undefined) {
      // Without names there is nothing to go on with.
      if (record.fault !== undefined) throw record.fault;
      this.#header = readHeader(record);
      checkColumnTypes(this.#options.types, this.#header);
      this.#dialect = "plain";
      return undefined;
    }
    const index = ++this.#index;
    const { isDone, isContinuing, idField } = this.#options;
    // The first record tells the dialect.
    if (this.#dialect !== undefined && isDone(index)) return undefined;
    try {
      if (record.fault !== undefined) throw record.fault;
      const parsed = this.#parse(record);
      this.#dialect ??= dialectOf(parsed);
      if (isDone(index)) return undefined;
      this.#noteMongoValue(parsed, record);
      const read = inDialect(parsed, this.#dialect);
      if (read === undefined) return undefined;
      const { document, declaration } = withId(read, idField, record);
      return { document, declaration, record, index };
    } catch (error) {
      const fault = faultOf(error, record);
      if (!isContinuing) throw fault;
      return { fault, record, index };
    }
  }

  /** A look into the text is quick; almost no document has such a name. */
  #noteMongoValue(parsed: ValueObject, record: SourceRecord): void {
    if (this.#hasMongoValue || this.#dialect !== "plain" || !record.text.includes('"$')) return;
    if (!hasMongoValue(parsed)) return;
    this.#hasMongoValue = true;
    this.#options.onMongoValue(record);
  }

  #parse(record: SourceRecord): ValueObject {
    const header = this.#header;
    return header === undefined
      ? parseRecord(record)
      : documentOfRow(record, header, this.#options.types);
  }
}

function faultOf(error: unknown, record: SourceRecord): SourceFault {
  if (error instanceof SourceFault) return error;
  if (error instanceof PeerError) return new SourceFault(error.message, record);
  throw error;
}

/** Throws SourceFault with the place in the file. */
function parseRecord(record: SourceRecord): ValueObject {
  let value: Value;
  try {
    value = parseJson(record.text);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    throw new SourceFault(error.reason, placeOf(error, record));
  }
  if (isObject(value)) return value;
  throw new SourceFault("expected a document, that is an object", record);
}

/** The parser counts from the beginning of the record. */
function placeOf({ at = "" }: PeerError, record: SourceRecord) {
  const [, line = "1", column = "1"] = /^line (\d+), column (\d+)$/.exec(at) ?? [];
  const isFirst = line === "1";
  return {
    line: record.line + Number(line) - 1,
    column: Number(column) + (isFirst ? record.column - 1 : 0),
  };
}

function dialectOf(document: ValueObject): Dialect {
  if (isTypedLine(document)) return "typed";
  return hasMongoValue(document) ? "mongo" : "plain";
}

/** Undefined for a record without a document. */
function inDialect(parsed: ValueObject, dialect: Dialect): TypedDocument | undefined {
  switch (dialect) {
    case "typed":
      return typedDocument(parsed);
    case "mongo":
      return { document: mongoValue(parsed) as ValueObject, declaration: "" };
    case "couch": {
      const document = couchDocument(parsed);
      return document && { document, declaration: "" };
    }
    default:
      return { document: parsed, declaration: "" };
  }
}

function withId(
  read: TypedDocument,
  field: string | undefined,
  record: SourceRecord,
): TypedDocument {
  if (field === undefined) return read;
  const { document, declaration } = read;
  const id = Object.hasOwn(document, field) ? document[field] : undefined;
  if (id === undefined)
    throw new SourceFault(`expected the field ${field}, which is the id`, record);
  const { [field]: _, _id: _replaced, ...rest } = document;
  return { document: { _id: id, ...rest }, declaration };
}
