/**
 * Export endpoint, `GET /store/export`: sends all documents of a collection as of one transaction,
 * a line of JSON for each (H70).
 *
 * A snapshot keeps freed pages of the store from being used, and a client may take an hour. So the
 * server first writes the lines to a file without a name, as fast as its disk is, and then sends the file. The memory of
 * the process does not grow with the collection.
 */

import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { StoredDocument } from "@bigpeer/engine/store";
import { ownerOf } from "../auth/credential.ts";
import { type Answer, contentAnswer } from "../http/answer.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody, type Place } from "../http/router.ts";
import { EXPORTS_MAX } from "../limits/limits.ts";
import type { DataGate } from "./data-gate.ts";
import { exportLine } from "./export-line.ts";
import type { OperatedApp } from "./operation.ts";

export interface ExportHost {
  readonly gate: Pick<DataGate<OperatedApp>, "authenticate" | "failureOf">;
  /** Folder on the disk of the data. */
  readonly folder: string;
}

export const EXPORT_PATH = "/store/export";

/** Bytes that are written or sent at once. */
const CHUNK_SIZE: number = 256 * 1024;

interface Asked {
  readonly collection: string;
  readonly isTyped: boolean;
}

export function exportEndpoint({ gate, folder }: ExportHost): Endpoint {
  let running = 0;
  return {
    name: "export",
    path: EXPORT_PATH,
    methods: ["GET"],
    failureBody: messageBody,
    answer: async (request, place): Promise<Answer> => {
      const { use, app, credential } = await gate.authenticate(request, place);
      const { authority } = credential;
      let file: ExportFile | undefined;
      let isCounted = false;
      try {
        const asked = askedIn(place);
        if (running >= EXPORTS_MAX) throw unavailable("the server runs too many exports", 5);
        running++;
        isCounted = true;
        file = await ExportFile.create(folder);
        const stop = request.onHangUp(() => file?.leave());
        const { transactionId } = await app.statements.export({
          collection: asked.collection,
          authority,
          owner: ownerOf(app.id, credential),
          isUnknownRefused: !app.settings.isUnknownEmpty,
          onDocument: file.receiver(asked.isTyped),
        });
        await file.finish();
        stop();
        return answerOf(file, transactionId);
      } catch (error) {
        await file?.close();
        throw gate.failureOf(error, app.id);
      } finally {
        if (isCounted) running--;
        use.release();
      }
    },
  };
}

function answerOf(file: ExportFile, transactionId: number): Answer {
  const headers = {
    "content-type": "application/x-ndjson",
    "x-service-txn-id": String(transactionId),
  };
  return contentAnswer(200, { kind: "stream", size: file.size, open: () => file.read() }, headers);
}

function askedIn({ query }: Place): Asked {
  const parameters = new URLSearchParams(query);
  const collection = parameters.get("collection") ?? "";
  if (collection === "") {
    throw new Refusal(400, "expected the parameter collection in the address, found none");
  }
  const typed = parameters.get("types") ?? "false";
  if (typed === "true" || typed === "false") return { collection, isTyped: typed === "true" };
  const found = typed.slice(0, 40);
  throw new Refusal(400, `expected types to be true or false, found "${found}"`);
}

let names = 0;

/** A file that has no name once it is open, so that a crash leaves nothing. */
class ExportFile {
  size = 0;
  readonly #handle: FileHandle;
  #lines: string[] = [];
  #length = 0;
  #hasLeft = false;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async create(folder: string): Promise<ExportFile> {
    const path = join(folder, `export-${process.pid}-${++names}.tmp`);
    const handle = await open(path, "wx+", 0o600);
    try {
      await unlink(path);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new ExportFile(handle);
  }

  /** The client has disconnected: the rest is not written. */
  leave(): void {
    this.#hasLeft = true;
  }

  receiver(isTyped: boolean): (document: StoredDocument) => Promise<void> | undefined {
    return (document) => {
      if (this.#hasLeft) throw new Refusal(499, "the client left");
      const line = exportLine(document, isTyped);
      this.#lines.push(line);
      this.#length += line.length;
      return this.#length < CHUNK_SIZE ? undefined : this.#flush();
    };
  }

  async finish(): Promise<void> {
    await this.#flush();
  }

  /** Sends what was written, then closes the file. */
  read(): Readable {
    const stream = Readable.from(this.#chunks(), { objectMode: false });
    // Also when it is destroyed before it is read.
    stream.once("close", () => void this.close());
    return stream;
  }

  async close(): Promise<void> {
    await this.#handle.close().catch(() => {});
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#lines.join(""), "utf8");
    this.#lines = [];
    this.#length = 0;
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.size);
      at += bytesWritten;
      this.size += bytesWritten;
    }
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < this.size; ) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_SIZE, this.size - at));
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }
}
