/**
 * Traffic: counts the messages on the connections of all peers by kind, and their bytes.
 */

import type { PeerMessage, ServerMessage } from "@bigpeer/protocol";
import type { TrafficCount } from "../observability/metric-sources.ts";

export class TrafficMeter implements TrafficCount {
  readonly frames: Map<string, number> = new Map();
  bytes = 0;

  /** Counts a message. It runs for each message, so it does no more than that. */
  add(kind: string, size: number): void {
    this.frames.set(kind, (this.frames.get(kind) ?? 0) + 1);
    this.bytes += size;
  }
}

/** All kinds; the compiler checks that none is missing. */
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

/** The longest name whose length fits into its CBOR header byte. */
const NAME_SIZE_MAX = 23;

/**
 * The kind of a message without decoding it: a CBOR map that begins with `t`, as all senders write
 * it. It is good for counting only.
 */
export function kindOf(bytes: Uint8Array): string {
  const size = (bytes[3] ?? 0) - 0x60;
  const isKind = bytes[1] === 0x61 && bytes[2] === 0x74 && size > 0 && size <= NAME_SIZE_MAX;
  if (!isKind) return "other";
  let name = "";
  for (let i = 4; i < 4 + size; i++) name += String.fromCharCode(bytes[i] ?? 0);
  return Object.hasOwn(KINDS, name) ? name : "other";
}
