/**
 * Live answers: sends content that arises while it is sent, piece by piece, and compresses it.
 *
 * A piece is written only after the client has taken the pieces before it. A client that takes
 * nothing for a while is disconnected (H47).
 */

import type { ServerResponse } from "node:http";
import { constants, createGzip, type Gzip } from "node:zlib";
import { LIVE_COMPRESSIONS_MAX, SEND_IDLE_MS_MAX } from "../limits/limits.ts";
import type { LiveContent, LiveSink } from "./answer.ts";

/** The part of an exchange that a live answer needs. */
export interface LiveExchange {
  readonly response: ServerResponse;
  readonly isOver: boolean;
  onHangUp(listener: () => void): () => void;
}

/** Sends the whole content; resolves with its bytes when it is over. Never rejects. */
export async function sendLive(
  content: LiveContent,
  exchange: LiveExchange,
  onCut: () => void,
): Promise<number> {
  const { response } = exchange;
  if (exchange.isOver) {
    content.drop();
    return 0;
  }
  const sink = new ResponseSink(exchange);
  response.setTimeout(SEND_IDLE_MS_MAX, () => {
    // It took everything: there was nothing to send.
    if (response.writableLength === 0) return;
    onCut();
    response.destroy();
  });
  response.flushHeaders();
  await content.run(sink);
  response.end();
  return sink.bytes;
}

class ResponseSink implements LiveSink {
  readonly #exchange: LiveExchange;
  bytes = 0;

  constructor(exchange: LiveExchange) {
    this.#exchange = exchange;
  }

  get isOver(): boolean {
    return this.#exchange.isOver;
  }

  onOver(listener: () => void): () => void {
    return this.#exchange.onHangUp(listener);
  }

  write(bytes: Buffer): Promise<void> {
    if (this.isOver) return TAKEN;
    const { response } = this.#exchange;
    this.bytes += bytes.length;
    if (response.write(bytes)) return TAKEN;
    return new Promise((resolve) => {
      const stop = this.onOver(() => done());
      const done = (): void => {
        stop();
        response.off("drain", done);
        resolve();
      };
      response.on("drain", done);
    });
  }
}

const TAKEN = Promise.resolve();

let compressing = 0;

/** The same content, compressed; undefined when too many live answers are compressed already. */
export function compressLive(content: LiveContent): LiveContent | undefined {
  if (compressing >= LIVE_COMPRESSIONS_MAX) return undefined;
  compressing++;
  const release = (): void => {
    compressing--;
  };
  return {
    kind: "live",
    run: async (sink) => {
      const gzip = new GzipSink(sink);
      try {
        await content.run(gzip);
        await gzip.end();
      } finally {
        release();
      }
    },
    drop: () => {
      release();
      content.drop();
    },
  };
}

/** Little memory: there may be many. */
const GZIP = { level: 5, windowBits: 13, memLevel: 6 };

class GzipSink implements LiveSink {
  readonly #sink: LiveSink;
  readonly #gzip: Gzip = createGzip(GZIP);
  #chunks: Buffer[] = [];

  constructor(sink: LiveSink) {
    this.#sink = sink;
    this.#gzip.on("data", (chunk: Buffer) => this.#chunks.push(chunk));
    // Only a client that has left closes it before its end.
    this.#gzip.on("error", () => undefined);
  }

  get isOver(): boolean {
    return this.#sink.isOver;
  }

  onOver(listener: () => void): () => void {
    return this.#sink.onOver(listener);
  }

  /** Each piece is complete: the client can read it at once. */
  async write(bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#gzip.write(bytes);
      this.#gzip.flush(constants.Z_SYNC_FLUSH, () => resolve());
    });
    await this.#pass();
  }

  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#gzip.once("end", () => resolve());
      this.#gzip.end();
    });
    await this.#pass();
  }

  async #pass(): Promise<void> {
    const chunks = this.#chunks;
    this.#chunks = [];
    if (chunks.length > 0) await this.#sink.write(Buffer.concat(chunks));
  }
}
