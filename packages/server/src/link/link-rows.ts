/**
 * Link rows: adds the links of an app to `system:data_sync_info`, a row for each Big Peer that the
 * app is linked with, beside those of small peers.
 */

import type { SystemData, SystemRow } from "@bigpeer/engine/query";

/** Provides the links. */
export interface LinkRows {
  syncRows(appId: string): Iterable<SystemRow>;
}

export function withLinks(facts: SystemData, appId: string, links: LinkRows): SystemData {
  return {
    ...facts,
    rows: (collection) => {
      const rows = facts.rows?.(collection) ?? [];
      return collection === "data_sync_info" ? joined(links.syncRows(appId), rows) : rows;
    },
  };
}

function* joined(first: Iterable<SystemRow>, second: Iterable<SystemRow>): Iterable<SystemRow> {
  yield* first;
  yield* second;
}
