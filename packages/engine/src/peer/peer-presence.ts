/**
 * Peer presence: sends the metadata of a peer and tracks the other peers of its app (S40, S41). The
 * server sends presence only while the app observes it. Without a connection the list is empty.
 */

import type { PresenceMessage, ValueObject } from "@bigpeer/protocol";
import {
  isLinked,
  type Linked,
  type PeerState,
  type Presence,
  type StepContext,
  withLink,
} from "./session-state.ts";

const OFFLINE: Presence = { isConnected: false, total: 0, peers: [] };
const NOT_KNOWN_YET: Presence = { isConnected: true, total: 0, peers: [] };

/** Sets the metadata. The server receives it now, in `hello`, or right after `welcome`. */
export function takeMetadata(
  state: PeerState,
  metadata: ValueObject,
  context: StepContext,
): PeerState {
  if (isLinked(state)) sendMetadata(metadata, context);
  return { ...state, description: { ...state.description, metadata } };
}

function sendMetadata(metadata: ValueObject, context: StepContext): void {
  context.actions.push({ kind: "send", message: { t: "metadata", metadata } });
}

/** Sends metadata that changed between `hello` and `welcome`, when it may not be sent (S2). */
export function catchUpMetadata({ description, phase }: PeerState, context: StepContext): void {
  if (phase.name !== "greeting" || phase.metadata === description.metadata) return;
  sendMetadata(description.metadata, context);
}

export function takeWatch(state: PeerState, isOn: boolean, context: StepContext): PeerState {
  if (state.isWatching === isOn) return state;
  const next = { ...state, isWatching: isOn };
  if (!isLinked(next) || next.phase.name !== "open") return next;
  context.actions.push({ kind: "send", message: { t: "watch", isOn } });
  return withLink(next, { present: undefined });
}

/** Sends `watch` on a new connection, if the app observes presence. */
export function sendWatch({ isWatching }: PeerState, context: StepContext): void {
  if (isWatching) context.actions.push({ kind: "send", message: { t: "watch", isOn: true } });
}

/** Applies a presence message. Pieces before the first `isWhole` belong to an earlier `watch`. */
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

/** The current presence: the same object until something changes. */
export function presenceOf({ phase }: PeerState): Presence {
  return phase.name === "open" ? (phase.link.present ?? NOT_KNOWN_YET) : OFFLINE;
}
