/**
 * Upload relay: applies the uploads of sessions where the app is evaluated, in the order in which
 * each session sent them.
 *
 * The evaluating node refuses an upload that comes before its predecessor, as it would that of a
 * forked site. So the uploads of a session that are sent to another node are on their way one batch
 * at a time; those that arrive meanwhile are the next batch.
 */

import { assert, type ErrorCode, PeerError } from "@bigpeer/protocol";
import type { Channel } from "../platform.ts";
import type { Writer } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { takeUpload } from "../store/taken-upload.ts";
import type { CheckUpload, Upload, UploadAnswer } from "../store/upload.ts";

/** An upload of a session, as the sync server hands it over. */
export interface RelayedUpload {
  readonly upload: Upload;
  readonly check: CheckUpload;
  readonly credential: string;
  /** The sender, as the log names it. */
  readonly by?: Writer | undefined;
  /** The connection of the session. */
  readonly channel: Channel;
  /** Bytes of its message. */
  readonly size: number;
}

/** What the evaluating node says of an upload: also why it could not be applied now. */
export type RelayedAnswer =
  | UploadAnswer
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

export interface UploadRelayHost<T> {
  readonly store: Store;
  /** Applies an upload here; takeUpload unless a test replaces it. */
  readonly take?: typeof takeUpload;
  /** Has the evaluating node apply uploads in this order. Rejects if no node does so in time. */
  readonly relay: (uploads: readonly T[]) => Promise<readonly RelayedAnswer[]>;
  /** Resolves when the store here has a transaction. Rejects if that takes too long. */
  readonly reached: (txnId: number) => Promise<unknown>;
}

interface Waiting<T> {
  readonly asked: T;
  readonly order: number;
  readonly resolve: (answer: UploadAnswer | Promise<UploadAnswer>) => void;
  readonly reject: (error: unknown) => void;
}

/** The uploads of one session that are not answered. */
interface Line<T> {
  /** How many have come. */
  count: number;
  /** How many this node applies itself. */
  here: number;
  waiting: Waiting<T>[];
  isRelaying: boolean;
}

/** What is sent to another node at once; a single upload may be larger. */
const BATCH_BYTES = 4 * 1024 * 1024;

export class UploadRelay<T extends RelayedUpload> {
  readonly #host: UploadRelayHost<T>;
  readonly #lines = new WeakMap<Channel, Line<T>>();

  constructor(host: UploadRelayHost<T>) {
    this.#host = host;
  }

  /** As takeUpload. When it resolves, the store of this node has the upload. */
  upload(asked: T): Promise<UploadAnswer> {
    const line = this.#lineOf(asked.channel);
    const order = line.count++;
    const isFirst = line.waiting.length === 0 && !line.isRelaying;
    if (isFirst && !this.#host.store.isFollowing) return this.#applyHere(line, asked, order);
    const answer = this.#wait(line, asked, order);
    this.#start(line);
    return answer;
  }

  #lineOf(channel: Channel): Line<T> {
    const known = this.#lines.get(channel);
    if (known !== undefined) return known;
    const line = { count: 0, here: 0, waiting: [], isRelaying: false };
    this.#lines.set(channel, line);
    return line;
  }

  async #applyHere(line: Line<T>, asked: T, order: number): Promise<UploadAnswer> {
    const { upload, check, credential: owner, by } = asked;
    line.here++;
    let answer: Promise<UploadAnswer>;
    try {
      const { store, take = takeUpload } = this.#host;
      return await take(store, upload, check, { owner, by });
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      answer = this.#wait(line, asked, order);
    } finally {
      line.here--;
      this.#start(line);
    }
    return answer;
  }

  #wait(line: Line<T>, asked: T, order: number): Promise<UploadAnswer> {
    return new Promise((resolve, reject) => {
      line.waiting.push({ asked, order, resolve, reject });
      // One that was refused here may come after a later one.
      line.waiting.sort((a, b) => a.order - b.order);
    });
  }

  #start(line: Line<T>): void {
    if (line.isRelaying || line.here > 0 || line.waiting.length === 0) return;
    line.isRelaying = true;
    void this.#relayAll(line);
  }

  /** Never rejects. */
  async #relayAll(line: Line<T>): Promise<void> {
    while (line.waiting.length > 0) {
      const batch = takeBatch(line.waiting);
      try {
        const answers = await this.#host.relay(batch.map(({ asked }) => asked));
        assert(answers.length === batch.length, "an answer for each upload");
        for (const [i, { resolve }] of batch.entries()) {
          resolve(this.#applied(answers[i] as RelayedAnswer));
        }
      } catch (error) {
        // Those behind it would only be refused.
        for (const { reject } of [...batch, ...line.waiting.splice(0)]) reject(error);
      }
    }
    line.isRelaying = false;
  }

  async #applied(answer: RelayedAnswer): Promise<UploadAnswer> {
    if (answer.kind === "failed") throw new PeerError(answer.code, answer.message);
    if (answer.kind === "taken") await this.#host.reached(answer.record.txnId);
    return answer;
  }
}

/**
 * The answers of the evaluating node, of uploads that it applies in order. Rejects with
 * `cluster.elsewhere` if it no longer evaluates: then all of them are sent again.
 */
export async function relayedAnswers(
  applied: readonly Promise<UploadAnswer>[],
): Promise<RelayedAnswer[]> {
  const settled = await Promise.allSettled(applied);
  return settled.map((result) => {
    if (result.status === "fulfilled") return result.value;
    const error: unknown = result.reason;
    if (!(error instanceof PeerError) || isElsewhere(error)) throw error;
    return { kind: "failed", code: error.code, message: error.message };
  });
}

function takeBatch<T extends RelayedUpload>(waiting: Waiting<T>[]): Waiting<T>[] {
  let bytes = 0;
  const end = waiting.findIndex(({ asked }, i) => {
    bytes += asked.size;
    return i > 0 && bytes > BATCH_BYTES;
  });
  return waiting.splice(0, end === -1 ? waiting.length : end);
}

function isElsewhere(error: unknown): boolean {
  return error instanceof PeerError && error.code === "cluster.elsewhere";
}
