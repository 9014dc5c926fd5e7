/**
 * Ended streams: what is on its way of subscriptions that the peer has ended.
 *
 * The server sent it before it heard of the end. It may be all that the outcomes of uploads in flight
 * count on (S28): until these have come, it is taken for the documents that are held here.
 */

import { byteString, type Subscribed } from "@bigpeer/protocol";
import type { EndedStreams, Following, Link, SentUpload } from "./session-state.ts";

export const NONE_ENDED: EndedStreams = { filters: new Map(), ids: new Map() };

/** With a subscription that ends now. */
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

/** With one that begins, or begins anew: the server has not heard yet that it is ended. */
export function begunLate(
  ended: EndedStreams,
  { id, filter, collection }: Subscribed,
): EndedStreams {
  const last = ended.ids.get(id);
  if (last === undefined) return ended;
  const stream = { collection, last };
  return { ...ended, filters: new Map(ended.filters).set(byteString(filter), stream) };
}

/** Those that outcomes may still count on, with these uploads in flight. */
export function stillAwaited(ended: EndedStreams, inFlight: readonly SentUpload[]): EndedStreams {
  if (ended.ids.size === 0 || inFlight.length === 0) return NONE_ENDED;
  // Those of one site are in flight at a time; a fork may have taken the last ones.
  const isAwaited = (last: SentUpload): boolean =>
    inFlight.some(({ site, number }) => site === last.site && number <= last.number);
  return {
    filters: new Map([...ended.filters].filter(([, { last }]) => isAwaited(last))),
    ids: new Map([...ended.ids].filter(([, last]) => isAwaited(last))),
  };
}
