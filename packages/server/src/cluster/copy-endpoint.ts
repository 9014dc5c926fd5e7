/**
 * Copy endpoint, `GET /copy/{store}`: sends a consistent copy of a store to another node that joins
 * or was away for too long.
 *
 * The copy is made in a folder of its own while the store goes on, and is removed when it is sent.
 * The body is the data file and then its SHA-256. Until the other node has opened it, the entries
 * that follow it stay in the log.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { DATA_FILE } from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { type Answer, contentAnswer } from "../http/answer.ts";
import { unavailable } from "../http/refusal.ts";
import { type Endpoint, messageBody } from "../http/router.ts";
import { newCopyFolder, removeCopy } from "./copies-folder.ts";

/** Bytes of the digest after the data file. */
export const DIGEST_SIZE = 32;

/** Copies under way at a time. */
const COPIES_MAX = 2;

/** When a copy is removed that no one reads. */
const UNREAD_MS_MAX = 60_000;

const CHUNK_SIZE: number = 256 * 1024;

/** An open store that is copied. */
export interface CopiedStore {
  readonly durableSequence: number;
  copyTo(folder: string): Promise<void>;
}

export interface StoreCopiesHost {
  readonly dataDir: string;
  /** Runs `work` on a store of this node, which is opened for it if it is closed. */
  readonly withStore: (
    store: string,
    work: (opened: CopiedStore) => Promise<void>,
  ) => Promise<void>;
  /** How long the log is held after a copy was sent: then its receiver holds it itself. */
  readonly holdMs: number;
}

interface Hold {
  readonly store: string;
  readonly sequence: number;
}

export class StoreCopies {
  readonly #host: StoreCopiesHost;
  readonly #holds = new Set<Hold>();
  #underWay = 0;

  constructor(host: StoreCopiesHost) {
    this.#host = host;
  }

  /** The lowest entry that copies of a store need; infinite without copies. */
  held(store: string): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const hold of this.#holds) {
      if (hold.store === store) lowest = Math.min(lowest, hold.sequence);
    }
    return lowest;
  }

  /** Answers with a copy. Throws a Refusal, 503, if it cannot be made now. */
  async give(store: string): Promise<Answer> {
    if (this.#underWay >= COPIES_MAX) {
      throw unavailable(`this node is making ${COPIES_MAX} copies already`, 1);
    }
    this.#underWay++;
    const folder = newCopyFolder(this.#host.dataDir);
    let hold: Hold | undefined;
    const end = (): void => {
      this.#underWay--;
      void removeCopy(folder);
      if (hold !== undefined) this.#release(hold);
    };
    try {
      await this.#host.withStore(store, async (opened) => {
        hold = { store, sequence: opened.durableSequence };
        this.#holds.add(hold);
        await opened.copyTo(folder);
      });
      const path = join(folder, DATA_FILE);
      const { size } = await stat(path);
      const open = openOnce(path, end);
      const headers = { "content-type": "application/octet-stream" };
      return contentAnswer(200, { kind: "stream", size: size + DIGEST_SIZE, open }, headers);
    } catch (error) {
      end();
      if (error instanceof PeerError) throw unavailable(error.message, 1);
      throw error;
    }
  }

  #release(hold: Hold): void {
    setTimeout(() => this.#holds.delete(hold), this.#host.holdMs).unref();
  }
}

export function copyEndpoint(copies: () => Pick<StoreCopies, "give">): Endpoint {
  return {
    name: "node_copy",
    path: "/copy/{store}",
    methods: ["GET"],
    failureBody: messageBody,
    answer: (_, { parameters }) => copies().give(parameters["store"] ?? ""),
  };
}

/** Calls `onEnd` when the file was read, or is not read in time. */
function openOnce(path: string, onEnd: () => void): () => Readable {
  const unread = setTimeout(onEnd, UNREAD_MS_MAX);
  unread.unref();
  return () => {
    clearTimeout(unread);
    const stream = Readable.from(digested(path), { objectMode: false });
    stream.once("close", onEnd);
    return stream;
  };
}

/** Yields the content of a file, then its digest. */
async function* digested(path: string): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const content: AsyncIterable<Uint8Array> = createReadStream(path, { highWaterMark: CHUNK_SIZE });
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
  yield hash.digest();
}
