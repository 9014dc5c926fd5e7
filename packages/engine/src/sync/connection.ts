/**
 * Connection: one connection of the sync server. It hands the machine what happens and does what the
 * machine wants.
 *
 * Thousands of them rest at any time, so it holds little, and nothing that is not needed yet.
 */

import {
  decodePeerMessage,
  encodeMessage,
  type Hello,
  type OutcomeKind,
  PeerError,
  type PeerMessage,
  type ServerMessage,
  type SyncCursor,
  unreachable,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../platform.ts";
import { uploadJudge } from "../query/mutate/judged-upload.ts";
import type { Authority } from "../query/permission/authority.ts";
import type { Store } from "../store/store.ts";
import type { JudgeUpload, Upload } from "../store/upload.ts";
import { newSession, serverStep } from "./server-session.ts";
import type { Admission, Grant, Moment, SessionAction, SessionEvent } from "./session-event.ts";
import type { SessionFacts, SessionState } from "./session-state.ts";
import type { SessionStreams, StreamOutcome, StreamSession } from "./session-streams.ts";
import type { Streams } from "./streams.ts";
import type { Uploader, UploadRoom } from "./upload-room.ts";

/** What whoever owns the channel tells and asks. */
export interface ServerConnection {
  /** A frame came. Never throws. */
  receive(bytes: Uint8Array): void;
  /** What was sent has been taken by the network. */
  drained(): void;
  /** The connection is gone. */
  closed(): void;
  /** The permissions of its credential are other ones; undefined when it is no more (S7). */
  changeRights(admission: Admission | undefined): void;
}

/** What a connection needs of its server. */
export interface ConnectionHost {
  readonly store: Store;
  readonly platform: Platform;
  readonly streams: Streams;
  readonly facts: SessionFacts;
  readonly uploadRoom: UploadRoom;
  now(): Moment;
  admit(
    token: string,
    hello: Hello,
    channel: Channel,
  ): Promise<Admission | undefined> | Admission | undefined;
  rightsOf(authority: Authority | undefined): Uint8Array;
  noteFailure(): void;
  noteOutcome(kind: OutcomeKind): void;
  noteFault(error: unknown): void;
  forget(connection: Connection): void;
}

/** Subscriptions of one session that come to the same filter. */
const SHARING_MAX = 16;

export class Connection implements ServerConnection, StreamSession, Uploader {
  readonly #channel: Channel;
  readonly #host: ConnectionHost;
  #state: SessionState;
  /** Undefined before it was welcomed, and after its end. */
  #streams: SessionStreams | undefined;
  #admission: Admission | undefined;
  /** Made for the first upload. */
  #judge: JudgeUpload | undefined;
  #sentBytes = 0;
  /** Bytes of the message that is being heard. */
  #heardBytes = 0;

  constructor(channel: Channel, host: ConnectionHost) {
    this.#channel = channel;
    this.#host = host;
    this.#state = newSession(host.facts, host.now());
  }

  get isOpen(): boolean {
    return this.#state.phase === "open";
  }

  get subscriptionCount(): number {
    return this.#state.phase === "open" ? this.#state.subscriptions.size : 0;
  }

  receive(bytes: Uint8Array): void {
    let event: SessionEvent;
    this.#heardBytes = bytes.length;
    try {
      event = this.#heard(decodePeerMessage(bytes));
    } catch (error) {
      if (!(error instanceof PeerError)) return this.#fail(error);
      event = { kind: "garbled", reason: error.message };
    }
    this.#happen(event);
  }

  /** The machine does not know of outcomes that wait for a peer which does not read (S32). */
  #heard(message: PeerMessage): SessionEvent {
    const unsent = message.t === "upload" ? (this.#streams?.unsentOutcomes ?? 0) : 0;
    const max = this.#host.facts.limits.uploads;
    if (unsent < max) return { kind: "message", message };
    return { kind: "garbled", reason: `expected at most ${max} uploads without an outcome` };
  }

  drained(): void {
    try {
      this.#streams?.drained();
    } catch (error) {
      this.#fail(error);
    }
  }

  closed(): void {
    this.#happen({ kind: "disconnected" });
  }

  changeRights(admission: Admission | undefined): void {
    if (admission === undefined) this.#happen({ kind: "revoked" });
    else this.#happen({ kind: "rights_changed", grant: this.#grantOf(admission) });
  }

  tick(now: Moment): void {
    const { queuedBytes } = this.#channel;
    const takenBytes = this.#sentBytes - queuedBytes;
    const txn = this.#streams?.completeUpTo ?? 0;
    this.#happen({ kind: "tick", txn, queuedBytes, takenBytes }, now);
  }

  /** The server stops. */
  end(): void {
    this.#happen({ kind: "closing" });
  }

  // For the streams.

  send(bytes: Uint8Array): void {
    this.#sentBytes += bytes.length;
    this.#channel.send(bytes);
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  get authority(): Authority | undefined {
    return this.#admission?.authority;
  }

  // For the room of uploads.

  hold(isHeld: boolean): void {
    this.#channel.hold?.(isHeld);
  }

  onFailed(filterKey: string, error: PeerError): void {
    const { code, message } = error;
    this.#happen({ kind: "stream_failed", filterKey, code, message });
  }

  /** Never throws: what nobody expected ends this connection, and no other. */
  #happen(event: SessionEvent, now: Moment = this.#host.now()): void {
    try {
      this.#step(event, now);
    } catch (error) {
      this.#fail(error);
    }
  }

  #step(event: SessionEvent, now: Moment): void {
    const { state, actions } = serverStep(this.#state, event, now);
    this.#state = state;
    for (const action of actions) {
      this.#perform(action);
      // Something that this led to has ended the session: nothing else is to be done.
      if (this.#state !== state && this.#state.phase === "closed") return;
    }
  }

  #fail(error: unknown): void {
    this.#host.noteFault(error);
    try {
      this.#step({ kind: "failed" }, this.#host.now());
    } catch (again) {
      this.#host.noteFault(again);
      this.#channel.close();
      this.#release();
    }
  }

  #perform(action: SessionAction): void {
    switch (action.kind) {
      case "send":
        return this.#say(action.message);
      case "admit":
        return this.#admit(action);
      case "grant":
        this.#admission = action.grant.admission;
        this.#streams ??= this.#host.streams.open(this);
        return;
      case "subscribe":
        return this.#follow(action, action.cursor);
      case "judge_anew":
        return this.#judgeAnew(action);
      case "unfollow":
        this.#streams?.unfollow(action.filterKey);
        return;
      case "want":
        this.#streams?.want(action.filterKey, action.ids, action.isLast);
        return;
      case "identify": {
        const { site } = action;
        return this.#happen({ kind: "identified", site, known: this.#host.store.known(site) });
      }
      case "upload":
        void this.#upload(action.upload);
        return;
      case "outcome":
        return this.#tell(action.outcome);
      case "note_failure":
        return this.#host.noteFailure();
      case "close":
        return this.#channel.close();
      case "release":
        return this.#release();
      default:
        return unreachable(action);
    }
  }

  #say(message: ServerMessage): void {
    this.send(encodeMessage(message));
  }

  #admit({ ticket, token, hello }: Extract<SessionAction, { kind: "admit" }>): void {
    const { site } = hello;
    const decide = (admission: Admission | undefined): void => {
      if (admission === undefined) return this.#happen({ kind: "rejected", ticket });
      const grant = this.#grantOf(admission);
      const { store } = this.#host;
      const facts = { txn: store.txnId, known: store.known(site) };
      this.#happen({ kind: "admitted", ticket, grant, ...facts });
    };
    const fail = (error: unknown): void => {
      this.#host.noteFault(error);
      this.#happen({ kind: "unanswered", ticket });
    };
    try {
      const answer = this.#host.admit(token, hello, this.#channel);
      if (answer instanceof Promise) answer.then(decide).catch(fail);
      else decide(answer);
    } catch (error) {
      fail(error);
    }
  }

  #grantOf(admission: Admission): Grant {
    return { admission, rights: this.#host.rightsOf(admission.authority) };
  }

  #judgeAnew(action: Extract<SessionAction, { kind: "judge_anew" }>): void {
    const { history } = this.#host.facts;
    const txn = this.#streams?.completeUpTo ?? 0;
    this.#follow(action, { history, filter: action.filter, txn }, action.filterKey);
  }

  /** Begins the stream of a subscription, unless it is the one that is followed. */
  #follow(
    { id, query, args }: Extract<SessionAction, { kind: "subscribe" | "judge_anew" }>,
    cursor: SyncCursor | undefined,
    followedKey?: string,
  ): void {
    const streams = this.#streams;
    if (streams === undefined) return;
    try {
      const prepared = this.#host.streams.prepare(query, args, this.authority);
      const { filter, filterKey, collection } = prepared;
      if (filterKey === followedKey) return;
      this.#requireFew(filterKey);
      const mode = streams.follow(prepared, cursor);
      this.#happen({ kind: "followed", id, filter, filterKey, collection, mode });
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      const { code, message } = error;
      this.#happen({ kind: "not_followed", id, code, message });
    }
  }

  /** All that share a stream are told each time that it begins anew. */
  #requireFew(filterKey: string): void {
    if (this.#state.phase !== "open") return;
    let count = 0;
    for (const { stream } of this.#state.subscriptions.values()) {
      if (stream?.filterKey === filterKey) count++;
    }
    if (count < SHARING_MAX) return;
    const message = `expected at most ${SHARING_MAX} subscriptions to the same documents`;
    throw new PeerError("query.too_large", message);
  }

  /** Never rejects. */
  async #upload(upload: Upload): Promise<void> {
    const { site, number } = upload;
    const { store, platform, facts, uploadRoom } = this.#host;
    const size = this.#heardBytes;
    uploadRoom.take(this, size);
    this.#judge ??= uploadJudge({ platform, appId: facts.app, authority: () => this.#writer() });
    try {
      const answer = await store.upload(upload, this.#judge);
      this.#happen({ kind: "uploaded", site, number, answer });
    } catch (error) {
      const code = error instanceof PeerError ? error.code : "";
      if (code === "") this.#host.noteFault(error);
      this.#happen({ kind: "upload_failed", site, number, code });
    } finally {
      uploadRoom.give(this, size);
    }
  }

  /** What it may do while an upload is applied. Whose session is over has not uploaded it (S26). */
  #writer(): Authority | undefined {
    if (this.#state.phase === "open") return this.authority;
    throw new PeerError("store.closed", "the session is over");
  }

  #tell(outcome: StreamOutcome): void {
    this.#host.noteOutcome(outcome.kind);
    this.#streams?.outcome(outcome);
  }

  #release(): void {
    this.#streams?.close();
    this.#streams = undefined;
    this.#host.forget(this);
  }
}
