/**
 * Incoming link: a connection to the replication port until its proof is checked (S48).
 *
 * waiting ──link──> proving ──proof──> proven
 *
 * Nothing is opened, read or revealed before a valid proof. A caller without the secret of an app
 * gets the same answer in the same time, whether the app exists here or not (S83).
 *
 * In a cluster a link may come from another node, which has answered `link` itself. The proof is
 * checked here again.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { linkProofBytes } from "@bigpeer/engine/link";
import {
  decodeLinkMessage,
  encodeMessage,
  type LinkHello,
  type LinkMessage,
  PeerError,
  SYNC_VERSION,
  versionMismatch,
} from "@bigpeer/protocol";
import type { ChannelListener } from "../sync/channel-listener.ts";
import type { WebSocketChannel } from "../sync/web-socket.ts";
import type { LinkEnd } from "./link-dialler.ts";

/** A connection whose other side has proved that it knows the secret of an app. */
export interface ProvenLink {
  readonly channel: WebSocketChannel;
  readonly appId: string;
  readonly remoteAddress: string;
  /** The nonce that this side sent. */
  readonly nonce: Uint8Array;
  /** The messages so far, for the link that continues. */
  readonly heard: readonly Uint8Array[];
  /** Whether another node of the cluster has passed it on. */
  readonly isPassedOn: boolean;
}

/** A connection that another node of the cluster passes on: it has sent `link` and its nonce. */
export interface PassedLink {
  /** Address of the Big Peer that dialled. */
  readonly remoteAddress: string;
  readonly nonce: Uint8Array;
}

export interface IncomingLinkHost {
  /** The secret of an app that may be linked; undefined if there is none, for any reason. */
  secretOf(appId: string): string | undefined;
  random(size: number): Uint8Array;
  /** Whether a valid proof counts: not while its address is throttled and it is new there (S83). */
  admits(remoteAddress: string, appId: string, secret: string): boolean;
  /** The receiver listens to the channel from now on. */
  proven(incoming: IncomingLink, link: ProvenLink): void;
  /** Called for a refused connection. Returns how long it must wait, if it is sent a time. */
  refused(incoming: IncomingLink, end: LinkEnd): number | undefined;
  /** Called once, when the connection has ended, unless it was proven. */
  ended(incoming: IncomingLink): void;
}

/** One sentence for all: it must not reveal which apps there are (S83). */
const UNKNOWN = "there is no such app to be linked with here, or its replication secret is another";

export const NONCE_SIZE = 32;

/** A connection to the replication port. */
interface Connected {
  readonly channel: WebSocketChannel;
  readonly remoteAddress: string;
  /** When it connected, on a monotonic clock. */
  readonly startMs: number;
}

export class IncomingLink implements ChannelListener {
  readonly remoteAddress: string;
  /** When it connected, on a monotonic clock. */
  readonly startMs: number;
  readonly #channel: WebSocketChannel;
  readonly #host: IncomingLinkHost;
  #phase: "waiting" | "proving" | "over" = "waiting";
  #hello: LinkHello | undefined;
  #nonce: Uint8Array;
  readonly #isPassedOn: boolean;
  #heard: Uint8Array[] = [];

  /** `passed` is given for a link that another node of the cluster passes on. */
  constructor(
    { channel, remoteAddress, startMs }: Connected,
    host: IncomingLinkHost,
    passed?: PassedLink,
  ) {
    this.#channel = channel;
    this.#isPassedOn = passed !== undefined;
    this.#nonce = passed?.nonce ?? host.random(NONCE_SIZE);
    this.remoteAddress = remoteAddress;
    this.startMs = startMs;
    this.#host = host;
    channel.listen(this);
  }

  /** The app that `link` named; undefined before. */
  get appId(): string | undefined {
    return this.#hello?.app;
  }

  message(bytes: Uint8Array): void {
    if (this.#phase === "over") return;
    try {
      this.#take(decodeLinkMessage(bytes), bytes);
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      this.malformed(error.message);
    }
  }

  malformed(reason: string): void {
    this.dismiss({ code: "malformed", message: reason });
  }

  overfull(): void {
    const message = "the messages of all links have taken all memory there is for them";
    this.dismiss({ code: "busy", message, afterMs: 1_000 });
  }

  drained(): void {}

  closed(): void {
    this.#phase = "over";
    this.#host.ended(this);
  }

  /** Ends the connection at once. */
  cut(): void {
    this.#channel.cut();
  }

  /** Sends `bye` and closes. */
  dismiss(end: LinkEnd): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    const { code, message } = end;
    const after = this.#host.refused(this, end) ?? end.afterMs;
    const bye = { t: "bye", code, message, ...(after !== undefined && { after }) };
    this.#channel.send(encodeMessage(bye as LinkMessage));
    this.#channel.close();
  }

  #take(message: LinkMessage, bytes: Uint8Array): void {
    if (message.t === "bye") {
      this.#phase = "over";
      this.#channel.close();
    } else if (this.#phase === "waiting" && message.t === "link") this.#greet(message, bytes);
    else if (this.#phase === "proving" && message.t === "proof") this.#check(message.proof, bytes);
    else {
      const expected = this.#phase === "waiting" ? "link" : "proof";
      this.malformed(`expected ${expected}, found ${message.t}`);
    }
  }

  #greet(hello: LinkHello, bytes: Uint8Array): void {
    this.#hello = hello;
    if (hello.version !== SYNC_VERSION) {
      const message = versionMismatch(
        "the accepting Big Peer",
        "the dialing Big Peer",
        hello.version,
      );
      return this.dismiss({ code: "version", message });
    }
    this.#heard.push(bytes);
    this.#phase = "proving";
    if (this.#isPassedOn) return;
    const own: LinkHello = { ...hello, t: "link", version: SYNC_VERSION, nonce: this.#nonce };
    this.#channel.send(encodeMessage(own));
  }

  #check(proof: Uint8Array, bytes: Uint8Array): void {
    const { app = "", nonce: theirs = new Uint8Array() } = this.#hello ?? {};
    const secret = this.#host.secretOf(app);
    const nonces = { dial: theirs, accept: this.#nonce };
    const proofBytes = linkProofBytes({ app, side: "dial", nonces });
    // Without a secret the proof of a random one is computed, which takes the same time.
    const expected = hmacOf(secret ?? this.#host.random(NONCE_SIZE), proofBytes);
    const isEqual = proof.length === expected.length && timingSafeEqual(proof, expected);
    if (secret === undefined || !isEqual || !this.#host.admits(this.remoteAddress, app, secret)) {
      return this.dismiss({ code: "unauthorized", message: UNKNOWN });
    }
    this.#phase = "over";
    this.#channel.pause();
    const { remoteAddress } = this;
    const heard = [...this.#heard, bytes];
    this.#host.proven(this, {
      channel: this.#channel,
      appId: app,
      remoteAddress,
      nonce: this.#nonce,
      heard,
      isPassedOn: this.#isPassedOn,
    });
  }
}

/** The HMAC that proves the knowledge of a secret (S48). */
export function hmacOf(secret: string | Uint8Array, bytes: Uint8Array): Uint8Array {
  return createHmac("sha256", secret).update(bytes).digest();
}
