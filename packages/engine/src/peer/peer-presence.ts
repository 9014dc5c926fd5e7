/**
 * Presence in a peer's session: what the peer says of itself, and what it is told of the others
 * (S40, S41). It is told only while somebody wants to know, and knows nothing without a connection.
 */

import type { PresenceMessage, ValueObject } from "@bigpeer/protocol";
import {
  isLinked,
  type Linked,
  type PeerState,
  type Presence,
  type Turn,
  withLink,
} from "./session-state.ts";

const OFFLINE: Presence = { isConnected: false, total: 0, peers: [] };
const UNTOLD: Presence = { isConnected: true, total: 0, peers: [] };

/** The server hears of it now, or in the hello, or right behind the welcome. */
export function takeMetadata(state: PeerState, metadata: ValueObject, turn: Turn): PeerState {
  if (isLinked(state)) sendMetadata(metadata, turn);
  return { ...state, description: { ...state.description, metadata } };
}

function sendMetadata(metadata: ValueObject, turn: Turn): void {
  turn.actions.push({ kind: "send", message: { t: "metadata", metadata } });
}

/** Between hello and welcome nothing may be said, but something may have changed. */
export function catchUpMetadata({ description, phase }: PeerState, turn: Turn): void {
  if (phase.name !== "greeting" || phase.metadata === description.metadata) return;
  sendMetadata(description.metadata, turn);
}

export function takeWatch(state: PeerState, isOn: boolean, turn: Turn): PeerState {
  if (state.isWatching === isOn) return state;
  const next = { ...state, isWatching: isOn };
  if (!isLinked(next) || next.phase.name !== "open") return next;
  turn.actions.push({ kind: "send", message: { t: "watch", isOn } });
  return withLink(next, { present: undefined });
}

/** A connection that is open knows nothing of who wants to know what. */
export function sendWatch({ isWatching }: PeerState, turn: Turn): void {
  if (isWatching) turn.actions.push({ kind: "send", message: { t: "watch", isOn: true } });
}

/** What comes before the mark of a whole list belongs to one that nobody waits for any more. */
export function takePresence(state: Linked, message: PresenceMessage): Linked {
  const { isWhole = false, total } = message;
  const { present } = state.phase.link;
  if (!state.isWatching || (present === undefined && !isWhole)) return state;
  const former = isWhole ? [] : (present?.peers ?? []);
  const peers = new Map(former.map((peer) => [peer.session, peer]));
  for (const peer of message.peers) peers.set(peer.session, peer);
  for (const session of message.gone) peers.delete(session);
  return withLink(state, { present: { isConnected: true, total, peers: [...peers.values()] } });
}

/** The same object as long as nothing changes. */
export function presenceOf({ phase }: PeerState): Presence {
  return phase.name === "open" ? (phase.link.present ?? UNTOLD) : OFFLINE;
}
