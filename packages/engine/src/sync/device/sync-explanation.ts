/**
 * Sync explanation: explains why a document is or is not on a peer, with transactions as proof.
 *
 * Each session of the peer is one row. Its verdict is what the server can prove at this moment:
 * what it has sent, what the network has taken and what the peer has confirmed since. The peer may
 * hold more: its own writes, or documents of a former connection.
 *
 * A peer may have a thousand expensive conditions, so other work runs between any two of them. The
 * document is read at one moment; its progress may be of a later one.
 */

import { documentId, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { ExplainSyncRequest } from "../../query/system/system-collections.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { LastPong, OpenSession, Subscription } from "../session/session-state.ts";
import type { AskedDocument, SessionStreams } from "../stream/session-streams.ts";
import type { RefusedUpload, RefusedUploads } from "../upload/refused-uploads.ts";

export const SYNC_VERDICTS = [
  "on_peer",
  "sent",
  "queued",
  "not_yet_sent",
  "not_subscribed",
  "not_permitted",
  "refused",
  "stale",
  "no_such_document",
  "not_connected",
] as const;
export type SyncVerdict = (typeof SYNC_VERDICTS)[number];

/** A session to explain. */
export interface ExplainedSession {
  readonly session: number;
  readonly sinceMs: number;
  readonly credential: string;
  readonly state: OpenSession;
  readonly streams: SessionStreams;
  readonly queuedBytes: number;
}

export interface ExplanationContext {
  /** Read at once, never in a later step. */
  readonly snapshot: StoreSnapshot;
  /** Sessions of the peer. */
  readonly sessions: readonly ExplainedSession[];
  readonly refusedUploads: RefusedUploads;
  /** Looks up a device that is not connected. */
  readonly deviceOf: ((peerKey: string) => ValueObject | undefined) | undefined;
  /** Monotonic clock, in milliseconds. */
  readonly elapsed: () => number;
}

/** How long the evaluation of a peer's conditions may take, without pauses. */
const EXPLAIN_MS_MAX = 2000;

/** The steps throw a PeerError if they take too long. */
export function explainSync(
  request: ExplainSyncRequest,
  context: ExplanationContext,
): Steps<ValueObject[]> {
  return new Explanation(request, context).rows();
}

interface Verdict {
  readonly verdict: SyncVerdict;
  /** A sentence for people. */
  readonly reason: string;
}

/** Result for one subscription to the collection. */
interface Looked {
  readonly subscription: Subscription;
  readonly state: string;
  readonly isMatching: boolean;
  /** Why the condition could not be evaluated. */
  readonly fault: string | undefined;
  readonly sentUpTo: number | undefined;
  /** Progress of the document in this subscription; undefined if it does not bring the document. */
  readonly verdict: Verdict | undefined;
}

/** From the strongest to the weakest. */
const BY_WORTH: readonly SyncVerdict[] = ["on_peer", "sent", "queued", "not_yet_sent"];

class Explanation {
  readonly #request: ExplainSyncRequest;
  readonly #context: ExplanationContext;
  readonly #id: Value;
  readonly #document: AskedDocument & { readonly isDeleted: boolean };
  readonly #uploads: readonly RefusedUpload[];
  /** Last transaction of the server when the document was read. */
  readonly #serverTxn: number;
  /** Time left for the conditions. */
  #leftMs = EXPLAIN_MS_MAX;

  constructor(request: ExplainSyncRequest, context: ExplanationContext) {
    this.#request = request;
    this.#context = context;
    const { collection, peerKey } = request;
    const { snapshot } = context;
    const { id, key: idKey } = documentId(request.id);
    const shown = snapshot.getByKey(collection, idKey);
    const version = snapshot.version(collection, id);
    this.#serverTxn = snapshot.txnId;
    this.#id = id;
    this.#document = { idKey, version, shown, isDeleted: shown === undefined && version > 0 };
    this.#uploads = context.refusedUploads.of(peerKey, collection, idKey);
  }

  *rows(): Steps<ValueObject[]> {
    const { sessions } = this.#context;
    if (sessions.length === 0) return [this.#unconnected()];
    const rows: ValueObject[] = [];
    for (const session of sessions) rows.push(yield* this.#row(session));
    return rows;
  }

  #unconnected(): ValueObject {
    const { peerKey } = this.#request;
    const known = this.#context.deviceOf?.(peerKey);
    const reason =
      known === undefined
        ? "no peer with this key is connected, and none is known"
        : "no peer with this key is connected; what is known of it is from when it was";
    return {
      peer: { ...known, peerKeyString: peerKey },
      verdict: "not_connected" satisfies SyncVerdict,
      reason,
      document: this.#documentFields(),
      subscriptions: [],
      txnIds: this.#txnIds(undefined, undefined),
      uploads: this.#uploads.map(uploadValue),
    };
  }

  *#row(session: ExplainedSession): Steps<ValueObject> {
    const { state } = session;
    const { shown } = this.#document;
    const permission = this.#timed(() => this.#permission(session.streams));
    const looked: Looked[] = [];
    for (const subscription of state.subscriptions.values()) {
      if (subscription.stream?.collection !== this.#request.collection) continue;
      yield;
      looked.push(this.#timed(() => this.#look(subscription, session, permission.isPermitted)));
    }
    const uploads = this.#uploads.filter(({ credential }) => credential === session.credential);
    const { verdict, reason } = this.#ownWrite(uploads) ?? this.#verdict(looked, permission);
    const { sent, applied } = progressOf(looked, state.lastPong);
    return {
      peer: peerValue(session),
      verdict,
      reason,
      document: this.#documentFields(),
      subscriptions: looked.map((each) => ({
        query: each.subscription.query,
        args: each.subscription.args,
        state: each.state,
        ...(shown && { isMatching: each.isMatching, isPermitted: permission.isPermitted }),
        ...(each.sentUpTo !== undefined && { sentUpTo: each.sentUpTo }),
        ...(each.fault !== undefined && { error: each.fault }),
      })),
      txnIds: this.#txnIds(sent, applied),
      uploads: uploads.map(uploadValue),
    };
  }

  #documentFields(): ValueObject {
    const { shown, isDeleted, version } = this.#document;
    return {
      collection: this.#request.collection,
      id: this.#id,
      exists: shown !== undefined,
      isDeleted,
      ...(version > 0 && { changedAt: version }),
    };
  }

  #txnIds(sent: number | undefined, applied: number | undefined): ValueObject {
    const { version } = this.#document;
    return {
      ...(version > 0 && { documentTxn: version }),
      ...(sent !== undefined && { sentUpTo: sent }),
      ...(applied !== undefined && { appliedUpTo: applied }),
      serverTxn: this.#serverTxn,
    };
  }

  /** A check that fails counts as not permitted. */
  #permission(streams: SessionStreams): Permission {
    const { shown } = this.#document;
    if (shown === undefined) return { isPermitted: true, fault: undefined };
    try {
      const isPermitted = streams.mayRead(this.#request.collection, shown);
      return { isPermitted, fault: undefined };
    } catch (error) {
      return { isPermitted: false, fault: messageOf(error) };
    }
  }

  #timed<T>(evaluate: () => T): T {
    const { elapsed } = this.#context;
    const startMs = elapsed();
    const result = evaluate();
    this.#leftMs -= elapsed() - startMs;
    if (this.#leftMs >= 0) return result;
    const message = `the conditions of the peer take longer than ${EXPLAIN_MS_MAX} ms`;
    throw new PeerError("query.timeout", message);
  }

  #look(subscription: Subscription, session: ExplainedSession, isPermitted: boolean): Looked {
    const { streams } = session;
    const filterKey = subscription.stream?.filterKey ?? "";
    const state = streams.stateOf(filterKey);
    const none = {
      subscription,
      state,
      isMatching: false,
      sentUpTo: undefined,
      verdict: undefined,
    };
    try {
      const place = streams.placeOf(filterKey, this.#document);
      if (place === undefined) return { ...none, fault: undefined };
      const { isMatching, sentUpTo } = place;
      const verdict = isMatching && isPermitted ? this.#progress(place, state, session) : undefined;
      return { subscription, state, isMatching, fault: undefined, sentUpTo, verdict };
    } catch (error) {
      return { ...none, fault: messageOf(error) };
    }
  }

  /** Progress of a document that a subscription brings. */
  #progress(
    place: NonNullable<ReturnType<SessionStreams["placeOf"]>>,
    state: string,
    { state: { lastPong }, queuedBytes }: ExplainedSession,
  ): Verdict {
    const { version } = this.#document;
    const { sentUpTo, isTaken, isLive, settledTxn, settledMs } = place;
    if (sentUpTo === undefined || sentUpTo < version) return notYet(version, state, sentUpTo);
    const applied = lastPong?.txn ?? 0;
    const isBehind =
      applied > settledTxn || (lastPong !== undefined && lastPong.pingedMs > settledMs);
    if (isLive && applied >= version && isBehind) {
      const reason = `the peer has said that it holds all up to transaction ${applied}; the document was changed last by ${version}`;
      return { verdict: "on_peer", reason };
    }
    if (!isTaken) {
      const reason = `it was sent as of transaction ${sentUpTo}, and waits with ${queuedBytes} bytes for the peer to read`;
      return { verdict: "queued", reason };
    }
    const reason = `it was sent as of transaction ${sentUpTo}; the peer has not said yet that it holds it`;
    return { verdict: "sent", reason };
  }

  #verdict(looked: readonly Looked[], permission: Permission): Verdict {
    if (this.#document.shown === undefined) return this.#missing(looked);
    if (!permission.isPermitted) return notPermitted(permission);
    const found = looked.flatMap(({ verdict }) => (verdict === undefined ? [] : [verdict]));
    for (const worth of BY_WORTH) {
      const best = found.find(({ verdict }) => verdict === worth);
      if (best !== undefined) return best;
    }
    return this.#notSubscribed(looked);
  }

  /** Verdict on the last rejected write of the peer, unless the document changed since. */
  #ownWrite(uploads: readonly RefusedUpload[]): Verdict | undefined {
    const last = uploads.at(-1);
    if (last === undefined || last.txn <= this.#document.version) return undefined;
    const { kind, number, txn, reason } = last;
    const upload = `the peer wrote it in its upload ${number}`;
    return kind === "refused"
      ? { verdict: kind, reason: `${upload}, which was refused in transaction ${txn}: ${reason}` }
      : {
          verdict: kind,
          reason: `${upload}, which came too late and was quarantined in transaction ${txn}`,
        };
  }

  #missing(looked: readonly Looked[]): Verdict {
    const { isDeleted, version } = this.#document;
    const verdict = "no_such_document";
    if (!isDeleted) return { verdict, reason: "the server has no such document" };
    const deleted = `the document was deleted by transaction ${version}`;
    return { verdict, reason: `${deleted}${this.#stillSent(looked)}` };
  }

  #notSubscribed(looked: readonly Looked[]): Verdict {
    const verdict = "not_subscribed";
    const { length } = looked;
    if (length === 0) {
      const reason = `the peer has no subscription to the collection ${this.#request.collection}`;
      return { verdict, reason };
    }
    const those = length === 1 ? "the one subscription" : `none of the ${length} subscriptions`;
    const matches = length === 1 ? "does not match" : "matches";
    const reason = `${those} of the peer to the collection ${matches} the document as it is`;
    return { verdict, reason: `${reason}${this.#stillSent(looked)}` };
  }

  /** If the last change was not sent yet, the peer may hold the state before it. */
  #stillSent(looked: readonly Looked[]): string {
    const { version } = this.#document;
    const isBehind = looked.some(({ sentUpTo = 0 }) => sentUpTo < version);
    return isBehind ? "; the peer has not received that yet and may hold the earlier state" : "";
  }
}

interface Permission {
  readonly isPermitted: boolean;
  readonly fault: string | undefined;
}

function notPermitted({ fault }: Permission): Verdict {
  const verdict = "not_permitted";
  if (fault === undefined)
    return { verdict, reason: "the peer may not read the document as it is" };
  return { verdict, reason: `whether the peer may read the document cannot be said: ${fault}` };
}

function notYet(version: number, state: string, sentUpTo: number | undefined): Verdict {
  const change = `the document was changed last by transaction ${version}`;
  const upTo =
    sentUpTo === undefined ? "nothing of it was sent yet" : `it was sent as of ${sentUpTo}`;
  const verdict = "not_yet_sent";
  switch (state) {
    case "live":
      return { verdict, reason: `${change}, which is about to be sent; ${upTo}` };
    case "behind":
      return { verdict, reason: `${change}; the peer did not read, so it waits; ${upTo}` };
    default:
      return {
        verdict,
        reason: `the subscription is being filled or compared; ${change}, ${upTo}`,
      };
  }
}

/** Progress in the subscriptions that bring the document, or in all if none does. */
function progressOf(
  looked: readonly Looked[],
  lastPong: LastPong | undefined,
): { sent: number | undefined; applied: number | undefined } {
  const bringing = looked.filter(({ verdict }) => verdict !== undefined);
  const counted = bringing.length > 0 ? bringing : looked;
  const sent = counted.flatMap(({ sentUpTo }) => (sentUpTo === undefined ? [] : [sentUpTo]));
  return { sent: sent.length === 0 ? undefined : Math.max(...sent), applied: lastPong?.txn };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function peerValue({ session, sinceMs, state }: ExplainedSession): ValueObject {
  const { key, deviceName, os, sdk } = state.hello.peer;
  return {
    peerKeyString: key,
    deviceName,
    os,
    sdkVersion: sdk,
    session,
    connectedSince: sinceMs,
  };
}

function uploadValue({ site, number, txn, kind, reason }: RefusedUpload): ValueObject {
  return { site, number, txn, outcome: kind, reason };
}
