/**
 * NatsLogs: the logs of a cluster of Big Peers in a fixed number of JetStream streams.
 *
 * Each log is a subject, and the hash of its name chooses the stream. A stream for each log would be
 * simpler, but every replicated stream has a Raft group of its own: 1,000 of them cost twenty times
 * the idle work of 16. The number of streams can never change, since a log would move: it is
 * recorded in the first stream, and all nodes take it from there.
 */

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { assert, PeerError } from "@bigpeer/protocol";
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  messageOf,
  type NatsConnection,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "../../nats/nats-connection.ts";
import { NatsLog } from "./nats-log.ts";
import { checkClusterName, type NatsLogPlace, subjectOf } from "./nats-subject.ts";

export interface NatsLogsOptions {
  /** Name of the cluster of Big Peers. */
  readonly cluster: string;
  /** Copies of each entry; 3 by default. */
  readonly replicas?: number | undefined;
  /** Number of streams, if this node creates the cluster; 16 by default. */
  readonly streams?: number | undefined;
  /** How long to wait for a cluster of NATS that is just starting; 30 seconds by default. */
  readonly openMsMax?: number | undefined;
}

const REPLICAS = 3;
const STREAMS = 16;
const OPEN_MS_MAX = 30_000;
const OPEN_PAUSE_MS = 250;

/** The id of an entry is known for this time: far longer than an append is repeated. */
const DUPLICATE_NANOS = 120e9;

/** Where the first stream records the number of streams. */
const STREAMS_KEY = "bigpeer.streams";

/** Codes of JetStream that do not pass by waiting. */
const FINAL_CODES: ReadonlySet<number> = new Set([
  10039, // JetStream is not enabled for the account.
  10065, // Another stream has the subjects.
  10074, // Several replicas, but no cluster.
]);

const NAME_IN_USE = 10058;

export class NatsLogs {
  readonly #connection: NatsConnection;
  readonly #cluster: string;
  /** Number of streams. */
  readonly streams: number;

  private constructor(connection: NatsConnection, cluster: string, streams: number) {
    this.#connection = connection;
    this.#cluster = cluster;
    this.streams = streams;
  }

  /**
   * Creates the streams that are missing. Throws PeerError `config.invalid` if that fails, is not
   * permitted, or a stream that exists could lose entries.
   */
  static async open(connection: NatsConnection, options: NatsLogsOptions): Promise<NatsLogs> {
    checkClusterName(options.cluster);
    const end = Date.now() + (options.openMsMax ?? OPEN_MS_MAX);
    for (;;) {
      try {
        const streams = await ensureStreams(connection, options);
        return new NatsLogs(connection, options.cluster, streams);
      } catch (error) {
        if (isFinal(error) || Date.now() > end) throw failedToOpen(error);
      }
      await sleep(OPEN_PAUSE_MS);
      connection.requirePermitted();
    }
  }

  /** The log of an app, or another one. The name is a word: letters, digits, `-` and `_`. */
  log(name: string): NatsLog {
    return new NatsLog(this.#connection, this.placeOf(name));
  }

  placeOf(name: string): NatsLogPlace {
    assert(/^[\w-]+$/.test(name), "the name of a log is one word");
    const index = indexOf(name, this.streams);
    const stream = streamName(this.#cluster, index);
    const subject = subjectOf(this.#cluster, "log", String(index), name);
    return { name, stream, subject };
  }
}

function indexOf(name: string, streams: number): number {
  return createHash("sha256").update(name).digest().readUInt32BE() % streams;
}

function streamName(cluster: string, index: number): string {
  return `bigpeer-${cluster}-log-${index}`;
}

/** The first stream comes first: of nodes that start together, one decides the number. */
async function ensureStreams(
  connection: NatsConnection,
  options: NatsLogsOptions,
): Promise<number> {
  const wanted = options.streams ?? STREAMS;
  const first = await ensureStream(connection, configOf(options, 0, wanted));
  const streams = Number(first.metadata?.[STREAMS_KEY]);
  if (!Number.isSafeInteger(streams) || streams < 1) {
    const message = `stream ${first.name} has no number of streams in its metadata`;
    throw new PeerError("config.invalid", message, { hint: "choose another cluster name" });
  }
  const others = Array.from({ length: streams - 1 }, (_, index) =>
    ensureStream(connection, configOf(options, index + 1, streams)),
  );
  await Promise.all(others);
  return streams;
}

async function ensureStream(
  { manager: { streams } }: NatsConnection,
  config: StreamSettings,
): Promise<StreamConfig> {
  try {
    return (await streams.add(config)).config;
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== NAME_IN_USE) throw error;
    // An operator may have changed what does no harm.
    const { config: found } = await streams.info(config.name);
    checkStream(found, config);
    return found;
  }
}

type StreamSettings = Partial<StreamConfig> & Pick<StreamConfig, "name" | "num_replicas">;

function configOf(
  { cluster, replicas = REPLICAS }: NatsLogsOptions,
  index: number,
  streams: number,
): StreamSettings {
  return {
    name: streamName(cluster, index),
    subjects: [subjectOf(cluster, "log", String(index), "*")],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    // A full stream must refuse entries, not forget some.
    discard: DiscardPolicy.New,
    deny_delete: true,
    // Replicas that lag must not answer reads.
    allow_direct: false,
    duplicate_window: DUPLICATE_NANOS,
    metadata: { [STREAMS_KEY]: String(streams) },
  };
}

/** Throws if the stream could lose entries or serve old ones. */
function checkStream(found: StreamConfig, wanted: StreamSettings): void {
  const checks: readonly (readonly [boolean, string])[] = [
    [found.storage === StorageType.File, `storage file, found ${found.storage}`],
    [
      found.num_replicas >= wanted.num_replicas,
      `at least ${wanted.num_replicas} replicas, found ${found.num_replicas}`,
    ],
    [found.retention === RetentionPolicy.Limits, `retention limits, found ${found.retention}`],
    [found.discard === DiscardPolicy.New, `discard new, found ${found.discard}`],
    [found.max_age === 0, `no max_age, found ${found.max_age} ns`],
    [found.max_msgs_per_subject === -1, "no max_msgs_per_subject"],
    [!found.allow_direct, "allow_direct off"],
    [
      found.duplicate_window >= DUPLICATE_NANOS,
      `a duplicate_window of at least 2 minutes, found ${found.duplicate_window} ns`,
    ],
  ];
  const failed = checks.filter(([isMet]) => !isMet).map(([, expected]) => expected);
  if (failed.length === 0) return;
  const message = `expected stream ${found.name} with ${failed.join("; ")}`;
  throw new PeerError("config.invalid", message, { hint: "correct it with `nats stream edit`" });
}

function isFinal(error: unknown): boolean {
  if (error instanceof PeerError) return error.code === "config.invalid";
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof JetStreamApiError && FINAL_CODES.has(cause.code);
}

function failedToOpen(cause: unknown): PeerError {
  if (cause instanceof PeerError) return cause;
  const isAbsent =
    cause instanceof JetStreamApiError && cause.code === JetStreamApiCodes.StreamNotFound;
  const message = `failed to open the streams of the cluster: ${messageOf(cause)}`;
  const hint = isAbsent
    ? "a stream was removed meanwhile; start again"
    : "check that JetStream is on, that three or more servers form one NATS cluster, and that a majority of them runs";
  return new PeerError("config.invalid", message, { hint, cause });
}
