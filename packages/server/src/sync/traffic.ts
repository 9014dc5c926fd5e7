/**
 * Traffic: how many messages of which kind went over the connections of all peers, and their bytes.
 */

import type { PeerMessage, ServerMessage } from "@bigpeer/protocol";

/** What is told apart of one direction. */
export interface TrafficCount {
  /** By kind; `other` for what is none, or does not say so first. */
  readonly frames: ReadonlyMap<string, number>;
  readonly bytes: number;
}

export class TrafficMeter implements TrafficCount {
  readonly frames: Map<string, number> = new Map();
  bytes = 0;

  /** Counts a message. On the way of each, so that it does no more than that. */
  add(kind: string, size: number): void {
    this.frames.set(kind, (this.frames.get(kind) ?? 0) + 1);
    this.bytes += size;
  }
}

/** All that there are: the compiler knows. */
const KINDS: { readonly [kind in (PeerMessage | ServerMessage)["t"]]: true } = {
  hello: true,
  subscribe: true,
  unsubscribe: true,
  want: true,
  upload: true,
  site: true,
  token: true,
  metadata: true,
  watch: true,
  answer: true,
  ping: true,
  pong: true,
  bye: true,
  welcome: true,
  subscribed: true,
  unsubscribed: true,
  documents: true,
  versions: true,
  complete: true,
  behind: true,
  committed: true,
  forked: true,
  rights: true,
  presence: true,
  run: true,
  cancel: true,
};

/** The longest name of a kind whose length fits into the byte before it. */
const NAME_SIZE_MAX = 23;

/**
 * The kind of a message without reading it: a map of CBOR that begins with `t`, as everybody writes
 * it. To count is all that it is good for.
 */
export function kindOf(bytes: Uint8Array): string {
  const size = (bytes[3] ?? 0) - 0x60;
  const isKind = bytes[1] === 0x61 && bytes[2] === 0x74 && size > 0 && size <= NAME_SIZE_MAX;
  if (!isKind) return "other";
  let name = "";
  for (let i = 4; i < 4 + size; i++) name += String.fromCharCode(bytes[i] ?? 0);
  return Object.hasOwn(KINDS, name) ? name : "other";
}
