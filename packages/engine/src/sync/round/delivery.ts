/**
 * Delivery: sends one round to all sessions: changes for their live streams, each transaction as
 * a whole (S16), the outcomes of their uploads, and the changes that joining streams still lack.
 *
 * The frames of a filter are encoded once for all its streams. If the changes do not fit into the
 * queue of a session, it gets none of them: its live streams are behind from their previous
 * position (S22).
 */

import { encodeMessage, encodeMessageIncremental, type Outcome } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { OutgoingChanges, StreamChanges } from "../change/matching.ts";
import { FrameSet } from "../stream/frame.ts";
import type { Group } from "../stream/group.ts";
import { exhaustion } from "../stream/rate-limiter.ts";
import type { Stream } from "../stream/stream.ts";
import type { StreamHost } from "../stream/stream-host.ts";
import type { StreamingSession } from "../stream/streaming-session.ts";
import type { RoundChanges, SessionResults } from "./round.ts";
import type { SizedOutcome } from "./upload-outcome.ts";

/** Callbacks that change the state of streams while a round is sent. */
export interface DeliveryHost {
  /** The stream was sent everything that it lacked: it is live from this transaction on. */
  becomeLive(stream: Stream, txn: number): void;
  /** Live streams of one session stay at `txn` and catch up from there. */
  leaveBehind(session: StreamingSession, streams: readonly Stream[], txn: number): void;
  /** The queue of a session is full: all of its live streams are behind. */
  fallBehind(session: StreamingSession, txn: number): void;
  /** A stream that was to become live lacks too much for the round. */
  catchUp(stream: Stream): void;
  fail(stream: Stream, error: unknown): void;
  /** This many outcomes of the session are sent. */
  tookOutcomes(session: StreamingSession, count: number): void;
  /** The outcomes of the session wait until the peer reads. */
  holdOutcomes(session: StreamingSession): void;
}

/** Approximate bytes of one `committed`. */
const COMMITTED_BYTES = 1024 * 1024;

/** Sessions, streams and bytes that are processed between two pauses. */
const SESSIONS_PER_PAUSE = 16;
const STREAMS_PER_PAUSE = 256;
const BYTES_PER_PAUSE = 256 * 1024;

interface SessionPayload {
  /** Live streams of the session whose groups have changes. */
  readonly streams: Stream[];
  readonly joining: StreamChanges[];
}

/** With the encoded frames of the outcomes. */
interface EncodedResults extends SessionResults {
  readonly committed: readonly Uint8Array[];
}

export class Delivery {
  readonly #changes: RoundChanges;
  readonly #host: StreamHost;
  readonly #deliveryHost: DeliveryHost;
  readonly #frames = new Map<Group, FrameSet>();
  readonly #joinFrames = new Map<
    Group,
    { readonly changes: OutgoingChanges; readonly frames: FrameSet }
  >();
  #committed: Uint8Array | undefined;

  constructor(changes: RoundChanges, host: StreamHost, deliveryHost: DeliveryHost) {
    this.#changes = changes;
    this.#host = host;
    this.#deliveryHost = deliveryHost;
  }

  *steps(): Steps<void> {
    yield* this.#endFailed();
    yield* this.#leaveBehind();
    for (const [i, stream] of this.#changes.late.entries()) {
      if (!stream.isOver) this.#deliveryHost.catchUp(stream);
      if (i % STREAMS_PER_PAUSE === 0) yield;
    }
    const { alone, payloads } = yield* this.#payloads();
    yield;
    let sent = 0;
    for (const [i, stream] of alone.entries()) {
      if (stream.phase === "live") sent += this.#deliverAlone(stream);
      if (i % SESSIONS_PER_PAUSE !== 0 && sent < BYTES_PER_PAUSE) continue;
      sent = 0;
      yield;
    }
    for (const [session, payload] of payloads) {
      const result = this.#changes.results.get(session);
      const committed = result === undefined ? [] : yield* this.#encodeOutcomes(result.outcomes);
      if (!session.isClosed) this.#deliver(session, payload, committed);
      yield;
    }
  }

  *#endFailed(): Steps<void> {
    const { matched, failed } = this.#changes;
    for (const [group, error] of matched.failed) {
      for (const stream of Array.from(group.streams)) {
        this.#deliveryHost.fail(stream, error);
        yield;
      }
    }
    for (const stream of matched.exhausted) {
      this.#deliveryHost.fail(stream, exhaustion());
      yield;
    }
    for (const [stream, error] of failed) {
      this.#deliveryHost.fail(stream, error);
      yield;
    }
  }

  /** Leaves streams behind that cannot get the round as one, in all sessions (S23). */
  *#leaveBehind(): Steps<void> {
    const { matched, isLost, since } = this.#changes;
    const groups = isLost ? Array.from(this.#host.groups.all()) : matched.tooMuch;
    const bySession = new Map<StreamingSession, Stream[]>();
    let count = 0;
    for (const group of groups) {
      for (const stream of Array.from(group.live())) {
        const known = bySession.get(stream.session);
        if (known === undefined) bySession.set(stream.session, [stream]);
        else known.push(stream);
        if (++count % STREAMS_PER_PAUSE === 0) yield;
      }
    }
    for (const [session, streams] of bySession) {
      // Some may have ended during a pause.
      const live = streams.filter(({ phase, isOver }) => phase === "live" && !isOver);
      if (live.length > 0) this.#deliveryHost.leaveBehind(session, live, since);
      yield;
    }
  }

  *#payloads(): Steps<{
    readonly alone: Stream[];
    readonly payloads: Map<StreamingSession, SessionPayload>;
  }> {
    const { matched, results } = this.#changes;
    const alone: Stream[] = [];
    const payloads = new Map<StreamingSession, SessionPayload>();
    const payloadOf = (session: StreamingSession): SessionPayload => {
      let payload = payloads.get(session);
      if (payload === undefined) {
        payload = { streams: [], joining: [] };
        payloads.set(session, payload);
      }
      return payload;
    };
    let count = 0;
    for (const [group, changes] of matched.live) {
      if (changes.entries.length === 0) continue;
      for (const stream of Array.from(group.live())) {
        const { session } = stream;
        if (session.streams.size === 1 && !results.has(session)) alone.push(stream);
        else payloadOf(session).streams.push(stream);
        if (++count % STREAMS_PER_PAUSE === 0) yield;
      }
    }
    for (const each of matched.streams) payloadOf(each.stream.session).joining.push(each);
    for (const session of results.keys()) payloadOf(session);
    return { alone, payloads };
  }

  /** Delivers to a session that has only this stream, as most have. Returns the bytes sent. */
  #deliverAlone({ session, group }: Stream): number {
    const { txn, since } = this.#changes;
    const frames = this.#framesOf(group);
    if (!session.outbox.fits(frames.bytes)) {
      this.#setBehind(session, since);
      return 0;
    }
    for (const frame of frames.marked(txn)) session.outbox.send(frame);
    session.announceUpTo(txn);
    return frames.bytes;
  }

  #deliver(
    session: StreamingSession,
    payload: SessionPayload,
    committed: readonly Uint8Array[],
  ): void {
    const { txn, since, results } = this.#changes;
    const streams = payload.streams.filter(({ phase }) => phase === "live");
    const result = results.get(session);
    let bytes = 0;
    for (const { group } of streams) bytes += this.#framesOf(group).bytes;
    for (const { answers } of result?.answers ?? []) bytes += answers.bytes;
    if (session.outbox.fits(bytes)) {
      this.#sendLive(session, streams, result && { ...result, committed });
      session.announceUpTo(txn);
    } else {
      if (streams.length > 0 || (result?.answers.length ?? 0) > 0) this.#setBehind(session, since);
      if (result !== undefined) this.#deliveryHost.holdOutcomes(session);
    }
    for (const each of payload.joining) this.#join(session, each);
  }

  /** A session that reads is not penalised for a round that is too large for its queue. */
  #setBehind(session: StreamingSession, since: number): void {
    if (!session.outbox.hasRoom) this.#deliveryHost.fallBehind(session, since);
    else this.#deliveryHost.leaveBehind(session, [...session.live()], since);
  }

  #sendLive(session: StreamingSession, streams: readonly Stream[], result?: EncodedResults): void {
    const { txn } = this.#changes;
    const { outbox } = session;
    const [only] = streams;
    if (result === undefined && streams.length === 1 && only !== undefined) {
      for (const frame of this.#framesOf(only.group).marked(txn)) outbox.send(frame);
      return;
    }
    for (const { group } of streams) {
      for (const frame of this.#framesOf(group).plain()) outbox.send(frame);
    }
    let hasChanges = streams.length > 0;
    for (const { stream, answers } of result?.answers ?? []) {
      if (stream.phase !== "live") continue;
      const { filter } = stream.group;
      this.#host.made.encoded++;
      outbox.say({ t: "documents", filter, entries: answers.entries });
      stream.answered(answers.count);
      stream.settle(txn, this.#host.elapsed());
      hasChanges = true;
    }
    const outcomes = result === undefined ? [] : countedOutcomes(session, result);
    if (outcomes.length > 0) {
      for (const frame of result?.committed ?? []) outbox.send(frame);
      this.#deliveryHost.tookOutcomes(session, outcomes.length);
    } else if (hasChanges) outbox.send(this.#committedBytes());
  }

  /** An upload may have written many documents: encodes with pauses, before anything is sent. */
  *#encodeOutcomes(outcomes: readonly SizedOutcome[]): Steps<readonly Uint8Array[]> {
    const frames: Uint8Array[] = [];
    const { txn } = this.#changes;
    let batch: Outcome[] = [];
    let bytes = 0;
    for (const [i, each] of outcomes.entries()) {
      batch.push(each.outcome);
      bytes += each.bytes;
      const next = outcomes[i + 1];
      if (next !== undefined && bytes + next.bytes <= COMMITTED_BYTES) continue;
      this.#host.made.encoded++;
      frames.push(yield* encodeMessageIncremental({ t: "committed", txn, outcomes: batch }));
      batch = [];
      bytes = 0;
    }
    return frames;
  }

  /** Completes the download of a stream, after the frames of the round and from its state. */
  #join(session: StreamingSession, each: StreamChanges): void {
    const { stream, outgoing: changes, cut } = each;
    const { txn } = this.#changes;
    if (stream.isOver || stream.phase !== "join") return;
    if (cut !== undefined || !session.outbox.fits(changes.bytes)) {
      this.#deliveryHost.catchUp(stream);
      return;
    }
    for (const frame of this.#joinFramesOf(each).plain()) session.outbox.send(frame);
    session.outbox.say({ t: "complete", filter: stream.group.filter, txn });
    this.#deliveryHost.becomeLive(stream, txn);
  }

  #framesOf(group: Group): FrameSet {
    let frames = this.#frames.get(group);
    if (frames === undefined) {
      const entries = this.#changes.matched.live.get(group)?.entries ?? [];
      frames = this.#frameSet(group, entries);
      this.#frames.set(group, frames);
    }
    return frames;
  }

  /** Many streams may return to one filter at once and lack the same: they share frames. */
  #joinFramesOf({ stream, outgoing: changes }: StreamChanges): FrameSet {
    const { group } = stream;
    const last = this.#joinFrames.get(group);
    if (last !== undefined && isSame(last.changes.entries, changes.entries)) return last.frames;
    const frames = this.#frameSet(group, changes.entries);
    this.#joinFrames.set(group, { changes, frames });
    return frames;
  }

  #frameSet({ filter }: Group, entries: readonly Uint8Array[]): FrameSet {
    const { limits, made } = this.#host;
    return new FrameSet(filter, entries, { frameBytes: limits.frameBytes, count: made });
  }

  #committedBytes(): Uint8Array {
    if (this.#committed === undefined) {
      this.#host.made.encoded++;
      this.#committed = encodeMessage({ t: "committed", txn: this.#changes.txn, outcomes: [] });
    }
    return this.#committed;
  }
}

/**
 * The outcomes that can be sent now. None if a stream that they rely on has ended, or if the
 * permissions of the session changed: then they wait for the next round.
 */
function countedOutcomes(
  { port }: StreamingSession,
  { outcomes, counted, authority }: SessionResults,
): readonly SizedOutcome[] {
  if (port.authority !== authority) return [];
  return counted.every(({ phase, isOver }) => phase === "live" && !isOver) ? outcomes : [];
}

function isSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}
