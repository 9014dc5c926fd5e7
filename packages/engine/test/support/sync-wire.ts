/**
 * A wire in memory between peers and a server, all of them real: nothing arrives in the turn that sent
 * it, both directions keep their order, and it breaks when the test says so.
 */

import { decodeServerMessage, type ServerMessage } from "@bigpeer/protocol";
import type { DialHandle, DialHandlers } from "../../src/peer/peer-sync.ts";
import type { ServerConnection } from "../../src/sync/connection/connection-host.ts";
import type { SyncServer } from "../../src/sync/sync-server.ts";

export class Wire {
  readonly server: SyncServer;
  /** Those that are not over, as the server has them. */
  readonly connections = new Set<ServerConnection>();
  readonly #cuts = new Set<() => void>();
  /** Sees what the server says when it arrives; true lets the connection end right behind it. */
  isLast: (message: ServerMessage) => boolean = () => false;

  constructor(server: SyncServer) {
    this.server = server;
  }

  /** Both directions keep their order; nothing arrives in the turn that sent it. */
  readonly dial = (handlers: DialHandlers): DialHandle => {
    let isOver = false;
    const later = (work: () => void): void => {
      setImmediate(() => {
        if (!isOver) work();
      });
    };
    const end = (sendToPeer: boolean): void => {
      if (isOver) return;
      isOver = true;
      this.#cuts.delete(cut);
      this.connections.delete(connection);
      connection.closed();
      if (sendToPeer) handlers.closed("reset");
    };
    const cut = (): void => end(true);
    const connection = this.server.connect({
      send: (bytes) =>
        later(() => {
          handlers.message(bytes);
          if (this.isLast(decodeServerMessage(bytes))) cut();
        }),
      queuedBytes: 0,
      close: () => later(cut),
    });
    this.connections.add(connection);
    this.#cuts.add(cut);
    later(() =>
      handlers.opened({
        send: (bytes) => later(() => connection.receive(bytes)),
        queuedBytes: 0,
        close: () => later(() => end(false)),
      }),
    );
    return { close: () => later(() => end(false)) };
  };

  cutAll(): void {
    for (const cut of this.#cuts) cut();
  }
}
