/**
 * Somebody who calls the replication port and speaks message by message, so that a test can say what
 * no Big Peer would.
 */

import { createHmac } from "node:crypto";
import { type LinkSide, linkProofBytes } from "@bigpeer/engine/link";
import {
  decodeLinkMessage,
  encodeMessage,
  type LinkHello,
  type LinkMessage,
  SYNC_VERSION,
} from "@bigpeer/protocol";
import { vi } from "vitest";
import { RawSocket } from "./sync-client.ts";

export const CALLER_NONCE: Uint8Array = new Uint8Array(32).fill(7);

export class LinkCaller {
  readonly socket: RawSocket;
  #taken = 0;

  constructor(socket: RawSocket) {
    this.socket = socket;
  }

  /** `url` is that of the replication port, in HTTP. */
  static async dial(url: string): Promise<LinkCaller> {
    return new LinkCaller(await RawSocket.open(`${url.replace(/^http/, "ws")}/link`));
  }

  say(message: LinkMessage): void {
    this.socket.send(encodeMessage(message));
  }

  greet(app: string, changes: Partial<LinkHello> = {}): void {
    this.say({ t: "link", version: SYNC_VERSION, app, nonce: CALLER_NONCE, ...changes });
  }

  /** Greets and proves that it knows `secret`, right or wrong. */
  async prove(app: string, secret: string, side: LinkSide = "dial"): Promise<void> {
    this.greet(app);
    const hello = await this.next();
    if (hello?.t !== "link") throw new Error(`expected link, found ${hello?.t}`);
    const nonces = { dial: CALLER_NONCE, accept: hello.nonce };
    const bytes = linkProofBytes({ app, side, nonces });
    this.say({ t: "proof", proof: createHmac("sha256", secret).update(bytes).digest() });
  }

  /** The next message; undefined when the connection ends before one. */
  async next(): Promise<LinkMessage | undefined> {
    const { socket } = this;
    await vi.waitFor(
      () => {
        const isThere = socket.received.length > this.#taken || socket.isClosed;
        if (!isThere) throw new Error("expected a message, or the end");
      },
      { timeout: 30_000, interval: 5 },
    );
    const bytes = socket.received[this.#taken];
    if (bytes === undefined) return undefined;
    this.#taken++;
    return decodeLinkMessage(bytes);
  }
}
