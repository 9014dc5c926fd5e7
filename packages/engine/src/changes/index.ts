/**
 * Change feed: what changed in a store, in the order of transactions, for readers with a filter and
 * permissions.
 */

export { ChangeFeed, type ChangeFeedOptions } from "./change-feed.ts";
export { ChangesGone } from "./cursor.ts";
export type {
  ChangeBatch,
  ChangeLag,
  ChangeLine,
  ChangeReader,
  ChangesRequest,
  ChangeType,
  ChangeView,
  FeedLine,
  NextOptions,
} from "./reader.ts";
