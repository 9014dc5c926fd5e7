/**
 * Held apps: keeps the apps of a cluster that have links open on this node, so that one of the nodes
 * evaluates each of them. An app that is closed, or cannot be opened now, is opened again later.
 */

import type { AppUse } from "../apps/open-apps.ts";

export interface HeldAppsHost {
  use(id: string): Promise<AppUse>;
  /** On a monotonic clock. */
  elapsed(): number;
  /** Called when an app could not be opened. */
  fault(id: string, error: unknown): void;
}

const RETRY_MS = 10_000;

export class HeldApps {
  readonly #host: HeldAppsHost;
  readonly #uses = new Map<string, Promise<AppUse | undefined>>();
  #wanted: readonly string[] = [];
  /** When the apps that are not open are opened again; infinite if there are none. */
  #retryMs = Number.POSITIVE_INFINITY;

  constructor(host: HeldAppsHost) {
    this.#host = host;
  }

  /** Keeps these apps open from now on, and no others. */
  hold(ids: readonly string[]): void {
    this.#wanted = ids;
    for (const id of this.#uses.keys()) if (!ids.includes(id)) this.#letGo(id);
    for (const id of ids) if (!this.#uses.has(id)) this.#uses.set(id, this.#open(id));
  }

  /** Call before an app is closed. */
  closing(id: string): void {
    if (this.#uses.has(id)) this.#openLater(id);
  }

  /** Call about once a second. */
  tick(): void {
    if (this.#host.elapsed() < this.#retryMs) return;
    this.#retryMs = Number.POSITIVE_INFINITY;
    this.hold(this.#wanted);
  }

  /** Never rejects. */
  async #open(id: string): Promise<AppUse | undefined> {
    try {
      return await this.#host.use(id);
    } catch (error) {
      this.#openLater(id);
      this.#host.fault(id, error);
      return undefined;
    }
  }

  #openLater(id: string): void {
    this.#letGo(id);
    this.#retryMs = Math.min(this.#retryMs, this.#host.elapsed() + RETRY_MS);
  }

  #letGo(id: string): void {
    const use = this.#uses.get(id);
    this.#uses.delete(id);
    void use?.then((held) => held?.release());
  }
}
