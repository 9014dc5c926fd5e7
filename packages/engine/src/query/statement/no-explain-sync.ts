/**
 * No EXPLAIN SYNC: takes the place of explain-sync.ts in the worker of browsers, whose size is bounded.
 * No peer answers the statement.
 */

import { semanticFault } from "../fault.ts";
import type { ExplainSyncStatement } from "../syntax/tree.ts";

export function explainSyncPrepared({ at }: ExplainSyncStatement): never {
  throw semanticFault(
    "EXPLAIN SYNC is answered by the server that peers sync with, not by this store",
    at,
  );
}
