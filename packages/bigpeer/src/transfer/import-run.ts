/**
 * Import run: reads documents and writes them in batches, several at the same time. The checkpoint
 * says how far all records are done, so a run that is cut goes on there. When a document is refused,
 * batches behind it may be written already: the checkpoint names them, and they are not sent again.
 */

import type { Checkpoint, Progress, RecordRange } from "./checkpoint.ts";
import type { ReadDocument, ReadFault, ReadRecord } from "./document-reader.ts";
import type { DocumentWriter, Outcome, Refused } from "./document-writer.ts";
import type { Rejects } from "./rejects.ts";
import { SourceFault } from "./source-record.ts";

export interface ImportOptions {
  readonly batchSize: number;
  readonly isContinuing: boolean;
  readonly rejects: Pick<Rejects, "add"> | undefined;
  readonly checkpoint: Pick<Checkpoint, "write"> | undefined;
  readonly from: Progress;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * Time between writes of the checkpoint. A slow disk would hold up the import otherwise. Batches behind
 * the last checkpoint are sent again, under their keys.
 */
const SAVE_MS = 500;

/** Batches that are written at the same time. */
const IN_FLIGHT_MAX = 4;

/** Text of a batch: far below what the server takes, as CBOR is no longer than JSON. */
const BATCH_LENGTH_MAX: number = 2 * 1024 * 1024;

/** Records of one block of the file. Faults are written down when their turn comes. */
interface Batch {
  readonly documents: readonly ReadDocument[];
  readonly faults: readonly ReadFault[];
  /** Index behind its last record. */
  readonly end: number;
  readonly outcome: Promise<Outcome>;
}

export class ImportRun {
  readonly #writer: Pick<DocumentWriter, "write">;
  readonly #options: ImportOptions;
  /** In the order of the file. */
  readonly #flight: Batch[] = [];
  #progress: Progress;
  #savedMs: number = performance.now();
  /** Whether a document was refused, so that nothing more is sent. */
  #isEnded = false;
  /** Lines of the documents that were written behind the one that ended the import. */
  #linesAhead: Lines | undefined;

  constructor(writer: Pick<DocumentWriter, "write">, options: ImportOptions) {
    this.#writer = writer;
    this.#options = options;
    this.#progress = options.from;
  }

  get progress(): Progress {
    return this.#progress;
  }

  get linesAhead(): Lines | undefined {
    return this.#linesAhead;
  }

  /** Documents before a failure of the file are written before it is thrown. */
  async run(groups: AsyncIterable<readonly ReadRecord[]>): Promise<Progress> {
    let batch: ReadRecord[] = [];
    let length = 0;
    const start = async (): Promise<void> => {
      const records = batch;
      batch = [];
      length = 0;
      if (records.length > 0) await this.#start(records);
    };
    let failure: unknown;
    try {
      for await (const records of groups) {
        for (const record of records) {
          if (this.#isOtherBlock(batch, record)) await start();
          batch.push(record);
          length += lengthOf(record);
          if (this.#isEnd(record) || length >= BATCH_LENGTH_MAX) await start();
        }
      }
    } catch (error) {
      if (this.#isEnded || !(error instanceof SourceFault)) {
        await this.#abandon();
        this.#save();
        throw error;
      }
      // In the file itself: the documents before it are written.
      failure = error;
    }
    await start();
    while (this.#flight.length > 0) await this.#settle();
    this.#save();
    if (failure !== undefined) throw failure;
    return this.#progress;
  }

  /** At places of the file, so that an import that goes on sends the batches it sent before. */
  #isEnd({ index }: ReadRecord): boolean {
    return (index + 1) % this.#options.batchSize === 0;
  }

  /** The last record of a block may hold no document, or be imported already. */
  #isOtherBlock([first]: readonly ReadRecord[], { index }: ReadRecord): boolean {
    const { batchSize } = this.#options;
    return (
      first !== undefined && Math.floor(first.index / batchSize) !== Math.floor(index / batchSize)
    );
  }

  async #start(records: readonly ReadRecord[]): Promise<void> {
    if (this.#flight.length >= IN_FLIGHT_MAX) await this.#settle();
    const documents = records.filter((record) => "document" in record);
    const faults = records.filter((record) => "fault" in record);
    const outcome =
      documents.length === 0
        ? Promise.resolve({ written: 0, refused: [] })
        : this.#writer.write(documents);
    // Read when its turn comes; until then it is no unhandled rejection.
    outcome.catch(() => {});
    this.#flight.push({ documents, faults, end: (records.at(-1)?.index ?? -1) + 1, outcome });
  }

  /** Takes the outcome of the oldest batch. */
  async #settle(): Promise<void> {
    const batch = this.#flight.shift();
    if (batch === undefined) return;
    let outcome: Outcome;
    try {
      outcome = await batch.outcome;
    } catch (error) {
      await this.#abandon();
      this.#save();
      throw error;
    }
    const { written, refused } = outcome;
    const { rejected } = this.#progress;
    const [first] = refused;
    if (first !== undefined && !this.#options.isContinuing) return this.#refuse(first, written);
    this.#reject(batch.faults, refused);
    this.#advance(batch.end, written, refused.length + batch.faults.length);
    // A reject is in its file once, also after a crash.
    const isDue = this.#progress.rejected !== rejected;
    if (isDue || performance.now() - this.#savedMs > SAVE_MS) this.#save();
    this.#options.onProgress(this.#progress);
  }

  #advance(records: number, written: number, refused: number): void {
    const { imported, rejected, ahead } = this.#progress;
    this.#progress = {
      records,
      imported: imported + written,
      rejected: rejected + refused,
      ahead: ahead.filter(({ to }) => to > records),
    };
  }

  /** Notes what was written before the refused document and behind it, and ends the import. */
  async #refuse({ document, reason }: Refused, written: number): Promise<never> {
    this.#isEnded = true;
    this.#advance(document.index, written, 0);
    const ahead: ReadDocument[][] = [];
    for (const { documents, outcome } of this.#flight.splice(0)) {
      // Without an answer, its key decides when the import goes on.
      const found = await outcome.catch(() => undefined);
      if (found !== undefined && found.written > 0) ahead.push(documents.slice(0, found.written));
    }
    const all = ahead.flat();
    const { imported, ahead: before } = this.#progress;
    this.#progress = {
      ...this.#progress,
      imported: imported + all.length,
      ahead: [...before, ...ahead.map(rangeOf)].toSorted((a, b) => a.from - b.from),
    };
    this.#linesAhead = linesOf(all);
    this.#save();
    throw new SourceFault(reason, document.record);
  }

  /** Writes down what is left out, in the order of the file. */
  #reject(faults: readonly ReadFault[], refused: readonly Refused[]): void {
    const all = [
      ...faults.map(({ fault: { reason, line, column }, record, index }) => {
        return { index, record, reason: `${reason}, at line ${line}, column ${column}` };
      }),
      ...refused.map(({ document: { record, index }, reason }) => ({ index, record, reason })),
    ];
    all.sort((a, b) => a.index - b.index);
    for (const { record, reason } of all) this.#options.rejects?.add(record, reason);
  }

  /** Waits for what is under way, so that nothing is written behind the failure. */
  async #abandon(): Promise<void> {
    await Promise.allSettled(this.#flight.map(({ outcome }) => outcome));
    this.#flight.length = 0;
  }

  #save(): void {
    this.#options.checkpoint?.write(this.#progress);
    this.#savedMs = performance.now();
  }
}

export interface Lines {
  readonly documents: number;
  readonly first: number;
  readonly last: number;
}

function linesOf(documents: readonly ReadDocument[]): Lines | undefined {
  const [first, last] = [documents[0]?.record, documents.at(-1)?.record];
  if (first === undefined || last === undefined) return undefined;
  return { documents: documents.length, first: first.line, last: last.line };
}

function rangeOf(documents: readonly ReadDocument[]): RecordRange {
  return { from: documents[0]?.index ?? 0, to: (documents.at(-1)?.index ?? -1) + 1 };
}

function lengthOf({ record: { text, cells } }: ReadRecord): number {
  return text.length + (cells?.reduce((sum, cell) => sum + cell.text.length, 0) ?? 0);
}
