/**
 * Ended streams: what is on its way of subscriptions that the peer has ended.
 *
 * It may be all that the outcomes of uploads in flight count on (S28): the server sent it before it
 * heard of the end. So until these have come it is taken, as what came before was.
 */

import { byteString } from "@bigpeer/protocol";
import type { EndedStreams, Following, Link } from "./session-state.ts";

export const NONE_ENDED: EndedStreams = { filters: new Map(), ids: new Map() };

/** With a subscription that ends now; undefined when nothing counts on it. */
export function endedWith(
  { ended, uploads }: Link,
  { key, id, filter, isLive, refusal }: Following,
): EndedStreams | undefined {
  if (id === undefined || refusal !== undefined || uploads.inFlight.length === 0) return undefined;
  const named = { ...ended, ids: new Map(ended.ids).set(id, key) };
  return filter === undefined ? named : withEnded(named, filter, key, isLive);
}

export function withEnded(
  ended: EndedStreams,
  filter: Uint8Array,
  key: string,
  isLive: boolean,
): EndedStreams {
  const name = byteString(filter);
  const keys = new Set(ended.filters.get(name)?.keys).add(key);
  return { ...ended, filters: new Map(ended.filters).set(name, { keys, isLive }) };
}

/** Frames of the stream are parts of transactions from now on, or are not. */
export function turnEnded(ended: EndedStreams, filter: Uint8Array, isLive: boolean): EndedStreams {
  const name = byteString(filter);
  const stream = ended.filters.get(name);
  if (stream === undefined) return ended;
  return { ...ended, filters: new Map(ended.filters).set(name, { ...stream, isLive }) };
}

export function withoutEnded(ended: EndedStreams, name: string): EndedStreams {
  const filters = new Map(ended.filters);
  filters.delete(name);
  return { ...ended, filters };
}
