/**
 * Ended streams: subscriptions that the peer has ended and whose changes are still under way.
 *
 * The outcomes of uploads in flight may count on these changes. Until these outcomes arrive, the
 * peer applies the changes to documents that it holds (S74).
 */

import { byteString, type Subscribed } from "@bigpeer/protocol";
import type { EndedStreams, Following, Link, SentUpload } from "./session-state.ts";

export const NONE_ENDED: EndedStreams = { filters: new Map(), ids: new Map() };

/** Adds a subscription that ends now, if uploads are in flight. */
export function endedWith(
  { ended, uploads }: Link,
  { id, filter, collection, refusal }: Following,
): EndedStreams {
  const last = uploads.inFlight.at(-1);
  if (id === undefined || refusal !== undefined || last === undefined) return ended;
  const ids = new Map(ended.ids).set(id, last);
  if (filter === undefined || collection === undefined) return { ...ended, ids };
  const stream = { collection, last };
  return { ids, filters: new Map(ended.filters).set(byteString(filter), stream) };
}

/** Adds the filter of an ended subscription whose `subscribed` arrives late. */
export function begunLate(
  ended: EndedStreams,
  { id, filter, collection }: Subscribed,
): EndedStreams {
  const last = ended.ids.get(id);
  if (last === undefined) return ended;
  const stream = { collection, last };
  return { ...ended, filters: new Map(ended.filters).set(byteString(filter), stream) };
}

/** The ended streams that the outcomes of these uploads may still count on. */
export function stillAwaited(ended: EndedStreams, inFlight: readonly SentUpload[]): EndedStreams {
  if (ended.ids.size === 0 || inFlight.length === 0) return NONE_ENDED;
  // Only uploads of one site are in flight at a time. A fork may have removed the last ones.
  const isAwaited = (last: SentUpload): boolean =>
    inFlight.some(({ site, number }) => site === last.site && number <= last.number);
  return {
    filters: new Map([...ended.filters].filter(([, { last }]) => isAwaited(last))),
    ids: new Map([...ended.ids].filter(([, last]) => isAwaited(last))),
  };
}
