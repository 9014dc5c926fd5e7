/**
 * Rounds: the loop that brings live streams to the newest durable transaction, one round after the
 * other as long as there is something to bring.
 */

import { isTransient } from "../log/transient-error.ts";
import type { ServedSession, Stream } from "../stream/stream.ts";
import type { StreamHost } from "../stream/stream-host.ts";
import { Delivery } from "./delivery.ts";
import { readRound } from "./round.ts";
import { RoundQueue } from "./round-queue.ts";

export class Rounds {
  readonly #host: StreamHost;
  readonly #queue = new RoundQueue();
  #position: number;
  /** When the first commit was noticed that no round has brought yet. */
  #noticedMs: number | undefined;
  #lagMs = 0;
  #isGoing = false;
  #isClosed = false;

  constructor(host: StreamHost) {
    this.#host = host;
    this.#position = host.newestTxn();
  }

  /** The transaction that all live streams have reached. */
  get position(): number {
    return this.#position;
  }

  /** Milliseconds from the notice of the first commit of the last round to its last frame. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Queues a stream according to its phase, or removes it. */
  place(stream: Stream): void {
    if (this.#queue.place(stream)) this.wake();
  }

  /** The session has outcomes that fit into its queue. */
  addSession(session: ServedSession): void {
    this.#queue.addSession(session);
  }

  removeSession(session: ServedSession): void {
    this.#queue.removeSession(session);
  }

  /** A transaction is durable. */
  committed(): void {
    const { groups, elapsed } = this.#host;
    if (groups.liveCount > 0) this.#noticedMs ??= elapsed();
    this.wake();
  }

  wake(): void {
    if (this.#isGoing || this.#isClosed || !this.#isDue) return;
    this.#isGoing = true;
    void this.#go();
  }

  close(): void {
    this.#isClosed = true;
  }

  get #isDue(): boolean {
    const txn = this.#host.newestTxn();
    if (this.#host.groups.liveCount > 0 && txn > this.#position) return true;
    return this.#queue.isDue(txn);
  }

  async #go(): Promise<void> {
    while (!this.#isClosed && this.#isDue) {
      // Callers that wait for a commit are notified first, so that their outcomes go along.
      await this.#host.pause();
      if (this.#isClosed) break;
      try {
        await this.#round();
      } catch (error) {
        if (!isTransient(error)) this.#failAll(error);
      }
    }
    this.#isGoing = false;
  }

  async #round(): Promise<void> {
    const input = { since: this.#position, ...this.#queue.waiting() };
    const noticedMs = this.#noticedMs;
    this.#noticedMs = undefined;
    const changes = await this.#host.read((snapshot) =>
      readRound({ snapshot, ...input }, this.#host),
    );
    await this.#host.run(new Delivery(changes, this.#host, this.#queue).steps());
    this.#position = changes.txn;
    if (noticedMs !== undefined) this.#lagMs = this.#host.elapsed() - noticedMs;
  }

  /** The store itself fails: all streams end. */
  #failAll(error: unknown): void {
    for (const group of Array.from(this.#host.groups.all())) {
      for (const stream of Array.from(group.streams)) this.#host.fail(stream, error);
    }
    this.#queue.removeSessions();
  }
}
