/**
 * NatsLog: the shared log of one app, which is a subject of a JetStream stream.
 *
 * Other subjects lie in the same stream, so the sequences of one log rise with gaps. Every append
 * names the last sequence of the subject, and JetStream compares. Reads come from the leader of the
 * stream.
 */

import type {
  AppendOutcome,
  AppendTarget,
  LogTail,
  SharedEntry,
  SharedLog,
} from "@bigpeer/engine/cluster";
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type NatsConnection,
} from "../../nats/nats-connection.ts";
import type { NatsLogPlace } from "./nats-subject.ts";
import { NatsTail } from "./nats-tail.ts";

/** Short, because a repeated append is safe; larger than a sync on a slow disk. */
const APPEND_MS_MAX = 2_000;

export class NatsLog implements SharedLog {
  readonly #connection: NatsConnection;
  readonly #place: NatsLogPlace;

  constructor(connection: NatsConnection, place: NatsLogPlace) {
    this.#connection = connection;
    this.#place = place;
  }

  async append(bytes: Uint8Array, { after, id }: AppendTarget): Promise<AppendOutcome> {
    const { name, subject } = this.#place;
    try {
      // The ids of a stream are shared by its logs.
      const msgID = `${name}:${id}`;
      const expect = { lastSubjectSequence: after };
      const options = { msgID, expect, timeout: APPEND_MS_MAX, retries: 1 };
      // Also for a repeated one, which is acknowledged with its first sequence.
      const { seq: sequence } = await this.#connection.publisher.publish(subject, bytes, options);
      return { kind: "appended", sequence };
    } catch (cause) {
      return isBehind(cause, after) ? { kind: "refused" } : { kind: "unknown", cause };
    }
  }

  async next(after: number): Promise<SharedEntry | undefined> {
    const { stream, subject } = this.#place;
    const query = { seq: after + 1, next_by_subj: subject };
    const message = await this.#connection.manager.streams.getMessage(stream, query);
    return message === null ? undefined : { sequence: message.seq, bytes: message.data };
  }

  async end(): Promise<number> {
    const { stream, subject } = this.#place;
    const query = { last_by_subj: subject };
    const message = await this.#connection.manager.streams.getMessage(stream, query);
    return message?.seq ?? 0;
  }

  follow(after: number): LogTail {
    return new NatsTail(this.#connection, this.#place, after);
  }

  async trim(through: number): Promise<void> {
    const { stream, subject } = this.#place;
    // Without a last entry the log would look new, and an append after 0 would succeed.
    const seq = Math.min(through + 1, await this.end());
    if (seq > 1) await this.#connection.manager.streams.purge(stream, { filter: subject, seq });
  }

  /** Removes all entries, for a log whose app is removed for good. */
  async remove(): Promise<void> {
    const { stream, subject } = this.#place;
    await this.#connection.manager.streams.purge(stream, { filter: subject });
  }
}

/**
 * Whether the log has an entry that the writer does not know.
 *
 * The error without a sequence (10164) is not enough: it also comes while another append to the
 * subject is in process, which may yet fail. Neither is a smaller sequence: the leader has not
 * applied the log yet, or the log has lost entries.
 */
function isBehind(error: unknown, after: number): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  if (error.code !== JetStreamApiCodes.StreamWrongLastSequence) return false;
  const last = /(\d+)$/.exec(error.message)?.[1];
  return last !== undefined && Number(last) > after;
}
