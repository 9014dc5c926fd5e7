/**
 * DocumentReader: makes documents of records: it parses them, finds the dialect of the file, and
 * chooses the id.
 */

import { isObject, PeerError, parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { type ColumnType, checkColumnTypes, documentOfRow, readHeader } from "./csv-document.ts";
import { couchDocument, isMongoDocument, mongoValue } from "./foreign-document.ts";
import type { Source } from "./source.ts";
import { SourceFault, type SourceRecord } from "./source-record.ts";
import { isTypedLine, type TypedDocument, typedDocument } from "./typed-document.ts";

export interface ReadDocument extends TypedDocument {
  readonly record: SourceRecord;
  /** Of the record in the file, from 0. */
  readonly index: number;
}

export interface ReaderOptions {
  readonly types: ReadonlyMap<string, ColumnType>;
  /** Field that is the id; undefined for `_id`. */
  readonly idField: string | undefined;
  /** Whether the record was imported before. */
  readonly isDone: (index: number) => boolean;
  /** Called for a record that is no document. Throws to end the import. */
  readonly onFault: (fault: SourceFault, record: SourceRecord, index: number) => void;
}

type Dialect = "plain" | "typed" | "mongo" | "couch";

/** Documents in groups, as the records are. */
export async function* readDocuments(
  source: Source,
  options: ReaderOptions,
): AsyncGenerator<readonly ReadDocument[], void, void> {
  const reader = new DocumentReader(source, options);
  for await (const records of source.records) {
    const documents: ReadDocument[] = [];
    let failure: unknown;
    try {
      for (const record of records) {
        const document = reader.read(record);
        if (document !== undefined) documents.push(document);
      }
    } catch (error) {
      failure = error;
    }
    if (documents.length > 0) yield documents;
    if (failure !== undefined) throw failure;
  }
}

class DocumentReader {
  readonly #options: ReaderOptions;
  #header: string[][] | undefined;
  #dialect: Dialect | undefined;
  #index = -1;

  constructor({ isCouch }: Source, options: ReaderOptions) {
    this.#options = options;
    if (isCouch) this.#dialect = "couch";
  }

  /** Undefined for a record without a document, or one that was imported before. */
  read(record: SourceRecord): ReadDocument | undefined {
    if (record.cells !== undefined && this.#header === undefined) {
      this.#header = readHeader(record);
      checkColumnTypes(this.#options.types, this.#header);
      this.#dialect = "plain";
      return undefined;
    }
    const index = ++this.#index;
    const { isDone, onFault, idField } = this.#options;
    // The first record tells the dialect.
    if (this.#dialect !== undefined && isDone(index)) return undefined;
    try {
      const parsed = this.#parse(record);
      this.#dialect ??= dialectOf(parsed);
      if (isDone(index)) return undefined;
      const read = inDialect(parsed, this.#dialect);
      if (read === undefined) return undefined;
      const { document, declaration } = withId(read, idField, record);
      return { document, declaration, record, index };
    } catch (error) {
      onFault(faultOf(error, record), record, index);
      return undefined;
    }
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
  return isMongoDocument(document) ? "mongo" : "plain";
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
