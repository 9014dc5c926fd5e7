/**
 * JetStream sender: publishes changes to NATS JetStream, each as a CloudEvent in JSON.
 *
 * It publishes one change after the other and waits for each acknowledgement, so a stream has them
 * in order. A repetition has the same message ids, so the stream drops what it has already, within
 * its duplicate window. The ids of two sinks differ: both may publish into one stream. The libraries
 * of NATS are loaded with the first connection.
 */

import { stringifyJson } from "@bigpeer/protocol";
import type { NatsConnection } from "../nats/nats-connection.ts";
import { loadWithNats } from "../nats/optional-nats.ts";
import type { Sink } from "../registry/sinks.ts";
import { subjectOf } from "./event-subject.ts";
import type { Message, PlacedChange, Sender, SendOutcome } from "./sender.ts";

export interface JetStreamSenderOptions {
  readonly timeoutMs: number;
}

/** One published message, as a payload and a dead letter have it. */
interface PublishedEvent {
  readonly subject: string;
  /** The message id for the duplicate window of the stream. */
  readonly id: string;
  /** A CloudEvent as text of JSON, in which no number loses digits. */
  readonly event: string;
}

const STOPPED: SendOutcome = { kind: "failed", message: "the delivery was stopped" };

/** The server closes the connection of a client that sends more. */
const DEFAULT_PAYLOAD_MAX: number = 1024 * 1024;

export class JetStreamSender implements Sender {
  readonly #sink: Sink;
  readonly #options: JetStreamSenderOptions;
  #connecting: Promise<NatsConnection> | undefined;
  #connected: NatsConnection | undefined;
  readonly #closing = new AbortController();

  constructor(sink: Sink, options: JetStreamSenderOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  compose(changes: readonly PlacedChange[]): string {
    return `[${changes.map((change) => this.#published(change)).join(",")}]`;
  }

  /** A publication cannot be taken back, but the delivery need not wait for it. */
  async send(message: Message, signal: AbortSignal): Promise<SendOutcome> {
    if (signal.aborted) return STOPPED;
    // The signal lives as long as the delivery: it must not keep a listener of each message.
    const sent = new AbortController();
    const aborted = new Promise<SendOutcome>((resolve) => {
      signal.addEventListener("abort", () => resolve(STOPPED), { signal: sent.signal });
    });
    try {
      return await Promise.race([this.#publishAll(message, signal), aborted]);
    } finally {
      sent.abort();
    }
  }

  async #publishAll({ payload }: Message, signal: AbortSignal): Promise<SendOutcome> {
    try {
      const connection = await this.#connection();
      for (const published of JSON.parse(payload) as readonly PublishedEvent[]) {
        if (signal.aborted) return STOPPED;
        const refusal = await this.#publish(connection, published);
        if (refusal !== undefined) return refusal;
      }
      return { kind: "delivered" };
    } catch (error) {
      return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
    }
  }

  /** An attempt to connect ends by itself: a server that does not answer must not hold this up. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connected?.close();
  }

  #published({ cursor, change, json }: PlacedChange): string {
    const { id: sinkId, appId, name, subject } = this.#sink;
    const { collection, id, type, at } = change;
    const event = {
      specversion: "1.0",
      id: cursor,
      source: `/app/${encodeURIComponent(appId)}/sink/${encodeURIComponent(name)}`,
      type: `bigpeer.document.${type}`,
      time: at,
      subject: `${collection}/${typeof id === "string" ? id : stringifyJson(id)}`,
      datacontenttype: "application/json",
    };
    const eventText = `${JSON.stringify(event).slice(0, -1)},"data":${json}}`;
    const head = {
      subject: subjectOf(subject, { app: appId, collection, type, id }),
      id: `${sinkId}.${cursor}`,
    };
    return `${JSON.stringify(head).slice(0, -1)},"event":${JSON.stringify(eventText)}}`;
  }

  /** Undefined when the stream has it. */
  async #publish(
    connection: NatsConnection,
    { subject, id, event }: PublishedEvent,
  ): Promise<SendOutcome | undefined> {
    const bytes = Buffer.from(event);
    const max = connection.server?.max_payload ?? DEFAULT_PAYLOAD_MAX;
    if (bytes.length > max) {
      const message = `expected at most ${max} bytes, the max_payload of the server, found ${bytes.length}`;
      return { kind: "failed", message, isRefused: true };
    }
    await connection.publishEvent(subject, bytes, { id, timeoutMs: this.#options.timeoutMs });
    return undefined;
  }

  /** Once connected, it reconnects by itself; a failed attempt is made again at the next send. */
  #connection(): Promise<NatsConnection> {
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async #connect(): Promise<NatsConnection> {
    const { connectNats } = await loadWithNats(() => import("../nats/nats-connection.ts"));
    const { servers, user, password, token, name } = this.#sink;
    const connection = await connectNats({
      servers,
      user,
      password,
      token,
      name: `bigpeer sink ${name}`,
      connectMsMax: this.#options.timeoutMs,
      signal: this.#closing.signal,
      ...(servers.some((server) => server.startsWith("tls://")) && { tls: {} }),
    });
    this.#connected = connection;
    if (this.#closing.signal.aborted) await connection.close();
    return connection;
  }
}
