/**
 * A device that is nothing but a connection: it says hello, answers pings and may say something else
 * of itself. Thousands of them may come and go in one process.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { SyncClient } from "../../../server/test/support/sync-client.ts";

export interface DeviceServer {
  readonly url: string;
  readonly appId: string;
  readonly apiKey: string;
}

export class RawDevice {
  readonly key: string;
  readonly #client: SyncClient;
  metadata: ValueObject;

  private constructor(client: SyncClient, key: string, metadata: ValueObject) {
    this.#client = client;
    this.key = key;
    this.metadata = metadata;
  }

  /** Resolves when it was welcomed; rejects when it was not. */
  static async connect(
    { url, appId, apiKey }: DeviceServer,
    key: string,
    metadata: ValueObject,
  ): Promise<RawDevice> {
    const peer = { key, deviceName: "raw", os: "test", sdk: "none", metadata };
    const client = await SyncClient.greet(url, apiKey, { path: `/${appId}/sync` }, { peer });
    await client.nextOf("welcome");
    const device = new RawDevice(client, key, metadata);
    void device.#listen();
    return device;
  }

  setMetadata(metadata: ValueObject): void {
    this.metadata = metadata;
    this.#client.send({ t: "metadata", metadata });
  }

  /** In order, and resolves when it is over. */
  async leave(): Promise<void> {
    this.#client.send({ t: "bye", code: "stopped", message: "the device stops" });
    await this.#client.closed();
  }

  /** Without a word. */
  cut(): void {
    this.#client.cut();
  }

  async #listen(): Promise<void> {
    for (;;) {
      const message = await this.#client.next();
      if (message === undefined) return;
      if (message.t !== "ping") continue;
      this.#client.send({ t: "pong", ping: message.now, now: Date.now() });
    }
  }
}
