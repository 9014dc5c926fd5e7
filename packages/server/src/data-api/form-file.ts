/**
 * Form file: parses multipart/form-data as a stream and yields the content of its one part `file`.
 *
 * The parser gets one chunk at a time, and the next only after its output was consumed. It has no
 * input of its own: a few turns of the event loop after the last chunk it has emitted everything. A
 * form that it does not finish is malformed. After its first error it gets no more input, because
 * some of its reactions would end the process.
 */

import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { Refusal } from "../http/refusal.ts";

const PART_NAME = "file";

/** Maximum bytes of the headers of a part. */
const PART_HEADERS_MAX = 16 * 1024;

/** More turns than the parser needs to deliver what it holds. */
const TURNS_MAX = 32;

/**
 * Yields the content, and ends only when the whole form was read and is valid. Throws a Refusal,
 * 400, when it is not.
 */
export async function* formFile(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
): AsyncGenerator<Uint8Array> {
  const reader = new FormReader(contentType);
  for await (const chunk of body) {
    await reader.write(chunk);
    yield* reader.take();
  }
  await reader.end();
  yield* reader.take();
}

class FormReader {
  readonly #parser: BusboyInstance;
  #chunks: Uint8Array[] = [];
  #failure: Refusal | undefined;
  #isFileWhole = false;
  #isFinished = false;

  constructor(contentType: string) {
    this.#parser = createParser(contentType);
    this.#parser
      .on("file", (name: string | undefined, file) => {
        if (name !== PART_NAME) this.#fail(describeName(name));
        file
          .on("data", (chunk: Uint8Array) => this.#chunks.push(chunk))
          .on("end", () => {
            this.#isFileWhole = true;
          })
          .on("error", (error) => this.#fail(describeFailure(error)));
      })
      .on("partsLimit", () => this.#fail("more than one part"))
      .on("error", (error) => this.#fail(describeFailure(error)))
      .on("finish", () => {
        this.#isFinished = true;
      });
  }

  /** Content found since the last call. */
  take(): Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  async write(chunk: Uint8Array): Promise<void> {
    let isTaken = false;
    this.#attempt(() =>
      this.#parser.write(chunk, () => {
        isTaken = true;
      }),
    );
    await this.#wait(() => isTaken);
    // The parser never calls back for a long part that it skips when the end of the form is in
    // sight.
    if (!isTaken) this.#fail("a part without a name");
    this.#check();
  }

  async end(): Promise<void> {
    this.#attempt(() => this.#parser.end());
    await this.#wait(() => this.#isFinished);
    if (!this.#isFinished || !this.#isFileWhole) this.#fail("none");
    this.#check();
  }

  /** Waits until the parser has done it, has failed, or will do neither. */
  async #wait(isDone: () => boolean): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX && !isDone(); turn++) {
      if (this.#failure !== undefined) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The parser may also throw. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(describeFailure(error));
    }
  }

  #fail(found: string): void {
    this.#failure ??= malformed(found);
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      // With or without a file name: the name of the part decides.
      isPartAFile: () => true,
      limits: { parts: 1, files: 1, fields: 0, headerPairs: 32, headerSize: PART_HEADERS_MAX },
    });
  } catch (error) {
    throw malformed(describeFailure(error));
  }
}

function describeName(name: string | undefined): string {
  return name === undefined ? "a part without a name" : `a part named ${name.slice(0, 100)}`;
}

/** In the words of the parser. */
function describeFailure(error: unknown): string {
  return `a malformed one (${error instanceof Error ? error.message : String(error)})`;
}

function malformed(found: string): Refusal {
  return new Refusal(
    400,
    `expected multipart/form-data with one part named ${PART_NAME}, found ${found}`,
  );
}
