/**
 * The check of the permissions of this node at NATS, at its start. A node that may not use a subject
 * would seem to be well and fail much later: when it trims its log, or hears no other node.
 *
 * It uses every subject once, on a log that has no entries.
 */

import { setImmediate } from "node:timers/promises";
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  type NatsConnection,
} from "../../nats/nats-connection.ts";
import type { NatsLogs } from "./nats-logs.ts";
import { subjectOf } from "./nats-subject.ts";

/** The name of the log, and of the topic. */
const NAME = "permissions";

const API_MS_MAX = 2_000;

/** JetStream refuses an append that expects an entry that cannot be there. */
const NO_SEQUENCE: number = Number.MAX_SAFE_INTEGER;

/** Rejects with PeerError `config.invalid`, which names what is not permitted. */
export async function checkPermissions(
  connection: NatsConnection,
  logs: NatsLogs,
  cluster: string,
): Promise<void> {
  const topic = subjectOf(cluster, "bus", NAME);
  const stop = connection.subscribe(topic, () => {});
  connection.publish(topic, new Uint8Array());
  // Other failures do not matter here: what they concern is tried again when it is needed.
  await Promise.allSettled(usesOf(connection, logs));
  await connection.flush().catch(() => {});
  // The connection hears of a refused message a little after the server has sent it.
  await setImmediate();
  stop();
  connection.requirePermitted();
}

function usesOf(connection: NatsConnection, logs: NatsLogs): Promise<unknown>[] {
  const { stream, subject } = logs.placeOf(NAME);
  const { streams } = connection.manager;
  const expect = { lastSubjectSequence: NO_SEQUENCE };
  const options = { expect, timeout: API_MS_MAX, retries: 1 };
  return [
    streams.info(stream),
    streams.getMessage(stream, { last_by_subj: subject }),
    streams.purge(stream, { filter: subject }),
    connection.publisher.publish(subject, new Uint8Array(), options),
    useConsumer(connection, stream, subject),
  ];
}

async function useConsumer(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<void> {
  const { manager, publisher } = connection;
  const config: Partial<ConsumerConfig> = {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    filter_subject: subject,
    mem_storage: true,
    num_replicas: 1,
  };
  const info = await manager.consumers.add(stream, config);
  const consumer = publisher.consumers.getConsumerFromInfo(info);
  const batch = await consumer.fetch({ max_messages: 1, expires: API_MS_MAX });
  // The batch is asked for when it is read.
  const reading = batch[Symbol.asyncIterator]().next();
  await connection.flush();
  void batch.close();
  await reading;
  await manager.consumers.delete(stream, info.name);
}
