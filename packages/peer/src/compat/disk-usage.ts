/**
 * Disk usage: the bytes that an instance takes on this device.
 */

import { host } from "../this-host.ts";
import type { Instance } from "./instance.ts";
import { Logger } from "./logger.ts";
import { Observer } from "./observer.ts";

export interface DiskUsageItem {
  /** A folder has no children here: it is measured as a whole. */
  readonly fileType: "Directory";
  readonly path: string;
  readonly sizeInBytes: number;
}

/** How often an observer measures. */
const MEASURE_MS = 5_000;

export class DiskUsage {
  readonly #ditto: Instance;
  readonly #observers = new Set<Observer>();

  constructor(ditto: Instance) {
    this.#ditto = ditto;
  }

  /** Measures it. In a browser it is that of all pages of the origin. */
  async exec(): Promise<DiskUsageItem> {
    this.#ditto.checkOpen();
    await this.#ditto.opening.opened;
    const { absolutePersistenceDirectory: path } = this.#ditto;
    return { fileType: "Directory", path, sizeInBytes: await host.diskUse(path) };
  }

  /** The same, by the name of other SDKs. */
  get item(): Promise<DiskUsageItem> {
    return this.exec();
  }

  /** Calls a function with the current usage, then each time it has changed. */
  observe(callback: (usage: DiskUsageItem) => void): Observer {
    this.#ditto.checkOpen();
    let before: number | undefined;
    const measure = async (): Promise<void> => {
      const usage = await this.exec();
      if (observer.isStopped || usage.sizeInBytes === before) return;
      before = usage.sizeInBytes;
      callback(usage);
    };
    const look = (): void => {
      measure().catch((error: unknown) => Logger.debug(`failed to measure: ${String(error)}`));
    };
    const timer = setInterval(look, MEASURE_MS);
    const observer = new Observer(() => {
      clearInterval(timer);
      this.#observers.delete(observer);
    });
    this.#observers.add(observer);
    look();
    return observer;
  }

  /** Ends all observers. */
  close(): void {
    for (const observer of this.#observers) observer.stop();
  }
}
