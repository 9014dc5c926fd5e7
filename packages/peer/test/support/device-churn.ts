/**
 * Devices that come and go, and the truth about them: who is connected, and what each that ever was
 * has said of itself last.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { ValueObject } from "@bigpeer/protocol";
import { type DeviceServer, RawDevice } from "./raw-device.ts";

/** What is true of a device. */
export interface DeviceTruth {
  readonly key: string;
  readonly metadata: ValueObject;
}

export class DeviceChurn {
  readonly #server: DeviceServer;
  /** The connection of each that is there: the newest. */
  readonly #connected = new Map<string, RawDevice>();
  /** What those said last that are not. */
  readonly #left = new Map<string, ValueObject>();
  #count = 0;
  connects = 0;
  disconnects = 0;

  constructor(server: DeviceServer) {
    this.#server = server;
  }

  get connected(): DeviceTruth[] {
    return Array.from(this.#connected.values(), ({ key, metadata }) => ({ key, metadata }));
  }

  get left(): DeviceTruth[] {
    return Array.from(this.#left, ([key, metadata]) => ({ key, metadata }));
  }

  /** Devices that nobody has seen come. */
  async grow(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#connect(this.#newKey());
  }

  /** As many come as go, one of each in every so many milliseconds. */
  async run(times: number, everyMs: number): Promise<void> {
    const startMs = performance.now();
    for (let i = 0; i < times; i++) {
      await wait(startMs + i * everyMs - performance.now());
      const chance = Math.random();
      // Now and then one comes that is there already: it takes its own place.
      if (chance < 0.1) await this.#replace();
      else {
        await this.#connect(chance < 0.6 ? this.#newKey() : (this.#pick(this.#left) ?? "first"));
        await this.#disconnect(this.#pick(this.#connected) ?? "");
      }
      if (chance > 0.8)
        this.#connected.get(this.#pick(this.#connected) ?? "")?.setMetadata(this.#newMetadata());
    }
  }

  /** All of them, so that nothing is left open. */
  end(): void {
    for (const device of this.#connected.values()) device.cut();
  }

  async #connect(key: string): Promise<void> {
    const device = await RawDevice.connect(this.#server, key, this.#newMetadata());
    this.#connected.set(key, device);
    this.#left.delete(key);
    this.connects++;
  }

  async #replace(): Promise<void> {
    const former = this.#connected.get(this.#pick(this.#connected) ?? "");
    if (former === undefined) return;
    await this.#connect(former.key);
    await this.#close(former);
  }

  async #disconnect(key: string): Promise<void> {
    const device = this.#connected.get(key);
    if (device === undefined) return;
    this.#connected.delete(key);
    this.#left.set(key, device.metadata);
    await this.#close(device);
  }

  async #close(device: RawDevice): Promise<void> {
    this.disconnects++;
    if (Math.random() < 0.5) device.cut();
    else await device.leave();
  }

  #pick(devices: ReadonlyMap<string, unknown>): string | undefined {
    return Array.from(devices.keys())[Math.floor(Math.random() * devices.size)];
  }

  #newKey(): string {
    return `device-${++this.#count}`;
  }

  #newMetadata(): ValueObject {
    return { n: ++this.#count, text: "m".repeat(Math.floor(Math.random() * 100)) };
  }
}
