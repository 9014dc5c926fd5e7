/**
 * Membership: the nodes of a cluster that are alive, by their heartbeats.
 *
 * A heartbeat renews the lease of its node: other nodes may take over the work of one that was not
 * heard for LEASE_MS. It is a sign of life only: who may write is decided by the log. A node that
 * closes says so, and its lease ends at once.
 */

import { OLDEST_ENTRY_FORMAT } from "@bigpeer/engine/cluster";
import { isArray, isObject, type Value } from "@bigpeer/protocol";
import type { Bus } from "./bus.ts";

const HEARTBEAT_MS = 500;

/** How long a node is believed to be alive after its last heartbeat. */
export const LEASE_MS = 3_000;

/** After this time a node that has started knows the others. */
const SETTLED_MS = 1_500;

const TOPIC = "nodes";

/** Nodes that are remembered, those that are gone included. */
const NODES_MAX = 1_000;

/** What a node tells about itself. */
export interface NodeInfo {
  readonly node: string;
  /** Different after each start. */
  readonly instance: string;
  /** Where other nodes reach it. */
  readonly url: string;
  readonly version: string;
  /** The newest format of log entries that it reads. */
  readonly entryFormat: number;
  /** Its wall clock. */
  readonly nowMs: number;
  readonly isClosing: boolean;
  /** Names of nodes that it does not reach over HTTP. */
  readonly unreached: readonly string[];
  /** Whether it leaves evaluating to others, because too many of them do not reach it. */
  readonly isHardToReach: boolean;
}

export interface MembershipHost {
  readonly bus: Bus;
  readonly self: () => NodeInfo;
  readonly elapsed: () => number;
  readonly now: () => number;
  /** How long a node may be away and still find in the log what it lacks. */
  readonly awayMs: number;
  /** Called when another process has the name of this node. */
  readonly onTwin?: (info: NodeInfo) => void;
}

interface Heard {
  readonly info: NodeInfo;
  readonly atMs: number;
  /** How far its wall clock is ahead of the one here. */
  readonly aheadMs: number;
}

export class Membership {
  readonly #host: MembershipHost;
  readonly #others = new Map<string, Heard>();
  readonly #stop: () => void;
  readonly #timer: NodeJS.Timeout;
  /** When the own heartbeat came back last, and since when without a gap of a lease. */
  #echoMs = Number.NEGATIVE_INFINITY;
  #echoSinceMs = Number.NEGATIVE_INFINITY;

  constructor(host: MembershipHost) {
    this.#host = host;
    this.#stop = host.bus.subscribe(TOPIC, (value) => this.#hear(value));
    this.#timer = setInterval(() => this.announce(), HEARTBEAT_MS);
    this.#timer.unref();
    this.announce();
  }

  /**
   * Whether every node that is alive has been heard: the bus has delivered the own heartbeats for
   * long enough. False after this node was cut off from the bus.
   */
  get isComplete(): boolean {
    return this.#connectedMs >= SETTLED_MS;
  }

  /**
   * Whether a node that was heard has died, closes, or was started again. A node that is silent
   * because this one is cut off from the bus has not died.
   */
  isGone(node: string, instance: string): boolean {
    const heard = this.#others.get(node);
    if (heard?.info.instance !== instance || heard.info.isClosing) return true;
    return !this.#isAlive(heard) && this.#connectedMs >= LEASE_MS;
  }

  /** Other nodes that are alive and do not close. */
  get others(): readonly NodeInfo[] {
    return Array.from(this.#others.values())
      .filter((heard) => this.#isAlive(heard))
      .map(({ info }) => info);
  }

  /** Another node, if it is alive. */
  find(node: string): NodeInfo | undefined {
    const heard = this.#others.get(node);
    return heard !== undefined && this.#isAlive(heard) ? heard.info : undefined;
  }

  /** Every node that was heard since the start, and how long ago. */
  heard(): readonly { readonly info: NodeInfo; readonly agoMs: number }[] {
    const nowMs = this.#host.elapsed();
    return Array.from(this.#others.values(), ({ info, atMs }) => {
      return { info, agoMs: nowMs - atMs };
    });
  }

  /**
   * The newest format of log entries that every node reads, so that no node stops at an entry while
   * versions are mixed. A node that is away counts too: it will follow the log when it is back. While
   * this node may not know all others, it is the oldest format.
   */
  get entryFormat(): number {
    if (!this.isComplete) return OLDEST_ENTRY_FORMAT;
    const { self, awayMs } = this.#host;
    const others = this.heard().filter(({ agoMs }) => agoMs < awayMs);
    return Math.min(self().entryFormat, ...others.map(({ info }) => info.entryFormat));
  }

  /**
   * How far the clock here is from the median of the other nodes; 0 without others. Of two in the
   * middle the nearer one counts: with their mean, one wrong clock among three would stop all nodes.
   */
  get clockOffsetMs(): number {
    const ahead = Array.from(this.#others.values())
      .filter((heard) => this.#isAlive(heard))
      .map(({ aheadMs }) => aheadMs)
      .toSorted((a, b) => a - b);
    const middle = (ahead.length - 1) / 2;
    const [low = 0, high = 0] = [ahead[Math.floor(middle)], ahead[Math.ceil(middle)]];
    return -(Math.abs(low) < Math.abs(high) ? low : high);
  }

  announce(): void {
    const { unreached, ...info } = this.#host.self();
    this.#host.bus.publish(TOPIC, { ...info, unreached: [...unreached] });
  }

  close(): void {
    clearInterval(this.#timer);
    this.announce();
    this.#stop();
  }

  #hear(value: Value): void {
    const info = infoOf(value);
    if (info === undefined) return;
    const self = this.#host.self();
    if (info.node === self.node) {
      if (info.instance === self.instance) this.#noteEcho();
      else if (!info.isClosing) this.#host.onTwin?.(info);
      return;
    }
    const isNew = this.#others.get(info.node)?.info.instance !== info.instance;
    const aheadMs = info.nowMs - this.#host.now();
    this.#remember({ info, atMs: this.#host.elapsed(), aheadMs });
    // A node that has just started wants to know who is there.
    if (isNew) this.announce();
  }

  /** The map has the node that was heard last at its end. */
  #remember(heard: Heard): void {
    const { node } = heard.info;
    this.#others.delete(node);
    this.#others.set(node, heard);
    const [first] = this.#others.keys();
    if (this.#others.size > NODES_MAX && first !== undefined) this.#others.delete(first);
  }

  #noteEcho(): void {
    const nowMs = this.#host.elapsed();
    if (nowMs - this.#echoMs >= LEASE_MS) this.#echoSinceMs = nowMs;
    this.#echoMs = nowMs;
  }

  /** How long the own heartbeats have come back without a gap. */
  get #connectedMs(): number {
    const nowMs = this.#host.elapsed();
    return nowMs - this.#echoMs < LEASE_MS ? nowMs - this.#echoSinceMs : 0;
  }

  #isAlive({ info, atMs }: Heard): boolean {
    return !info.isClosing && this.#host.elapsed() - atMs < LEASE_MS;
  }
}

function infoOf(value: Value): NodeInfo | undefined {
  if (!isObject(value)) return undefined;
  const { node, instance, url, version, entryFormat, nowMs, isClosing } = value;
  const isNamed = [node, instance, url, version].every((each) => typeof each === "string");
  const isCounted = typeof entryFormat === "number" && typeof nowMs === "number";
  const isWhole = typeof isClosing === "boolean";
  if (!isNamed || !isCounted || !isWhole) return undefined;
  // Nodes of an older version do not tell.
  const { unreached = [], isHardToReach = false } = value;
  const isReport = isArray(unreached) && unreached.every((each) => typeof each === "string");
  const reach = { unreached: isReport ? unreached : [], isHardToReach: isHardToReach === true };
  return { ...value, ...reach } as unknown as NodeInfo;
}
