/**
 * The check of the NATS servers at the start of a node: a cluster of Big Peers refuses servers that
 * can lose acknowledged entries.
 *
 * What a server does at an acknowledgement is known to its monitoring alone. Either the addresses of
 * the HTTP monitoring or a user of the system account must be given.
 */

import { PeerError } from "@bigpeer/protocol";
import type { NatsConnection } from "../../nats/nats-connection.ts";
import { type NatsServerState, statesByHttp, statesBySystemAccount } from "./nats-server-state.ts";

/** The oldest version with which a cluster is supported. */
const VERSION_MIN: readonly [number, number] = [2, 12];

const SERVERS_MIN = 3;

/** The largest entry and its headers. */
const PAYLOAD_MIN: number = 4 * 1024 * 1024 + 64 * 1024;

export interface NatsCheckOptions {
  /** Addresses of the HTTP monitoring of the servers, such as `http://nats-1:8222`. */
  readonly monitorUrls?: readonly string[] | undefined;
  /** Connection of a user of the system account. The caller closes it. */
  readonly system?: NatsConnection | undefined;
  /** Gives warnings instead of errors. */
  readonly isDevelopment?: boolean | undefined;
}

/** Resolves with warnings. Throws PeerError `config.invalid` for what may lose entries. */
export async function checkNats(
  connection: NatsConnection,
  options: NatsCheckOptions,
): Promise<readonly string[]> {
  const { states, unreachable } = await statesOf(options);
  const problems = [
    ...problemsOfConnection(connection),
    ...problemsOfCluster(states, options),
    ...states.flatMap(problemsOfServer),
  ];
  const [first] = problems;
  if (first !== undefined && options.isDevelopment !== true) throw asError(first);
  return [...problems.map((problem) => asError(problem).message), ...unreachable];
}

interface Problem {
  readonly found: string;
  readonly remedy: string;
}

function asError({ found, remedy }: Problem): PeerError {
  return new PeerError("config.invalid", found, { hint: remedy });
}

interface FoundStates {
  readonly states: readonly NatsServerState[];
  /** Warnings: a node must also start while a server is down. */
  readonly unreachable: readonly string[];
}

async function statesOf({ monitorUrls = [], system }: NatsCheckOptions): Promise<FoundStates> {
  const byHttp = await statesByHttp(monitorUrls);
  const bySystem = system === undefined ? [] : await statesBySystemAccount(system);
  const states = new Map([...byHttp.states, ...bySystem].map((state) => [state.id, state]));
  return { states: [...states.values()], unreachable: byHttp.failures };
}

/** What the server of the connection says, without any monitoring. */
function problemsOfConnection({ server }: NatsConnection): readonly Problem[] {
  if (server === undefined) return [];
  const { server_name: name, version, max_payload: maxPayload, jetstream } = server;
  return [
    ...problemsOfVersion(name, version),
    ...problemsOfPayload(name, maxPayload),
    ...(jetstream === true ? [] : [withoutJetStream(name)]),
  ];
}

/** How many servers there are, and whether enough of them are known. */
function problemsOfCluster(
  states: readonly NatsServerState[],
  { monitorUrls = [], system }: NatsCheckOptions,
): readonly Problem[] {
  if (states.length === 0) {
    const isAsked = monitorUrls.length > 0 || system !== undefined;
    return [isAsked ? unanswered(system !== undefined) : UNKNOWN];
  }
  const size = Math.max(...states.map((state) => state.clusterSize));
  if (size < SERVERS_MIN) return [tooFew(size)];
  return states.length * 2 > size ? [] : [minority(states.length, size)];
}

const UNKNOWN: Problem = {
  found: "it is not known whether the NATS servers sync before they acknowledge",
  remedy:
    'set `http: "127.0.0.1:8222"` (an address that this node reaches) in nats-server\'s configuration and name the address of each server here, or give a user of the system account',
};

function unanswered(isSystemAsked: boolean): Problem {
  const found = "no NATS server answered the question for its state";
  const remedy = isSystemAsked
    ? "check that the user belongs to the `system_account` of nats-server's configuration"
    : "check the addresses of the monitoring, and `http` in nats-server's configuration";
  return { found, remedy };
}

function tooFew(size: number): Problem {
  return {
    found: `expected a NATS cluster of at least ${SERVERS_MIN} servers, found ${size}`,
    remedy: `run ${SERVERS_MIN} nats-servers with the same \`cluster { name, listen, routes }\``,
  };
}

function minority(known: number, size: number): Problem {
  return {
    found: `the state of ${known} of ${size} NATS servers is known`,
    remedy: "name the monitoring address of each server, and check that a majority of them runs",
  };
}

function problemsOfServer(state: NatsServerState): readonly Problem[] {
  const { name, version, maxPayload, isSynced, hasJetStream } = state;
  return [
    ...problemsOfVersion(name, version),
    ...problemsOfPayload(name, maxPayload),
    ...(hasJetStream ? [] : [withoutJetStream(name)]),
    ...(isSynced || !hasJetStream ? [] : [unsynced(name)]),
  ];
}

function problemsOfVersion(name: string, version: string): readonly Problem[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin, minorMin] = VERSION_MIN;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return [];
  const expected = `${majorMin}.${minorMin}`;
  return [
    {
      found: `NATS server ${name} has version ${version}`,
      remedy: `upgrade it to ${expected} or newer`,
    },
  ];
}

function problemsOfPayload(name: string, maxPayload: number): readonly Problem[] {
  if (maxPayload >= PAYLOAD_MIN) return [];
  return [
    {
      found: `NATS server ${name} accepts messages of at most ${maxPayload} bytes, expected at least ${PAYLOAD_MIN}`,
      remedy: "set `max_payload: 8MB` in its configuration",
    },
  ];
}

function withoutJetStream(name: string): Problem {
  return {
    found: `NATS server ${name} runs without JetStream`,
    remedy: "set `jetstream { store_dir: ..., sync_interval: always }` in its configuration",
  };
}

function unsynced(name: string): Problem {
  return {
    found: `NATS server ${name} acknowledges before it syncs: a power failure would lose entries`,
    remedy: "set `sync_interval: always` in the `jetstream` block of its configuration",
  };
}
