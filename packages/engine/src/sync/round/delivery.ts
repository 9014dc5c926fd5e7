/**
 * Delivery: sends one round to all sessions: changes for their live streams, each transaction as
 * a whole (S16), the outcomes of their uploads, and the changes that joining streams still lack.
 *
 * The frames of a filter are encoded once for all its streams. If the changes do not fit into the
 * queue of a session, it gets none of them: its live streams are behind from their previous
 * position (S22).
 */

import type { Steps } from "../../query/frame/steps.ts";
import type { StreamChanges } from "../change/matching.ts";
import { exhaustion } from "../outbox/rate-limiter.ts";
import type { ServedSession, Stream } from "../stream/stream.ts";
import type { StreamHost } from "../stream/stream-host.ts";
import type { RoundChanges, SessionResults } from "./round.ts";
import { RoundFrames } from "./round-frames.ts";
import type { RoundQueue } from "./round-queue.ts";
import type { SizedOutcome } from "./upload-outcome.ts";

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
  readonly #queue: RoundQueue;
  readonly #frames: RoundFrames;

  constructor(changes: RoundChanges, host: StreamHost, queue: RoundQueue) {
    this.#changes = changes;
    this.#host = host;
    this.#queue = queue;
    this.#frames = new RoundFrames(changes, host);
  }

  *steps(): Steps<void> {
    yield* this.#endFailed();
    yield* this.#leaveGroupsBehind();
    for (const [i, stream] of this.#changes.late.entries()) {
      this.#catchUp(stream);
      if (i % STREAMS_PER_PAUSE === 0) yield;
    }
    const { alone, payloads } = yield* this.#payloads();
    yield;
    let sent = 0;
    for (const [i, stream] of alone.entries()) {
      if (stream.isLive) sent += this.#deliverAlone(stream);
      if (i % SESSIONS_PER_PAUSE !== 0 && sent < BYTES_PER_PAUSE) continue;
      sent = 0;
      yield;
    }
    for (const [session, payload] of payloads) {
      const result = this.#changes.results.get(session);
      const committed = result === undefined ? [] : yield* this.#frames.outcomes(result.outcomes);
      if (!session.isClosed) this.#deliver(session, payload, committed);
      yield;
    }
  }

  *#endFailed(): Steps<void> {
    const { matched, failed } = this.#changes;
    for (const [group, error] of matched.failed) {
      for (const stream of Array.from(group.streams)) {
        this.#host.fail(stream, error);
        yield;
      }
    }
    for (const stream of matched.exhausted) {
      this.#host.fail(stream, exhaustion());
      yield;
    }
    for (const [stream, error] of failed) {
      this.#host.fail(stream, error);
      yield;
    }
  }

  /** Leaves streams behind that cannot get the round as one, in all sessions (S23). */
  *#leaveGroupsBehind(): Steps<void> {
    const { matched, isLost } = this.#changes;
    const groups = isLost ? Array.from(this.#host.groups.all()) : matched.tooMuch;
    const bySession = new Map<ServedSession, Stream[]>();
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
      const live = streams.filter(({ isLive }) => isLive);
      if (live.length > 0) this.#leaveBehind(session, live);
      yield;
    }
  }

  *#payloads(): Steps<{
    readonly alone: Stream[];
    readonly payloads: Map<ServedSession, SessionPayload>;
  }> {
    const { matched, results } = this.#changes;
    const alone: Stream[] = [];
    const payloads = new Map<ServedSession, SessionPayload>();
    const payloadOf = (session: ServedSession): SessionPayload => {
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
    const { txn } = this.#changes;
    const frames = this.#frames.live(group);
    if (!session.outbox.fits(frames.bytes)) {
      this.#setBehind(session);
      return 0;
    }
    for (const frame of frames.marked(txn)) session.outbox.send(frame);
    session.announceUpTo(txn);
    return frames.bytes;
  }

  #deliver(
    session: ServedSession,
    payload: SessionPayload,
    committed: readonly Uint8Array[],
  ): void {
    const { txn, results } = this.#changes;
    const streams = payload.streams.filter(({ isLive }) => isLive);
    const result = results.get(session);
    let bytes = 0;
    for (const { group } of streams) bytes += this.#frames.live(group).bytes;
    for (const { answers } of result?.answers ?? []) bytes += answers.bytes;
    if (session.outbox.fits(bytes)) {
      this.#sendLive(session, streams, result && { ...result, committed });
      session.announceUpTo(txn);
    } else {
      if (streams.length > 0 || (result?.answers.length ?? 0) > 0) this.#setBehind(session);
      if (result !== undefined) this.#holdOutcomes(session);
    }
    for (const each of payload.joining) this.#join(session, each);
  }

  /** A session that reads is not penalised for a round that is too large for its queue. */
  #setBehind(session: ServedSession): void {
    if (session.outbox.hasRoom) this.#leaveBehind(session, [...session.live()]);
    else this.#fallBehind(session, [...session.live()]);
  }

  /** Live streams stay at the round before and catch up from there. */
  #leaveBehind(session: ServedSession, streams: readonly Stream[]): void {
    this.#sayBehind(session, streams);
    for (const stream of streams) {
      stream.fallBehind(this.#changes.since);
      this.#catchUp(stream);
    }
  }

  /** The queue of a session is full: its streams wait until the peer reads. */
  #fallBehind(session: ServedSession, streams: readonly Stream[]): void {
    session.outbox.fall(this.#host.elapsed());
    this.#sayBehind(session, streams);
    for (const stream of streams) {
      stream.fallBehind(this.#changes.since);
      this.#queue.place(stream);
    }
    this.#host.wait(session);
  }

  #sayBehind(session: ServedSession, streams: readonly Stream[]): void {
    session.outbox.say({ t: "behind", filters: streams.map(({ group }) => group.filter) });
  }

  #catchUp(stream: Stream): void {
    stream.catchUp();
    this.#host.place(stream);
  }

  /** The outcomes of a session wait until the peer reads. */
  #holdOutcomes(session: ServedSession): void {
    this.#queue.removeSession(session);
    this.#host.wait(session);
  }

  #sendLive(session: ServedSession, streams: readonly Stream[], result?: EncodedResults): void {
    const { txn } = this.#changes;
    const { outbox } = session;
    const [only] = streams;
    if (result === undefined && streams.length === 1 && only !== undefined) {
      for (const frame of this.#frames.live(only.group).marked(txn)) outbox.send(frame);
      return;
    }
    for (const { group } of streams) {
      for (const frame of this.#frames.live(group).plain()) outbox.send(frame);
    }
    let hasChanges = streams.length > 0;
    for (const { stream, answers } of result?.answers ?? []) {
      if (!stream.isLive) continue;
      const { filter } = stream.group;
      this.#host.made.encoded++;
      outbox.say({ t: "documents", filter, entries: answers.entries });
      stream.answered(answers.count);
      stream.settle(txn, this.#host.elapsed());
      this.#queue.place(stream);
      hasChanges = true;
    }
    const outcomes = result === undefined ? [] : countedOutcomes(session, result);
    if (outcomes.length > 0) {
      for (const frame of result?.committed ?? []) outbox.send(frame);
      session.dropOutcomes(outcomes.length);
      if (session.outcomes.length === 0) this.#queue.removeSession(session);
    } else if (hasChanges) outbox.send(this.#frames.committed());
  }

  /** Completes the download of a stream, after the frames of the round and from its state. */
  #join(session: ServedSession, each: StreamChanges): void {
    const { stream, outgoing, cut } = each;
    const { txn } = this.#changes;
    if (stream.phase !== "join") return;
    if (cut !== undefined || !session.outbox.fits(outgoing.bytes)) return this.#catchUp(stream);
    for (const frame of this.#frames.joining(each).plain()) session.outbox.send(frame);
    session.outbox.say({ t: "complete", filter: stream.group.filter, txn });
    if (stream.isOver) return;
    stream.becomeLive(txn, this.#host.elapsed());
    this.#host.place(stream);
  }
}

/**
 * The outcomes that can be sent now. None if a stream that they rely on has ended, or if the
 * permissions of the session changed: then they wait for the next round.
 */
function countedOutcomes(
  { port }: ServedSession,
  { outcomes, counted, authority }: SessionResults,
): readonly SizedOutcome[] {
  if (port.authority !== authority) return [];
  return counted.every(({ isLive }) => isLive) ? outcomes : [];
}
