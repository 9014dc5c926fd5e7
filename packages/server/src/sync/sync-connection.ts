/**
 * One peer that is connected: from its hello to the session in the sync server of its app, and what
 * the server does with it from outside: it is sent away, or its rights are looked at again.
 *
 *   waiting ──hello──> admitting ──> joined ──> over
 *
 * What comes while it is admitted waits, and no more of it is read meanwhile.
 */

import type { Admission, Channel, ServerConnection } from "@bigpeer/engine";
import { permissionsValue } from "@bigpeer/engine";
import {
  decodePeerMessage,
  encodeMessage,
  type Hello,
  PeerError,
  SYNC_VERSION,
  stringifyJson,
  versionMismatch,
} from "@bigpeer/protocol";
import type { AppUse } from "../apps/open-apps.ts";
import { ownerOf } from "../auth/credential.ts";
import type { Bearer } from "../auth/credentials.ts";
import type { ChannelListener } from "./channel-listener.ts";
import { type AdmittedPeer, type SyncPlace, SyncRefusal } from "./sync-gate.ts";
import type { WebSocketChannel } from "./web-socket.ts";

/** What a connection asks of the server. */
export interface ConnectionHost {
  /** Told when the hello was there. */
  greeted(connection: SyncConnection): void;
  /** Rejects with a SyncRefusal, or with what nobody expected. */
  admit(hello: Hello, place: SyncPlace): Promise<AdmittedPeer>;
  /** Whom a new token stands for; undefined when nobody is known by it. Rejects as admit does. */
  renew(token: string, appId: string, place: SyncPlace): Promise<Bearer | undefined>;
  /** A session in the sync server of the app. */
  join(connection: SyncConnection, use: AppUse): ServerConnection;
  /** Told when a peer was sent away before it had a session. */
  refused(connection: SyncConnection, refusal: SyncRefusal): void;
  /** Told when the session is over, before the connection is. */
  left(connection: SyncConnection): void;
  /** Told once, when the connection is gone. */
  ended(connection: SyncConnection): void;
  /** Told of an error that nobody expected. */
  failed(error: unknown): void;
}

/** What is known of a peer that has a session. */
export interface JoinedPeer {
  readonly appId: string;
  readonly credentialId: string;
  readonly site: string;
}

/** A new token, and who waits to hear whom it stands for. */
interface WaitingToken {
  readonly token: string;
  decide(admission: Promise<Admission | undefined> | undefined): void;
}

export class SyncConnection implements Channel, ChannelListener {
  readonly place: SyncPlace;
  /** When it came, on a clock that never goes back. */
  readonly startMs: number;
  readonly #channel: WebSocketChannel;
  readonly #host: ConnectionHost;
  #phase: "waiting" | "admitting" | "joined" | "over" = "waiting";
  /** What came before the session was there. */
  #early: Uint8Array[] | undefined;
  #session: ServerConnection | undefined;
  #use: AppUse | undefined;
  #token = "";
  /** A new token is being looked at: at most one is at a time. */
  #isRenewing = false;
  /** The one that waits for that; an even newer one takes its place. */
  #waiting: WaitingToken | undefined;
  #isIdentified = false;
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

  /** Under which name what its credential uses is counted; undefined until there is a session. */
  get owner(): string | undefined {
    return this.#bearer && ownerOf(this.#bearer.appId, this.#bearer.credential);
  }

  /** By which the peer is known now. */
  get token(): string {
    return this.#token;
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes;
  }

  send(bytes: Uint8Array): void {
    if (this.#phase !== "over") this.#channel.send(bytes);
  }

  /** The session is over. What was sent goes out, and the app is not needed any more. */
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

  /** Sends the peer away, whatever it was about. */
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

  /** The credential was looked at: whom it stands for, undefined when nobody is known by it now. */
  reviewed(bearer: Bearer | undefined): void {
    if (!this.isJoined || (bearer !== undefined && this.#isSame(bearer))) return;
    if (bearer !== undefined) this.#bearer = bearer;
    this.#session?.changeRights(bearer && admissionOf(bearer, this.place));
  }

  /**
   * Who that is: for the hello what the gate has just found, so that nothing has to wait; for a new
   * token whom it stands for. Rejects when that cannot be said now.
   */
  identify(token: string): Admission | Promise<Admission | undefined> | undefined {
    const peer = this.#peer;
    const bearer = this.#bearer;
    if (peer === undefined || bearer === undefined) return undefined;
    if (!this.#isIdentified) {
      this.#isIdentified = true;
      return admissionOf(bearer, this.place);
    }
    if (!this.#isRenewing) return this.#renew(token, peer);
    // A peer may send any number of them. Whatever would be said of an older one counts no more.
    this.#waiting?.decide(undefined);
    return new Promise((decide) => {
      this.#waiting = { token, decide };
    });
  }

  async #renew(token: string, peer: JoinedPeer): Promise<Admission | undefined> {
    this.#isRenewing = true;
    try {
      const bearer = await this.#host.renew(token, peer.appId, this.place);
      if (bearer === undefined) return undefined;
      // One that was sent after it counts more.
      if (this.#waiting === undefined) {
        this.#token = token;
        this.#bearer = bearer;
        this.#peer = { ...peer, credentialId: bearer.credential.id };
      }
      return admissionOf(bearer, this.place);
    } finally {
      this.#isRenewing = false;
      this.#renewNext(peer);
    }
  }

  #renewNext(peer: JoinedPeer): void {
    const next = this.#waiting;
    this.#waiting = undefined;
    next?.decide(this.isJoined ? this.#renew(next.token, peer) : undefined);
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
    const hello = readHello(bytes);
    if (hello === undefined) return this.close();
    if (hello instanceof SyncRefusal) return this.dismiss(hello);
    this.#phase = "admitting";
    this.#host.greeted(this);
    this.#early = [bytes];
    this.#channel.pause();
    void this.#enter(hello);
  }

  /** Never rejects. */
  async #enter(hello: Hello): Promise<void> {
    try {
      this.#join(hello, await this.#host.admit(hello, this.place));
    } catch (error) {
      if (error instanceof SyncRefusal) return this.dismiss(error);
      this.#host.failed(error);
      this.dismiss(new SyncRefusal("busy", "an unexpected error of the server", 5_000));
    }
  }

  #join(hello: Hello, { use, bearer }: AdmittedPeer): void {
    // It may have left meanwhile, or the server closes.
    if (this.#phase !== "admitting") return use.release();
    this.#phase = "joined";
    this.#use = use;
    this.#token = hello.token;
    this.#bearer = bearer;
    const { appId, credential } = bearer;
    this.#peer = { appId, credentialId: credential.id, site: hello.site };
    this.#channel.trust(ownerOf(appId, credential));
    this.#session = this.#host.join(this, use);
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

/** What the engine is told of whom a credential stands for. */
export function admissionOf(bearer: Bearer, { remoteAddress: address }: SyncPlace): Admission {
  const { credential, expiresAtMs, userId, identity } = bearer;
  const { id, authority } = credential;
  const isEndless = expiresAtMs === Number.POSITIVE_INFINITY;
  const expiry = isEndless ? {} : { expiresMs: expiresAtMs };
  return { authority, credential: id, ...expiry, userId, identity, address };
}

/** The first message, which must be hello in a version that is spoken here; undefined for bye. */
function readHello(bytes: Uint8Array): Hello | SyncRefusal | undefined {
  try {
    const message = decodePeerMessage(bytes);
    if (message.t === "bye") return undefined;
    if (message.t !== "hello") {
      return new SyncRefusal("malformed", `expected hello first, found ${message.t}`);
    }
    if (message.version === SYNC_VERSION) return message;
    const mismatch = versionMismatch("the server", "the peer", message.version);
    return new SyncRefusal("version", mismatch);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return new SyncRefusal("malformed", error.message);
  }
}

function permissionsText(permissions: Bearer["credential"]["permissions"]): string {
  return stringifyJson(permissionsValue(permissions));
}
