/**
 * Waiting for a peer: for its connection, and for what it shows.
 */

import type { Peer, SyncStatus } from "../../src/index.ts";

export const TASKS = "SELECT * FROM tasks ORDER BY _id";

/** Waits until the status is such a one. */
export function whenStatus(peer: Peer, holds: (status: SyncStatus) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = peer.on("status", look);
    function look(status: SyncStatus): void {
      if (!holds(status)) return;
      stop();
      resolve();
    }
    look(peer.sync.status);
  });
}

export function whenConnected(peer: Peer): Promise<void> {
  return whenStatus(peer, ({ state }) => state === "connected");
}

/** Waits until the peer shows these tasks. */
export function whenTasks(peer: Peer, ids: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const observer = peer.store.registerObserver(TASKS, ({ items }) => {
      const found = items.map((item) => item["_id"]);
      if (JSON.stringify(found) !== JSON.stringify(ids)) return;
      observer.cancel();
      resolve();
    });
  });
}

export function insert(
  peer: Peer,
  _id: string,
  fields: object = {},
): ReturnType<Peer["store"]["execute"]> {
  return peer.store.execute("INSERT INTO tasks DOCUMENTS (:d)", { d: { _id, ...fields } });
}

export async function idsOf(peer: Peer): Promise<unknown[]> {
  const { items } = await peer.store.execute(TASKS);
  return items.map((item) => item["_id"]);
}
