/**
 * Sync connection: one connected peer, from its `hello` to its session in the sync server of its
 * app. Here `hello` is decoded and checked; the sync server gets a peer that was admitted. The
 * server can dismiss it, or check its rights again.
 *
 * waiting ──hello──> admitting ──> joined ──> over
 *
 * Messages that arrive during the admission wait, and no more are read meanwhile.
 */

import type { Channel } from "@bigpeer/engine";
import { permissionsValue } from "@bigpeer/engine/query";
import type { Admission, AdmittedPeer, ServerConnection } from "@bigpeer/engine/sync";
import { readGreeting } from "@bigpeer/engine/sync";
import { encodeMessage, type Hello, stringifyJson } from "@bigpeer/protocol";
import type { AppUse } from "../apps/open-apps.ts";
import { ownerOf } from "../auth/credential.ts";
import type { Bearer } from "../auth/credentials.ts";
import type { ChannelListener } from "./channel-listener.ts";
import { type AuthenticatedPeer, type SyncPlace, SyncRefusal } from "./sync-gate.ts";
import type { WebSocketChannel } from "./web-socket.ts";

/** What a connection needs from the server. */
export interface ConnectionHost {
  /** Called when `hello` has arrived. */
  greeted(connection: SyncConnection): void;
  /** Rejects with a SyncRefusal, or with an unexpected error. */
  admit(hello: Hello, place: SyncPlace): Promise<AuthenticatedPeer>;
  /** The bearer of a new token; undefined if the token is unknown. Rejects like `admit`. */
  renew(token: string, appId: string, place: SyncPlace): Promise<Bearer | undefined>;
  /** Opens a session in the sync server of the app. */
  join(connection: SyncConnection, use: AppUse, peer: AdmittedPeer): ServerConnection;
  /** Called when a peer was dismissed before it had a session. */
  refused(connection: SyncConnection, refusal: SyncRefusal): void;
  /** Called when the session has ended, before the connection ends. */
  left(connection: SyncConnection): void;
  /** Called once, when the connection has ended. */
  ended(connection: SyncConnection): void;
  /** Called with an unexpected error. */
  failed(error: unknown): void;
}

/** What is known about a peer with a session. */
export interface JoinedPeer {
  readonly appId: string;
  readonly credentialId: string;
  readonly site: string;
}

/** A new token that waits to be verified. */
interface WaitingToken {
  readonly token: string;
  decide(admission: Promise<Admission | undefined> | undefined): void;
}

export class SyncConnection implements Channel, ChannelListener {
  readonly place: SyncPlace;
  /** When it connected, on a monotonic clock. */
  readonly startMs: number;
  readonly #channel: WebSocketChannel;
  readonly #host: ConnectionHost;
  #phase: "waiting" | "admitting" | "joined" | "over" = "waiting";
  /** Messages that arrived before there was a session. */
  #early: Uint8Array[] | undefined;
  #session: ServerConnection | undefined;
  #use: AppUse | undefined;
  #token = "";
  /** Whether a new token is being verified: one at a time. */
  #isRenewing = false;
  /** The next token to verify; a newer one replaces it. */
  #waiting: WaitingToken | undefined;
  #bearer: Bearer | undefined;
  #peer: JoinedPeer | undefined;

  constructor(channel: WebSocketChannel, place: SyncPlace, startMs: number, host: ConnectionHost) {
    this.#channel = channel;
    this.place = place;
    this.startMs = startMs;
    this.#host = host;
    channel.listen(this);
  }

  get isJoined(): boolean {
    return this.#phase === "joined";
  }

  /** Undefined until there is a session. */
  get peer(): JoinedPeer | undefined {
    return this.#peer;
  }

  /** Key that counts what its credential uses; undefined until there is a session. */
  get owner(): string | undefined {
    return this.#bearer && ownerOf(this.#bearer.appId, this.#bearer.credential);
  }

  /** The current token of the peer. */
  get token(): string {
    return this.#token;
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  send(bytes: Uint8Array): void {
    if (this.#phase !== "over") this.#channel.send(bytes);
  }

  /** Ends the session. Queued messages are still sent, and the app is released. */
  close(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#channel.close();
    this.#release();
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#channel.pause();
    else this.#channel.resume();
  }

  /** Ends the connection at once. */
  cut(): void {
    this.#channel.cut();
  }

  /** Sends `bye` and closes, in any phase. */
  dismiss(refusal: SyncRefusal): void {
    const phase = this.#phase;
    if (phase === "over") return;
    const { code, message, afterMs: after } = refusal;
    const bye = { t: "bye", code, message, ...(after !== undefined && { after }) } as const;
    this.#channel.send(encodeMessage(bye));
    this.close();
    if (phase === "joined") this.#session?.closed();
    else this.#host.refused(this, refusal);
  }

  /** Applies a new check of the credential: its bearer, or undefined if it is no longer valid. */
  reviewed(bearer: Bearer | undefined): void {
    if (!this.isJoined || (bearer !== undefined && this.#isSame(bearer))) return;
    if (bearer !== undefined) this.#bearer = bearer;
    this.#session?.changeRights(bearer && admissionOf(bearer, this.place));
  }

  /** The admission for a new token of the session. Rejects if it cannot be verified now. */
  renew(token: string): Promise<Admission | undefined> | undefined {
    const peer = this.#peer;
    if (peer === undefined) return undefined;
    if (!this.#isRenewing) return this.#verify(token, peer);
    // A peer may send any number of tokens. Only the newest one counts.
    this.#waiting?.decide(undefined);
    return new Promise((decide) => {
      this.#waiting = { token, decide };
    });
  }

  async #verify(token: string, peer: JoinedPeer): Promise<Admission | undefined> {
    this.#isRenewing = true;
    try {
      const bearer = await this.#host.renew(token, peer.appId, this.place);
      if (bearer === undefined) return undefined;
      // A token that was sent later replaces this one.
      if (this.#waiting === undefined) {
        this.#token = token;
        this.#bearer = bearer;
        this.#peer = { ...peer, credentialId: bearer.credential.id };
      }
      return admissionOf(bearer, this.place);
    } finally {
      this.#isRenewing = false;
      this.#verifyNext(peer);
    }
  }

  #verifyNext(peer: JoinedPeer): void {
    const next = this.#waiting;
    this.#waiting = undefined;
    next?.decide(this.isJoined ? this.#verify(next.token, peer) : undefined);
  }

  message(bytes: Uint8Array): void {
    if (this.#phase === "joined") this.#session?.receive(bytes);
    else if (this.#phase === "admitting") this.#early?.push(bytes);
    else if (this.#phase === "waiting") this.#greet(bytes);
  }

  malformed(reason: string): void {
    this.dismiss(new SyncRefusal("malformed", reason));
  }

  overfull(): void {
    const message = "the messages of all peers have taken all memory there is for them";
    this.dismiss(new SyncRefusal("busy", message, 1_000));
  }

  drained(): void {
    if (this.#phase === "joined") this.#session?.drained();
  }

  closed(): void {
    const wasOver = this.#phase === "over";
    this.#phase = "over";
    if (!wasOver) this.#release();
    this.#session?.closed();
    this.#session = undefined;
    this.#host.ended(this);
  }

  #greet(bytes: Uint8Array): void {
    const greeting = readGreeting(bytes);
    if (greeting.kind === "bye") return this.close();
    if (greeting.kind === "refused") {
      return this.dismiss(new SyncRefusal(greeting.code, greeting.message));
    }
    this.#phase = "admitting";
    this.#host.greeted(this);
    this.#early = [];
    this.#channel.pause();
    void this.#enter(greeting.hello, bytes.length);
  }

  /** Never rejects. */
  async #enter(hello: Hello, size: number): Promise<void> {
    try {
      this.#join(hello, size, await this.#host.admit(hello, this.place));
    } catch (error) {
      if (error instanceof SyncRefusal) return this.dismiss(error);
      this.#host.failed(error);
      this.dismiss(new SyncRefusal("busy", "an unexpected error of the server", 5_000));
    }
  }

  #join(hello: Hello, size: number, { use, bearer }: AuthenticatedPeer): void {
    // The peer may have left meanwhile, or the server closes.
    if (this.#phase !== "admitting") return use.release();
    this.#phase = "joined";
    this.#use = use;
    this.#token = hello.token;
    this.#bearer = bearer;
    const { appId, credential } = bearer;
    this.#peer = { appId, credentialId: credential.id, site: hello.site };
    this.#channel.trust(ownerOf(appId, credential));
    const admitted = { hello, size, admission: admissionOf(bearer, this.place) };
    this.#session = this.#host.join(this, use, admitted);
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const bytes of early) this.#session.receive(bytes);
    this.#channel.resume();
  }

  #release(): void {
    this.#early = undefined;
    this.#use?.release();
    this.#use = undefined;
    if (this.#peer !== undefined) this.#host.left(this);
  }

  #isSame({ credential, expiresAtMs }: Bearer): boolean {
    const known = this.#bearer;
    if (known === undefined || known.expiresAtMs !== expiresAtMs) return false;
    if (known.credential === credential) return true;
    return (
      known.credential.id === credential.id &&
      permissionsText(known.credential.permissions) === permissionsText(credential.permissions)
    );
  }
}

/** The admission of a bearer, as the engine takes it. */
export function admissionOf(bearer: Bearer, { remoteAddress: address }: SyncPlace): Admission {
  const { credential, expiresAtMs, userId, identity } = bearer;
  const { id, authority, writer } = credential;
  const isEndless = expiresAtMs === Number.POSITIVE_INFINITY;
  const expiry = isEndless ? {} : { expiresMs: expiresAtMs };
  return { authority, credential: id, writer, ...expiry, userId, identity, address };
}

function permissionsText(permissions: Bearer["credential"]["permissions"]): string {
  return stringifyJson(permissionsValue(permissions));
}
