/**
 * World: a server with its peers and the network between them. It is all of a run, or one of several
 * linked sites.
 */

import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { lastNumberOf } from "../../src/store/upload.ts";
import { View } from "../../src/store/view.ts";
import type { LocalWrites } from "./local-writes.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SentUploads } from "./sent-uploads.ts";
import type { SimNetwork } from "./sim-network.ts";
import type { SimPeer } from "./sim-peer.ts";
import type { SimBackend } from "./sim-server.ts";
import { WireTap } from "./wire-tap.ts";

export interface World {
  readonly scheduler: Scheduler;
  readonly sent: SentUploads;
  readonly tap: WireTap;
  readonly server: SimBackend;
  readonly network: SimNetwork;
  readonly peers: readonly SimPeer[];
  readonly writes: LocalWrites;
  count(name: string): void;
}

/** Listens to a server and its peers. The server may be made after it. */
export function tapOf(world: Omit<World, "tap" | "network">): WireTap {
  const { scheduler, sent, peers, writes } = world;
  return new WireTap({
    scheduler,
    sent,
    oracle: () => world.server.oracle,
    credential: (token) => {
      return world.server.credentials.find(({ name }) => token.startsWith(`${name}@`));
    },
    restores: () => world.server.restores,
    serverMs: () => Math.min(...world.server.machines.map(({ node }) => node.nowMs)),
    queueBytes: () => world.server.limits.queueBytes ?? 0,
    diskOf: (name) => peers.find((peer) => peer.name === name)?.node.disk ?? {},
    unsent: (disk, site) => writes.unsent(disk, site, sent),
    known: (site, owner) => {
      const snapshot = new MemoryKeyValue(world.server.disk).snapshot();
      return lastNumberOf(new View(snapshot), site, owner);
    },
  });
}
