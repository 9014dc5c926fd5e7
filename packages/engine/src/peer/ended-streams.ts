/**
 * Ended streams: what is on its way of subscriptions that the peer has ended.
 *
 * The server sent it before it heard of the end. It may be all that the outcomes of uploads in flight
 * count on (S28): until these have come, it is taken for the documents that are held here.
 */

import { byteString, type Subscribed } from "@bigpeer/protocol";
import type { EndedStreams, Following, Link } from "./session-state.ts";

export const NONE_ENDED: EndedStreams = { filters: new Map(), ids: new Set() };

/** With a subscription that ends now. */
export function endedWith(
  { ended, uploads }: Link,
  { id, filter, collection, refusal }: Following,
): EndedStreams {
  if (id === undefined || refusal !== undefined || uploads.inFlight.length === 0) return ended;
  const ids = new Set(ended.ids).add(id);
  if (filter === undefined || collection === undefined) return { ...ended, ids };
  return { ids, filters: new Map(ended.filters).set(byteString(filter), collection) };
}

/** With one that begins, or begins anew: the server has not heard yet that it is ended. */
export function begunLate(
  ended: EndedStreams,
  { id, filter, collection }: Subscribed,
): EndedStreams {
  if (!ended.ids.has(id)) return ended;
  return { ...ended, filters: new Map(ended.filters).set(byteString(filter), collection) };
}
