/**
 * Connection: one connection of the sync server. It passes events to the session state machine
 * (server-session.ts) and performs the actions that the machine returns.
 *
 * Thousands of connections are idle at any time, so each holds as little memory as possible.
 */

import {
  decodePeerMessageIncremental,
  encodeMessage,
  type Hello,
  type PeerDescription,
  PeerError,
  type PeerMessage,
  type ServerMessage,
  type SyncCursor,
  unreachable,
} from "@bigpeer/protocol";
import type { Channel } from "../../platform.ts";
import { uploadChecker } from "../../query/mutate/checked-upload.ts";
import type { Authority } from "../../query/permission/authority.ts";
import { lastUploadOf } from "../../store/taken-upload.ts";
import type { CheckUpload, Upload } from "../../store/upload.ts";
import { type PeerFault, type PeerReport, peerReport } from "../device/peer-report.ts";
import type { AskedRun, RunListener } from "../device/remote-runs.ts";
import type { ExplainedSession } from "../device/sync-explanation.ts";
import { type AdmittedPeer, isForApp } from "../session/greeting.ts";
import { returnDelayMs } from "../session/return-delay.ts";
import { greetedSession, newSession, serverStep } from "../session/server-session.ts";
import type {
  Admission,
  Grant,
  Moment,
  SessionAction,
  SessionEvent,
} from "../session/session-event.ts";
import type { SessionState } from "../session/session-state.ts";
import { requireFew } from "../session/subscription-list.ts";
import type { SessionStreams, StreamOutcome, StreamSession } from "../stream/session-streams.ts";
import type { Uploader } from "../upload/upload-budget.ts";
import type { ConnectionHost, HostedConnection } from "./connection-host.ts";

type Verdict = ReturnType<ConnectionHost["admit"]>;
type ActionOf<K extends SessionAction["kind"]> = Extract<SessionAction, { kind: K }>;

/** Characters of the last error that are kept. */
const FAULT_SIZE_MAX = 1000;

const NOBODY: PeerDescription = { key: "", deviceName: "", os: "", sdk: "", metadata: {} };

export class Connection implements HostedConnection, StreamSession, Uploader {
  readonly #channel: Channel;
  readonly #host: ConnectionHost;
  #state: SessionState;
  /** Undefined before `welcome` and after the end. */
  #streams: SessionStreams | undefined;
  #admission: Admission | undefined;
  /** Created for the first upload. */
  #checkUpload: CheckUpload | undefined;
  /** The last refusal or error that was sent to the peer. */
  #fault: PeerFault | undefined;
  /** Listeners that wait for answers; created for the first run. */
  #runs: Map<number, RunListener> | undefined;
  /** 0 before `welcome`. */
  #session = 0;
  #sinceMs = 0;
  #framesOut = 0;
  #bytesOut = 0;
  #framesIn = 0;
  #bytesIn = 0;
  /** Bytes of the message that is being processed. */
  #heardBytes = 0;
  /** Frames that arrived while a long message is being decoded. */
  #unread: Uint8Array[] | undefined;
  /** How many reasons there are to stop reading from the channel. */
  #holds = 0;

  /** `hello`: if it was checked already; then `join` must follow. */
  constructor(channel: Channel, host: ConnectionHost, hello?: Hello) {
    const { config } = host;
    this.#channel = channel;
    this.#host = host;
    this.#state = hello
      ? greetedSession(config, hello, host.now())
      : newSession(config, host.now());
  }

  get isOpen(): boolean {
    return this.#state.phase === "open";
  }

  get subscriptionCount(): number {
    return this.#state.phase === "open" ? this.#state.subscriptions.size : 0;
  }

  /** Starts the session of a peer that was admitted. Never throws. */
  join({ hello, size, admission }: AdmittedPeer): void {
    this.#count(size);
    const isHere = isForApp(hello, this.#host.config.app);
    this.#settle(0, hello, () => (isHere ? admission : undefined));
  }

  receive(bytes: Uint8Array): void {
    this.#count(bytes.length);
    if (this.#unread !== undefined) this.#unread.push(bytes);
    else this.#read(bytes);
  }

  #count(size: number): void {
    this.#framesIn++;
    this.#bytesIn += size;
  }

  #read(bytes: Uint8Array): void {
    const slicer = decodePeerMessageIncremental(bytes);
    try {
      const { done, value } = slicer.next();
      if (done === true) this.#take(this.#heard(value, bytes.length), bytes.length);
      else void this.#readOn(slicer, bytes.length);
    } catch (error) {
      this.#misread(error, bytes.length);
    }
  }

  /** Decodes a long message in slices, while later frames wait (S64). Never rejects. */
  async #readOn(slicer: Generator<void, PeerMessage>, size: number): Promise<void> {
    this.#unread = [];
    this.hold(true);
    const isWanted = (): boolean => this.#state.phase !== "closed";
    try {
      const message = await this.#host.decodeQueue.read(slicer, isWanted);
      if (message !== undefined) this.#take(this.#heard(message, size), size);
    } catch (error) {
      this.#misread(error, size);
    }
    this.#readRest();
  }

  #readRest(): void {
    const rest = this.#unread ?? [];
    this.#unread = undefined;
    this.hold(false);
    for (const bytes of rest) {
      if (this.#unread === undefined) this.#read(bytes);
      else (this.#unread as Uint8Array[]).push(bytes);
    }
  }

  #misread(error: unknown, size: number): void {
    if (error instanceof PeerError) this.#take({ kind: "garbled", reason: error.message }, size);
    else this.#fail(error);
  }

  #take(event: SessionEvent, size: number): void {
    this.#heardBytes = size;
    this.#happen(event);
  }

  /** The state machine does not know of outcomes that wait for a peer that does not read (S32). */
  #heard(message: PeerMessage, size: number): SessionEvent {
    const unsent = message.t === "upload" ? (this.#streams?.unsentOutcomes ?? 0) : 0;
    const max = this.#host.config.limits.uploads;
    if (unsent < max) return { kind: "message", message, size };
    return { kind: "garbled", reason: `expected at most ${max} uploads without an outcome` };
  }

  drained(): void {
    try {
      this.#streams?.drained();
      this.#host.presence.drained(this);
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
    const takenBytes = this.#bytesOut - queuedBytes;
    const txn = this.#streams?.completeUpTo ?? 0;
    this.#happen({ kind: "tick", txn, queuedBytes, takenBytes }, now);
  }

  /** The server stops. */
  end(): void {
    this.#happen({ kind: "closing", afterMs: returnDelayMs(this.#host.platform) });
  }

  // For presence, reports and remote runs.

  get session(): number {
    return this.#session;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  get description(): PeerDescription {
    return this.#state.phase === "open" ? this.#state.hello.peer : NOBODY;
  }

  get credential(): string {
    return this.#admission?.credential ?? "";
  }

  /** Undefined before `welcome` and after the end. */
  report(): PeerReport | undefined {
    const state = this.#state;
    const admission = this.#admission;
    const streams = this.#streams;
    if (state.phase !== "open" || admission === undefined || streams === undefined)
      return undefined;
    const { store, platform } = this.#host;
    return peerReport({
      session: this.#session,
      sinceMs: this.#sinceMs,
      state,
      admission,
      streams,
      txn: store.txnId,
      elapsedMs: platform.elapsed(),
      traffic: {
        framesIn: this.#framesIn,
        bytesIn: this.#bytesIn,
        framesOut: this.#framesOut,
        bytesOut: this.#bytesOut,
        queuedBytes: this.queuedBytes,
      },
      lastError: this.#fault,
    });
  }

  explained(): ExplainedSession | undefined {
    const state = this.#state;
    const streams = this.#streams;
    if (state.phase !== "open" || streams === undefined) return undefined;
    const { queuedBytes, credential } = this;
    const known = { session: this.#session, sinceMs: this.#sinceMs, credential };
    return { ...known, state, streams, queuedBytes };
  }

  ask(run: AskedRun, listener: RunListener): boolean {
    if (!this.isOpen) return false;
    this.#runs ??= new Map();
    this.#runs.set(run.id, listener);
    this.#happen({ kind: "run", ...run });
    return true;
  }

  cancelRun(id: number): void {
    this.#runs?.delete(id);
    this.#happen({ kind: "cancel_run", id });
  }

  // For the streams.

  send(bytes: Uint8Array): void {
    this.#framesOut++;
    this.#bytesOut += bytes.length;
    this.#channel.send(bytes);
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  get authority(): Authority | undefined {
    return this.#admission?.authority;
  }

  // For the upload budget.

  hold(isHeld: boolean): void {
    this.#holds += isHeld ? 1 : -1;
    if (this.#holds === (isHeld ? 1 : 0)) this.#channel.hold?.(isHeld);
  }

  onFailed(filterKey: string, error: PeerError): void {
    const { code, message } = error;
    this.#happen({ kind: "stream_failed", filterKey, code, message });
  }

  /** Never throws: an unexpected error ends this connection and no other. */
  #happen(event: SessionEvent, now: Moment = this.#host.now()): void {
    try {
      this.#step(event, now);
    } catch (error) {
      this.#fail(error);
    }
  }

  #step(event: SessionEvent, now: Moment): void {
    const { state, actions } = serverStep(this.#state, event, now);
    if (state.phase === "closed" && this.#state.phase !== "closed") this.#leave(actions, now);
    this.#state = state;
    for (const action of actions) {
      this.#perform(action);
      // The action ended the session: the remaining actions are void.
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
      case "forward":
        return this.send(action.frame);
      case "admit":
        return this.#admit(action);
      case "grant":
        return this.#granted(action.grant.admission);
      case "subscribe":
        return this.#follow(action, action.cursor);
      case "recheck":
        return this.#recheck(action);
      case "unfollow":
        this.#streams?.unfollow(action.filterKey);
        return;
      case "want":
        this.#streams?.want(action.filterKey, action.ids, action.isLast);
        return;
      case "identify": {
        const { site } = action;
        const known = lastUploadOf(this.#host.store, site, this.credential);
        return this.#happen({ kind: "identified", site, known });
      }
      case "upload":
        void this.#upload(action.upload);
        return;
      case "outcome":
        return this.#report(action.outcome);
      case "describe":
        return this.#host.presence.change(this);
      case "watch":
        return this.#host.presence.watch(this, action.isOn);
      case "answered":
        return this.#answered(action);
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
    if (message.t === "unsubscribed") this.#note(message.code, message.message);
    this.send(encodeMessage(message));
  }

  #note(code: string, text: string, atMs = this.#host.platform.now()): void {
    this.#fault = { code, message: text.slice(0, FAULT_SIZE_MAX), atMs };
  }

  #granted(admission: Admission): void {
    this.#admission = admission;
    if (this.#streams !== undefined) return this.#host.presence.change(this);
    this.#streams = this.#host.streams.open(this);
    this.#session = this.#host.nextSession();
    this.#sinceMs = this.#host.platform.now();
    this.#host.welcomed(this);
  }

  #answered({ id, items, size, end }: ActionOf<"answered">): void {
    const listener = this.#runs?.get(id);
    if (end !== undefined) this.#runs?.delete(id);
    listener?.onPiece(items, size, end);
  }

  /** Runs while the last report can still be made, which includes why the session ends. */
  #leave(actions: readonly SessionAction[], now: Moment): void {
    for (const action of actions) {
      if (action.kind !== "send" || action.message.t !== "bye") continue;
      this.#note(action.message.code, action.message.message, now.wallMs);
    }
    const runs = this.#runs;
    this.#runs = undefined;
    for (const listener of runs?.values() ?? []) listener.onLost();
    if (this.#session !== 0) this.#host.left(this);
  }

  #admit({ ticket, token, hello }: ActionOf<"admit">): void {
    this.#settle(ticket, hello, () => this.#host.admit(token, hello, this.#channel));
  }

  /** Reports the verdict on a credential to the state machine. */
  #settle(ticket: number, { site }: Hello, verdict: () => Verdict): void {
    const decide = (admission: Admission | undefined): void => {
      if (admission === undefined) return this.#happen({ kind: "rejected", ticket });
      const grant = this.#grantOf(admission);
      const { store } = this.#host;
      const config = { txn: store.txnId, known: lastUploadOf(store, site, admission.credential) };
      this.#happen({ kind: "admitted", ticket, grant, ...config });
    };
    const fail = (error: unknown): void => {
      this.#host.noteFault(error);
      this.#happen({ kind: "unanswered", ticket });
    };
    try {
      const answer = verdict();
      if (answer instanceof Promise) answer.then(decide).catch(fail);
      else decide(answer);
    } catch (error) {
      fail(error);
    }
  }

  #grantOf(admission: Admission): Grant {
    return { admission, rights: this.#host.rightsOf(admission.authority) };
  }

  #recheck(action: ActionOf<"recheck">): void {
    const { history } = this.#host.config;
    const txn = this.#streams?.completeUpTo ?? 0;
    this.#follow(action, { history, filter: action.filter, txn }, action.filterKey);
  }

  /** Begins the stream of a subscription, unless the subscription already follows it. */
  #follow(
    { id, query, args }: ActionOf<"subscribe" | "recheck">,
    cursor: SyncCursor | undefined,
    followedKey?: string,
  ): void {
    const streams = this.#streams;
    if (streams === undefined) return;
    try {
      const prepared = this.#host.streams.prepare(query, args, this.authority);
      const { filter, filterKey, collection } = prepared;
      if (filterKey === followedKey) return;
      if (this.#state.phase === "open") requireFew(this.#state, filterKey);
      const mode = streams.follow(prepared, cursor);
      this.#happen({ kind: "followed", id, filter, filterKey, collection, mode });
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      const { code, message } = error;
      this.#happen({ kind: "not_followed", id, code, message });
    }
  }

  /** Never rejects. */
  async #upload(upload: Upload): Promise<void> {
    const { site, number } = upload;
    const { credential } = this;
    const { platform, config, uploadBudget, allowance } = this.#host;
    // Credentials of two apps may have the same name.
    const spender = `${config.app} ${credential}`;
    const size = this.#heardBytes;
    const isFirst = number === 1;
    const waitMs = allowance.waitMs(spender, isFirst);
    if (waitMs > 0) return this.#happen({ kind: "upload_limited", afterMs: waitMs });
    // Charged at once, because other uploads of the credential may be under way.
    if (isFirst) allowance.use(spender, "newSites");
    let isNew = false;
    uploadBudget.take(this, size);
    this.#checkUpload ??= uploadChecker({
      platform,
      appId: config.app,
      authority: () => this.#writer(),
    });
    try {
      const check = this.#checkUpload;
      const by = { ...this.#admission?.writer, peer: this.description.key };
      const asked = { upload, check, credential, by, channel: this.#channel, size };
      const answer = await this.#host.upload({ ...asked, isOpen: () => this.isOpen });
      let remembered: Promise<void> | undefined;
      if (answer.kind === "taken") {
        isNew = !answer.isReplay;
        if (isNew && answer.record.outcome === "refused") {
          allowance.use(spender, "refusedUploads");
        }
        const { description } = this;
        const sender = { peerKey: description.key, credential };
        remembered = this.#host.remember(sender, upload, answer.record);
      }
      this.#happen({ kind: "uploaded", site, number, answer });
      await remembered;
    } catch (error) {
      const code = error instanceof PeerError ? error.code : "";
      if (code === "") this.#host.noteFault(error);
      this.#happen({ kind: "upload_failed", site, number, code });
    } finally {
      if (isFirst && !isNew) allowance.giveBack(spender, "newSites");
      uploadBudget.give(this, size);
    }
  }

  /** Permissions for the check of an upload. Throws if the session is over (S26). */
  #writer(): Authority | undefined {
    if (this.#state.phase === "open") return this.authority;
    throw new PeerError("store.closed", "the session is over");
  }

  #report(outcome: StreamOutcome): void {
    const { kind, reason } = outcome;
    this.#host.noteOutcome(kind);
    if (kind !== "applied") this.#note(`upload.${kind}`, reason);
    this.#streams?.outcome(outcome);
  }

  #release(): void {
    if (this.#session !== 0) this.#host.left(this);
    this.#streams?.close();
    this.#streams = undefined;
    this.#host.forget(this);
  }
}
