/**
 * NatsServerState: what the monitoring of nats-server (`varz`) says about one server. It is asked
 * over HTTP, or through NATS by a user of the system account.
 */

import { messageOf, type NatsConnection } from "../../nats/nats-connection.ts";

export interface NatsServerState {
  /** Differs for each start of a server. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly maxPayload: number;
  readonly hasJetStream: boolean;
  /** Whether it syncs before it acknowledges. */
  readonly isSynced: boolean;
  /** Number of servers with JetStream in its cluster. */
  readonly clusterSize: number;
}

export interface HttpStates {
  readonly states: readonly NatsServerState[];
  /** A message for each address that did not answer. */
  readonly failures: readonly string[];
}

const HTTP_MS_MAX = 5_000;

/** Answers come within milliseconds of each other. */
const SYSTEM_TIMING = { quietMs: 500, totalMs: 5_000 };

export async function statesByHttp(urls: readonly string[]): Promise<HttpStates> {
  const answers = await Promise.all(urls.map(stateByHttp));
  return {
    states: answers.filter((answer) => typeof answer !== "string"),
    failures: answers.filter((answer) => typeof answer === "string"),
  };
}

/** Or the message of a failure. */
async function stateByHttp(url: string): Promise<NatsServerState | string> {
  try {
    const address = new URL("/varz", url);
    const answer = await fetch(address, { signal: AbortSignal.timeout(HTTP_MS_MAX) });
    if (!answer.ok) return `the NATS monitoring at ${url} answers with status ${answer.status}`;
    return stateOf(await answer.json());
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return `failed to reach the NATS monitoring at ${url}: ${messageOf(cause)}`;
  }
}

/** Of all servers that run. */
export async function statesBySystemAccount(
  connection: NatsConnection,
): Promise<readonly NatsServerState[]> {
  const states: NatsServerState[] = [];
  try {
    const answers = await connection.requestAll("$SYS.REQ.SERVER.PING.VARZ", SYSTEM_TIMING);
    for await (const answer of answers) {
      const { data } = answer.json<{ readonly data?: unknown }>();
      if (data !== undefined) states.push(stateOf(data));
    }
  } catch {
    // No server answers a user of another account.
  }
  return states;
}

/** The used part of `varz`; a missing part counts as the worst. */
interface Varz {
  readonly server_id?: string;
  readonly server_name?: string;
  readonly version?: string;
  readonly max_payload?: number;
  readonly jetstream?: {
    readonly config?: { readonly sync_always?: boolean };
    readonly meta?: { readonly cluster_size?: number };
  };
}

function stateOf(varz: unknown): NatsServerState {
  const { server_id: id = "", server_name: name, version = "0", ...rest } = (varz ?? {}) as Varz;
  const { max_payload: maxPayload = 0, jetstream } = rest;
  return {
    id,
    name: name ?? id,
    version,
    maxPayload,
    hasJetStream: jetstream?.config !== undefined,
    isSynced: jetstream?.config?.sync_always === true,
    clusterSize: jetstream?.meta?.cluster_size ?? 1,
  };
}
