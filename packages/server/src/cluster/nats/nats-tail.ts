/**
 * NatsTail: delivers the entries of a log as they are appended, by a consumer of JetStream.
 *
 * It pulls one batch after the other, each when the one before was taken: so at most one batch waits
 * in memory. The consumer is made for one iteration and is never repaired. If an entry may have been
 * missed (a lost connection, missed heartbeats, a gap in the deliveries), the iteration throws, and
 * its caller begins again behind the last entry that it has.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { LogTail, SharedEntry } from "@bigpeer/engine/cluster";
import { assert, PeerError } from "@bigpeer/protocol";
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JsMsg,
  messageOf,
  type NatsConnection,
} from "../../nats/nats-connection.ts";
import type { NatsLogPlace } from "./nats-subject.ts";

/** Of a batch, which has at most 100 messages too; four of the largest entries. */
const BATCH_SIZE_MAX: number = 16 * 1024 * 1024;

/** How long an empty batch stays open. */
const BATCH_MS = 30_000;

/** Missed ones end the iteration after three intervals. */
const HEARTBEAT_MS = 3_000;

/** JetStream forgets a consumer that has not pulled for this time. */
const UNUSED_MS_MAX = 60_000;

const START_PAUSE_MS = 20;
const STARTS_MAX = 50;

/** Ends of a batch that say nothing about the consumer. */
const BATCH_ENDS: ReadonlySet<string> = new Set([
  "batch completed",
  "message size exceeds maxbytes",
  "request timeout",
]);

const NANOS_PER_MS = 1_000_000;

export class NatsTail implements LogTail {
  readonly #connection: NatsConnection;
  readonly #place: NatsLogPlace;
  /** Sequence of the last entry that was delivered. */
  #after: number;
  /** Messages that the consumer has delivered. */
  #delivered = 0;
  /** How often the first batch may be asked for again. */
  #startsLeft = STARTS_MAX;
  #batch: ConsumerMessages | undefined;
  #state: "new" | "open" | "closed" = "new";
  #isCut = false;

  constructor(connection: NatsConnection, place: NatsLogPlace, after: number) {
    this.#connection = connection;
    this.#place = place;
    this.#after = after;
  }

  close(): void {
    this.#state = "closed";
    this.#endBatch();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SharedEntry, void, void> {
    assert(this.#state !== "open", "a tail is iterated once");
    if (this.#state === "closed") return;
    this.#state = "open";
    const stop = this.#connection.onDisconnect(() => {
      this.#isCut = true;
      this.#endBatch();
    });
    try {
      yield* this.#entries();
    } catch (error) {
      if (!this.#isClosed()) throw this.#failed(error);
    } finally {
      stop();
      this.close();
    }
  }

  async *#entries(): AsyncGenerator<SharedEntry, void, void> {
    const info = await this.#addConsumer();
    try {
      while (!this.#isClosed()) yield* this.#pull(info);
    } finally {
      this.#removeConsumer(info);
    }
  }

  async *#pull(info: ConsumerInfo): AsyncGenerator<SharedEntry, void, void> {
    const { consumers } = this.#connection.publisher;
    const batch = await consumers.getConsumerFromInfo(info).fetch({
      max_bytes: BATCH_SIZE_MAX,
      expires: BATCH_MS,
      idle_heartbeat: HEARTBEAT_MS,
    });
    this.#batch = batch;
    if (this.#isCut || this.#isClosed()) this.#endBatch();
    try {
      for await (const message of batch) {
        if (this.#isClosed()) return;
        yield this.#entryOf(message);
      }
      this.#startsLeft = 0;
    } catch (error) {
      if (!BATCH_ENDS.has(messageOf(error))) await this.#mayStartAgain(error);
    }
    // A batch that was open while the connection was lost may have lost entries.
    if (this.#isCut) throw new Error("the connection was lost");
  }

  /** The servers learn of a new consumer one after the other: until then no one may answer. */
  async #mayStartAgain(error: unknown): Promise<void> {
    if (messageOf(error) !== "no responders" || this.#startsLeft === 0) throw error;
    this.#startsLeft--;
    await sleep(START_PAUSE_MS);
  }

  #entryOf(message: JsMsg): SharedEntry {
    const { deliverySequence, streamSequence: sequence } = message.info;
    const expected = this.#delivered + 1;
    if (deliverySequence !== expected || sequence <= this.#after) {
      const found = `delivery ${deliverySequence} of entry ${sequence}`;
      throw new Error(`expected delivery ${expected} after entry ${this.#after}, found ${found}`);
    }
    this.#delivered = deliverySequence;
    this.#startsLeft = 0;
    this.#after = sequence;
    return { sequence, bytes: plain(message.data) };
  }

  async #addConsumer(): Promise<ConsumerInfo> {
    const { stream, subject } = this.#place;
    const config: Partial<ConsumerConfig> = {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: this.#after + 1,
      filter_subject: subject,
      inactive_threshold: UNUSED_MS_MAX * NANOS_PER_MS,
      // It is lost with its server, and then made again.
      mem_storage: true,
      num_replicas: 1,
    };
    return this.#connection.manager.consumers.add(stream, config);
  }

  #removeConsumer({ stream_name: stream, name }: ConsumerInfo): void {
    if (!this.#connection.isConnected) return;
    // JetStream removes it later if this fails.
    this.#connection.manager.consumers.delete(stream, name).catch(() => undefined);
  }

  #endBatch(): void {
    void this.#batch?.close();
  }

  /** Changes while the iteration waits. */
  #isClosed(): boolean {
    return this.#state === "closed";
  }

  #failed(cause: unknown): PeerError {
    const message = `failed to follow the log ${this.#place.name}: ${messageOf(cause)}`;
    return new PeerError("store.busy", message, { cause });
  }
}

/** Not as a Buffer, which is another class than the one that storage returns. */
function plain({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
