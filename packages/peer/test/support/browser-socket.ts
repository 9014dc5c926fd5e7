/**
 * The WebSocket of a browser, played by that of Node: Node 20 has none of its own.
 */

import type { Channel } from "@bigpeer/engine";
import { dialWebSocket } from "../../src/node/web-socket.ts";
import type { FrameEvent, NativeSocket } from "../../src/web/native-socket.ts";

export class BrowserSocket implements NativeSocket {
  binaryType = "blob";
  readyState = 0;
  readonly #listeners = new Map<string, (event: FrameEvent) => void>();
  readonly #handle: { close(): void };
  #channel: Channel | undefined;

  constructor(url: string) {
    this.#handle = dialWebSocket(url, {
      opened: (channel) => {
        this.#channel = channel;
        this.readyState = 1;
        this.#emit("open");
      },
      message: (bytes) => this.#emit("message", Uint8Array.from(bytes).buffer),
      closed: () => {
        this.readyState = 3;
        this.#emit("close");
      },
    });
  }

  addEventListener(name: string, listener: (event: FrameEvent) => void): void {
    this.#listeners.set(name, listener);
  }

  #emit(name: string, data?: unknown): void {
    this.#listeners.get(name)?.({ data });
  }

  get bufferedAmount(): number {
    return this.#channel?.queuedBytes ?? 0;
  }

  send(bytes: Uint8Array): void {
    this.#channel?.send(bytes);
  }

  close(): void {
    this.readyState = 2;
    this.#handle.close();
  }
}
