/**
 * A peer that speaks the sync protocol by hand, over a channel in memory.
 */

import {
  decodeServerMessage,
  encodeMessage,
  type Hello,
  type PeerMessage,
  type ServerMessage,
  SYNC_VERSION,
} from "@bigpeer/protocol";
import type { Channel, Platform } from "../../src/platform.ts";
import type { ServerConnection } from "../../src/sync/connection/connection-host.ts";
import type { AdmittedPeer } from "../../src/sync/session/greeting.ts";
import type { SyncServer } from "../../src/sync/sync-server.ts";

type MessageOf<K extends ServerMessage["t"]> = Extract<ServerMessage, { t: K }>;

/** Turns that are waited for something before it counts as missing. */
const TURNS_MAX = 2000;

export class SyncClient implements Channel {
  readonly #platform: Platform;
  readonly connection: ServerConnection;
  /** All that the server has said, in its order. */
  readonly heard: ServerMessage[] = [];
  isClosed = false;
  /** What a test says that waits on the way. */
  queuedBytes = 0;
  /** Whether what is sent waits until the test takes it. */
  isQueueing = false;
  #seen = 0;

  /** `peer`: if it was admitted already, and sends no `hello`. */
  constructor(server: SyncServer, platform: Platform, peer?: AdmittedPeer) {
    this.#platform = platform;
    this.connection = server.connect(this, peer);
  }

  send(bytes: Uint8Array): void {
    if (this.isQueueing) this.queuedBytes += bytes.length;
    if (!this.isClosed) this.heard.push(decodeServerMessage(bytes));
  }

  close(): void {
    this.isClosed = true;
  }

  say(...messages: readonly PeerMessage[]): void {
    for (const message of messages) this.connection.receive(encodeMessage(message));
  }

  /** The next message of a kind that was not asked for yet; those before it are passed over. */
  async next<K extends ServerMessage["t"]>(kind: K): Promise<MessageOf<K>> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      while (this.#seen < this.heard.length) {
        const message = this.heard[this.#seen++];
        if (message?.t === kind) return message as MessageOf<K>;
      }
      await this.#platform.pause();
    }
    const kinds = this.heard.map(({ t }) => t).join(", ");
    throw new Error(`expected ${kind}, heard ${kinds === "" ? "nothing" : kinds}`);
  }

  /** What was heard and not asked for yet. */
  rest(): ServerMessage[] {
    const rest = this.heard.slice(this.#seen);
    this.#seen = this.heard.length;
    return rest;
  }
}

export function helloOf(token: string, change: Partial<Hello> = {}): Hello {
  return {
    t: "hello",
    version: SYNC_VERSION,
    token,
    site: "00000000000000aa",
    peer: { key: "k", deviceName: "phone", os: "test", sdk: "test", metadata: {} },
    now: 0,
    ...change,
  };
}
