/**
 * Peer messages: what nodes of a cluster send each other about the peers that are connected to
 * them, and its decoding.
 *
 * Messages come over a bus that may lose and reorder them. Each feed, the peers of an app on a node
 * while it is open there, numbers its messages, so that a receiver notices a gap.
 */

import type { PeerReport } from "@bigpeer/engine/sync";
import { isArray, isObject, type Value, type ValueObject } from "@bigpeer/protocol";

/** Progress and traffic of a session, which change more often than the rest of its report. */
export type PeerState = Pick<PeerReport, "session" | "progress" | "traffic">;

/** Changes of a feed. */
export interface PeerMessage {
  readonly node: string;
  /** Identifies the feed: another one after the app was closed, or the node restarted. */
  readonly feed: string;
  /** Counts the messages of the feed from 1. */
  readonly sequence: number;
  /** Peers that connected or changed. */
  readonly peers: readonly PeerReport[];
  readonly states: readonly PeerState[];
  /** Sessions that ended. */
  readonly left: readonly number[];
  /** The app was closed on the node: the feed has ended. */
  readonly isEnd: boolean;
}

/** A part of all peers of a feed. */
export interface PeerPage {
  /** Empty if the app is not open on the node. */
  readonly feed: string;
  /** The last message whose changes the page has. */
  readonly sequence: number;
  /** Ordered by their sessions. */
  readonly peers: readonly PeerReport[];
  /** There are more peers, after this session. */
  readonly next?: number;
}

/** How far the feed of an app is, for receivers that have missed its last messages. */
export interface FeedPosition {
  readonly appId: string;
  readonly feed: string;
  readonly sequence: number;
  /** The node that evaluates the app, as far as the sender knows; absent without peers. */
  readonly evaluator?: string;
}

/** Undefined if it is not a message. */
export function peerMessageIn(value: Value): PeerMessage | undefined {
  if (!isObject(value)) return undefined;
  const { node, feed, sequence, peers, states, left, isEnd } = value;
  if (typeof node !== "string" || typeof feed !== "string") return undefined;
  if (typeof sequence !== "number" || typeof isEnd !== "boolean") return undefined;
  return {
    node,
    feed,
    sequence,
    isEnd,
    peers: elementsOf(peers).filter(isReport),
    states: elementsOf(states).filter(isState),
    left: elementsOf(left).filter((each) => typeof each === "number"),
  };
}

/** Undefined if it is not a page. */
export function peerPageIn(value: Value): PeerPage | undefined {
  if (!isObject(value)) return undefined;
  const { feed, sequence, peers, next } = value;
  if (typeof feed !== "string" || typeof sequence !== "number") return undefined;
  const reports = elementsOf(peers).filter(isReport);
  return { feed, sequence, peers: reports, ...(typeof next === "number" && { next }) };
}

export function positionsIn(value: Value | undefined): FeedPosition[] {
  const positions: FeedPosition[] = [];
  for (const each of elementsOf(value)) {
    if (!isObject(each)) continue;
    const { appId, feed, sequence, evaluator } = each;
    if (typeof appId !== "string" || typeof feed !== "string") continue;
    if (typeof sequence !== "number") continue;
    positions.push({
      appId,
      feed,
      sequence,
      ...(typeof evaluator === "string" && { evaluator }),
    });
  }
  return positions;
}

/** A text of a call; empty if it is none. */
export function textIn(value: Value | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A message or page as a value; it has no undefined fields. */
export function valueOf(message: PeerMessage | PeerPage | FeedPosition): ValueObject {
  return message as unknown as ValueObject;
}

function elementsOf(value: Value | undefined): readonly Value[] {
  return value !== undefined && isArray(value) ? value : [];
}

/** Nodes trust each other: this finds reports of another version, not wrong ones. */
function isReport(value: Value): value is Value & PeerReport {
  if (!isState(value)) return false;
  const { description, identity, credential, sinceMs, subscriptions } = value as ValueObject;
  const isDescribed = isObject(description ?? null) && isObject(identity ?? null);
  const isListed = subscriptions !== undefined && isArray(subscriptions);
  return isDescribed && isListed && typeof credential === "string" && typeof sinceMs === "number";
}

function isState(value: Value): value is Value & PeerState {
  if (!isObject(value)) return false;
  const { session, progress, traffic } = value;
  return typeof session === "number" && isObject(progress ?? null) && isObject(traffic ?? null);
}
