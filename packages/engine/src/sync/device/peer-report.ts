/**
 * Peer report: everything that the server knows of one connected peer, for credentials that may see
 * it (S42), and its row in `system:peers`.
 */

import type { PeerDescription, Site, ValueObject } from "@bigpeer/protocol";
import type { SystemRow } from "../../query/system/system-collections.ts";
import type { Admission } from "../session/session-event.ts";
import type { OpenSession } from "../session/session-state.ts";
import type { SessionStreams, StreamState } from "../stream/session-streams.ts";

export interface PeerReport {
  /** Number of the session, never used again; in a cluster, not by other nodes either. */
  readonly session: number;
  readonly description: PeerDescription;
  readonly site: Site;
  readonly credential: string;
  readonly userId?: string;
  readonly identity: ValueObject;
  readonly address?: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly expiresMs?: number;
  /** The first subscriptions, up to about 64 KB. */
  readonly subscriptions: readonly ReportedSubscription[];
  /** Number of subscriptions left out; absent if all are listed. */
  readonly otherSubscriptions?: number;
  readonly progress: PeerProgress;
  readonly traffic: PeerTraffic;
  readonly lastError?: PeerFault;
}

export interface ReportedSubscription {
  readonly query: string;
  readonly args: ValueObject;
  readonly collection?: string;
  /** `waiting`: its stream has not begun. */
  readonly state: "waiting" | StreamState;
}

export interface PeerProgress {
  /** The transaction up to which all subscriptions have been sent, except first fills. */
  readonly sentTxn: number;
  /** The transaction that the peer's store had reached at its last pong. */
  readonly appliedTxn?: number;
  /** Transactions that the peer lacks; 0 if it has no subscriptions. */
  readonly lag: number;
  /** Writes of the peer without an outcome, at its last pong. */
  readonly pending?: number;
  /** Uploads of the peer that are being applied. */
  readonly uploads: number;
}

export interface PeerTraffic {
  readonly framesIn: number;
  readonly bytesIn: number;
  readonly framesOut: number;
  readonly bytesOut: number;
  readonly queuedBytes: number;
  readonly roundTripMs?: number;
  /** Milliseconds since the last message of the peer. */
  readonly heardMs: number;
}

/** The last refusal or error of a session. */
export interface PeerFault {
  readonly code: string;
  readonly message: string;
  readonly atMs: number;
}

/** Input of a report. */
export interface ReportedSession {
  readonly session: number;
  readonly sinceMs: number;
  readonly state: OpenSession;
  readonly admission: Admission;
  readonly streams: SessionStreams;
  /** The last transaction of the store. */
  readonly txn: number;
  readonly elapsedMs: number;
  readonly traffic: Omit<PeerTraffic, "roundTripMs" | "heardMs">;
  readonly lastError: PeerFault | undefined;
}

/** A peer may follow megabytes of queries: a list of all peers must not contain them for each. */
const SUBSCRIPTIONS_SIZE_MAX = 64 * 1024;

export function peerReport(of: ReportedSession): PeerReport {
  const { session, sinceMs, state, admission, streams, elapsedMs, traffic, lastError } = of;
  const { hello, lastPong, heardMs } = state;
  const { credential, userId, identity = {}, address, expiresMs } = admission;
  return {
    session,
    description: hello.peer,
    site: hello.site,
    credential,
    ...(userId !== undefined && { userId }),
    identity,
    ...(address !== undefined && { address }),
    sinceMs,
    ...(expiresMs !== undefined && { expiresMs }),
    ...subscriptionsOf(state, streams),
    progress: progressOf(state, streams.sentUpTo, of.txn),
    traffic: {
      ...traffic,
      ...(lastPong !== undefined && { roundTripMs: Math.round(lastPong.roundTripMs * 10) / 10 }),
      heardMs: Math.round(elapsedMs - heardMs),
    },
    ...(lastError !== undefined && { lastError }),
  };
}

function subscriptionsOf(
  { subscriptions }: OpenSession,
  streams: SessionStreams,
): Pick<PeerReport, "subscriptions" | "otherSubscriptions"> {
  const reported: ReportedSubscription[] = [];
  let left = SUBSCRIPTIONS_SIZE_MAX;
  for (const { query, args, size, stream } of subscriptions.values()) {
    left -= size;
    if (left < 0) break;
    if (stream === undefined) reported.push({ query, args, state: "waiting" });
    else {
      const { collection, filterKey } = stream;
      reported.push({ query, args, collection, state: streams.stateOf(filterKey) });
    }
  }
  const others = subscriptions.size - reported.length;
  return { subscriptions: reported, ...(others > 0 && { otherSubscriptions: others }) };
}

function progressOf(
  { subscriptions, lastPong, uploads }: OpenSession,
  sentTxn: number,
  txn: number,
): PeerProgress {
  // A peer may claim any position, but it cannot be ahead of the store.
  const appliedTxn = lastPong?.txn === undefined ? undefined : Math.min(lastPong.txn, txn);
  const pending = lastPong?.pending;
  return {
    sentTxn,
    ...(appliedTxn !== undefined && { appliedTxn }),
    lag: subscriptions.size === 0 ? 0 : Math.max(0, txn - (appliedTxn ?? sentTxn)),
    ...(pending !== undefined && { pending }),
    uploads: uploads.inFlight,
  };
}

/** The row of `system:peers`, which SYNC CONTEXT evaluates as well. */
export function peerRow(report: PeerReport): SystemRow {
  const { description, userId, identity, address, sinceMs, expiresMs, site } = report;
  const { otherSubscriptions } = report;
  const { key, deviceName, os, sdk, metadata } = description;
  const fields: ValueObject = {
    peerKeyString: key,
    deviceName,
    os,
    sdkVersion: sdk,
    ...(userId !== undefined && { userId }),
    peerMetadata: metadata,
    identityServiceMetadata: identity,
    ...(address !== undefined && { address }),
    connectedSince: sinceMs,
    ...(expiresMs !== undefined && { expiresAt: expiresMs }),
    site,
    subscriptions: report.subscriptions.map(subscriptionValue),
    ...(otherSubscriptions !== undefined && { otherSubscriptions }),
    sync: syncValue(report.progress),
    transport: transportValue(report),
  };
  return { id: key, fields };
}

function subscriptionValue(subscription: ReportedSubscription): ValueObject {
  const { query, args, collection, state } = subscription;
  return { query, args, ...(collection !== undefined && { collection }), state };
}

function syncValue({ sentTxn, appliedTxn, lag, pending, uploads }: PeerProgress): ValueObject {
  return {
    sentUpTo: sentTxn,
    ...(appliedTxn !== undefined && { appliedUpTo: appliedTxn }),
    lag,
    ...(pending !== undefined && { pending }),
    uploads,
  };
}

function transportValue({ traffic, lastError }: PeerReport): ValueObject {
  const { framesIn, framesOut, bytesIn, bytesOut, queuedBytes, roundTripMs, heardMs } = traffic;
  return {
    framesIn,
    framesOut,
    bytesIn,
    bytesOut,
    queuedBytes,
    ...(roundTripMs !== undefined && { roundTripMs }),
    heardMsAgo: heardMs,
    ...(lastError !== undefined && { lastError: faultValue(lastError) }),
  };
}

function faultValue({ code, message, atMs }: PeerFault): ValueObject {
  return { code, message, at: atMs };
}
