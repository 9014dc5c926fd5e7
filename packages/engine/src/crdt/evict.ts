/**
 * Evict: computes the stub that remains of a document that is forgotten here without a delete.
 *
 * The stub keeps the counter sums of the own site. If the document came back from elsewhere with an
 * older sum, increments would continue from it under a newer stamp, and the additions since would
 * be lost. A tombstone stays as well: an eviction does not undo a delete (D22, D24).
 */

import { NONE, type Site } from "@bigpeer/protocol";
import {
  type Counter,
  type DocumentState,
  EMPTY_NODE,
  isEmptyNode,
  type Kids,
  type Node,
  siteOfAdd,
} from "./state.ts";

export function evictedStub(state: DocumentState, site: Site): DocumentState {
  const { dead, seeded } = state;
  return { alive: NONE, dead, seeded, root: stubKids(state.root, site) };
}

/** Whether only a stub is here: neither a document nor the tombstone of one. */
export function isStub(state: DocumentState): boolean {
  return state.alive === NONE && state.dead === NONE;
}

function stubKids(kids: Kids, site: Site): Kids {
  const stub = new Map<string, Node>();
  for (const [name, kid] of kids) {
    const node = stubNode(kid, site);
    if (!isEmptyNode(node)) stub.set(name, node);
  }
  return stub;
}

function stubNode(node: Node, site: Site): Node {
  const below = node.map === undefined ? undefined : stubKids(node.map.kids, site);
  return {
    ...EMPTY_NODE,
    ctr: ownSums(node.ctr, site),
    pn: ownSums(node.pn, site),
    map: below === undefined || below.size === 0 ? undefined : { touch: NONE, kids: below },
  };
}

function ownSums(counter: Counter | undefined, site: Site): Counter | undefined {
  const adds = (counter?.adds ?? []).filter((add) => siteOfAdd(add) === site);
  return adds.length === 0 ? undefined : { reset: undefined, adds };
}
