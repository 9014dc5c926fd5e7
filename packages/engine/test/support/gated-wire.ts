/**
 * A wire in memory between one peer and a server, both of them real, with gates: what the server sends
 * waits in its queue until the test takes it, and is on its way until the test lets it arrive.
 */

import type { DialHandle, DialHandlers } from "../../src/peer/peer-sync.ts";
import type { ServerConnection } from "../../src/sync/connection/connection-host.ts";
import type { SyncServer } from "../../src/sync/sync-server.ts";
import { turns } from "./open-streams.ts";

interface Line {
  readonly connection: ServerConnection;
  readonly handlers: DialHandlers;
  /** Not taken by the network, and taken but not arrived. */
  readonly queue: Uint8Array[];
  readonly flying: Uint8Array[];
}

export class GatedWire {
  readonly #server: SyncServer;
  #line: Line | undefined;
  /** Whether everything arrives by itself. */
  isOpen = true;

  constructor(server: SyncServer) {
    this.#server = server;
  }

  readonly dial = (handlers: DialHandlers): DialHandle => {
    const queue: Uint8Array[] = [];
    const flying: Uint8Array[] = [];
    const channel = {
      send: (bytes: Uint8Array): void => {
        queue.push(bytes);
        if (this.isOpen) setImmediate(() => this.#flow(line));
      },
      get queuedBytes(): number {
        return queue.reduce((sum, { length }) => sum + length, 0);
      },
      close: () => setImmediate(() => this.#end(line)),
    };
    const line: Line = { connection: this.#server.connect(channel), handlers, queue, flying };
    this.#line = line;
    const later = (work: () => void): void => {
      setImmediate(() => {
        if (this.#line === line) work();
      });
    };
    later(() =>
      handlers.opened({
        send: (bytes) => later(() => line.connection.receive(bytes)),
        queuedBytes: 0,
        close: () => later(() => this.#end(line)),
      }),
    );
    return { close: () => later(() => this.#end(line)) };
  };

  get connection(): ServerConnection | undefined {
    return this.#line?.connection;
  }

  get queued(): number {
    return this.#line?.queue.length ?? 0;
  }

  get flying(): number {
    return this.#line?.flying.length ?? 0;
  }

  /** The network takes so many frames from the queue. */
  take(count: number): void {
    const line = this.#line;
    if (line === undefined) return;
    line.flying.push(...line.queue.splice(0, count));
    line.connection.drained();
  }

  /** So many frames arrive, and the peer has done with them what it does. */
  async arrive(count: number): Promise<void> {
    const line = this.#line;
    for (const frame of line?.flying.splice(0, count) ?? []) line?.handlers.message(frame);
    await turns();
  }

  /** Everything arrives, from now on too. */
  async open(): Promise<void> {
    this.isOpen = true;
    if (this.#line !== undefined) this.#flow(this.#line);
    await turns();
  }

  shut(): void {
    this.isOpen = false;
  }

  cut(): void {
    const line = this.#line;
    if (line === undefined) return;
    this.#end(line);
    line.handlers.closed("reset");
  }

  #flow(line: Line): void {
    if (!this.isOpen || this.#line !== line) return;
    for (const frame of line.flying.splice(0)) line.handlers.message(frame);
    const frames = line.queue.splice(0);
    for (const frame of frames) if (this.#line === line) line.handlers.message(frame);
    if (frames.length > 0 && this.#line === line) line.connection.drained();
  }

  #end(line: Line): void {
    if (this.#line !== line) return;
    this.#line = undefined;
    line.connection.closed();
  }
}
