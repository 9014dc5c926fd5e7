/**
 * EXPLAIN SYNC: explains why a document is on a peer or is not. This module evaluates the document
 * id and the peer key; the server that the peer syncs with gives the answer.
 */

import { semanticFault } from "../fault.ts";
import { resolveCollection } from "../plan/collection.ts";
import { toId } from "../run/ids.ts";
import type { ExplainSyncStatement } from "../syntax/tree.ts";
import { compileConstant } from "./constant.ts";
import { type Prepared, slowRead } from "./work.ts";

export function explainSyncPrepared(statement: ExplainSyncStatement): Prepared {
  const resolved = resolveCollection(statement.collection, "read");
  if (resolved.kind === "system") {
    const message = `expected a collection that is synced, found system:${resolved.collection.name}`;
    throw semanticFault(message, statement.collection.at);
  }
  const collection = resolved.name;
  const idOf = compileConstant(statement.id);
  const keyOf = compileConstant(statement.peerKey);
  return slowRead(function* explained(execution) {
    const id = toId(idOf(execution))?.id;
    if (id === undefined) {
      throw semanticFault("expected what can be the id of a document", statement.id.at);
    }
    const peerKey = keyOf(execution);
    if (typeof peerKey !== "string") {
      throw semanticFault("expected the key of a peer, which is text", statement.peerKey.at);
    }
    const { systemData } = execution.system;
    if (systemData?.explainSync === undefined) {
      const message =
        "EXPLAIN SYNC is answered by the server that peers sync with, not by this store";
      throw semanticFault(message, statement.at);
    }
    return yield* systemData.explainSync({ collection, id, peerKey });
  });
}
