/**
 * Who is there: what the server lists, what its host was told and what those who watch know, against
 * the peers that are connected. It has to be the same when the network is quiet: who is gone without
 * a word is found to be so by silence (S5).
 */

import type { PresentPeer, ValueObject } from "@bigpeer/protocol";
import type { Presence } from "../../src/peer/session-state.ts";
import type { HostedConnection } from "../../src/sync/connection/connection-host.ts";
import { PRESENCE_LIMITS } from "../../src/sync/device/presence-limits.ts";
import type { SyncServer } from "../../src/sync/sync-server.ts";
import { valueText } from "../support/dump.ts";
import type { SimPeer } from "./sim-peer.ts";
import type { SimServer } from "./sim-server.ts";
import type { World } from "./world.ts";

/** A peer that is there, as all should see it. */
interface Present {
  readonly session: number;
  readonly key: string;
  readonly credential: string;
  readonly metadata: ValueObject;
}

/** What does not hold, and how it shows. */
export interface PresenceFault {
  readonly invariant: string;
  readonly detail: string;
}

export class SimPresence {
  readonly #world: World;
  readonly #machine: SimServer;
  /** What the host of the server was told, by session. */
  readonly #reported = new Map<number, Present>();

  /** A machine lists its own sessions. */
  constructor(world: World, machine: SimServer) {
    this.#world = world;
    this.#machine = machine;
    machine.onUp = (sync) => this.#follow(sync);
  }

  /** A server begins: it knows nobody, and nobody was told to have left. */
  #follow(sync: SyncServer): void {
    const { life } = this.#machine.node;
    this.#reported.clear();
    sync.onPeers(({ report, kind }) => {
      if (!life.isAlive) return;
      const { session, credential, description } = report;
      const { key, metadata } = description;
      this.#checkOrder(session, kind);
      if (kind === "left") this.#reported.delete(session);
      else this.#reported.set(session, { session, key, credential, metadata });
    });
  }

  #checkOrder(session: number, kind: string): void {
    if (this.#reported.has(session) !== (kind === "joined")) return;
    const { scheduler } = this.#world;
    scheduler.fail("[S40] who joins was not there, and who leaves was", `${kind} ${session}`);
  }

  /** Undefined when all know who is there. */
  fault(): PresenceFault | undefined {
    const { peers } = this.#world;
    const present = this.#present();
    const expected = textOf(present);
    const listed = textOf(
      (this.#machine.sync?.peers() ?? []).map(({ session, credential, description }) => {
        const { key, metadata } = description;
        return { session, key, credential, metadata };
      }),
    );
    if (listed !== expected) {
      const detail = `listed\n  ${listed}\nconnected\n  ${expected}`;
      return { invariant: "[S40] the server lists who is connected", detail };
    }
    const reported = textOf([...this.#reported.values()].sort((a, b) => a.session - b.session));
    if (reported !== expected) {
      const detail = `told\n  ${reported}\nconnected\n  ${expected}`;
      return { invariant: "[S40] the host is told who is connected", detail };
    }
    for (const peer of peers) {
      if (this.#isElsewhere(peer)) continue;
      const detail = peer.device.isWatching ? this.#wrongAt(peer, present) : undefined;
      if (detail !== undefined) {
        return { invariant: "[S41] who watches knows who is there", detail };
      }
    }
    return undefined;
  }

  /** What a peer that watches does not know; undefined when it knows all. */
  #wrongAt(peer: SimPeer, present: readonly Present[]): string | undefined {
    const { listedPeers = PRESENCE_LIMITS.listedPeers } = this.#machine.limits;
    const isOther = ({ key, credential }: Present): boolean =>
      key !== peer.device.key || credential !== peer.credential.name;
    const total = present.filter(isOther).length;
    const first = present.slice(0, listedPeers).filter(isOther);
    const expected = `${total} ${first.map(presentText).join("\n  ")}`;
    const found = knownText(peer.running?.sync.presence);
    if (found !== expected) return `${peer.name} knows\n  ${found}\nnot\n  ${expected}`;
    const reported = knownText(peer.device.reported);
    return reported === expected ? undefined : `the app on ${peer.name} was told\n  ${reported}`;
  }

  /** Of each key and credential the newest session that both sides hold, in their order. */
  #present(): Present[] {
    const byIdentity = new Map<string, Present>();
    for (const peer of this.#world.peers) {
      const session = this.#sessionOf(peer);
      if (session === undefined) continue;
      const { key, metadata } = peer.device;
      const { name: credential } = peer.credential;
      const identity = JSON.stringify([key, credential]);
      const other = byIdentity.get(identity);
      if (other !== undefined && other.session > session) continue;
      byIdentity.set(identity, { session, key, credential, metadata });
    }
    return [...byIdentity.values()].sort((a, b) => a.session - b.session);
  }

  #isElsewhere(peer: SimPeer): boolean {
    const others = this.#world.server.machines.filter((machine) => machine !== this.#machine);
    return others.some((machine) => this.#sessionOf(peer, machine) !== undefined);
  }

  #sessionOf(peer: SimPeer, machine = this.#machine): number | undefined {
    if (peer.running?.sync.status().phase !== "open") return undefined;
    const found = machine.sessions.find(({ end, dialler }) => {
      const { client } = end.connection;
      const isHeld = !end.isClosed && !client.isClosed && client.life?.isAlive === true;
      return dialler === peer.name && isHeld;
    });
    return found === undefined ? undefined : (found.connection as HostedConnection).session;
  }
}

function knownText(presence: Presence | undefined): string {
  if (presence?.isConnected !== true) return "nothing";
  const peers = [...presence.peers].sort((a, b) => a.session - b.session);
  return `${presence.total} ${peers.map(presentText).join("\n  ")}`;
}

function textOf(present: readonly Present[]): string {
  return present.map((each) => `${presentText(each)} by ${each.credential}`).join("\n  ");
}

function presentText({ session, key, metadata }: Present | PresentPeer): string {
  return `${session} ${key} ${valueText(metadata).slice(0, 200)}`;
}
