/**
 * Checker of a run on a cluster: compares the history that clients recorded with what the nodes and
 * the peers have at the end. It is pure: the same history and the same end give the same violations.
 *
 * A client records each write with the times of its first request and of its answer, by one clock,
 * and with the transaction id that was acknowledged. A write without an answer may have happened, at
 * most once.
 */

/** Writes that have a document of their own, by the name of its collection. */
const OWN_DOCUMENT = { insert: "documents", claim: "claims" };

/** More of them would hide what they have in common. */
const SHOWN_MAX = 5;

/** Violations in words; empty if there are none. */
export function check(history, end) {
  const violations = [
    ...checkOrder(history),
    ...checkTransactionIds(history),
    ...checkRefusals(history),
    ...checkReads(history),
    ...checkClaims(history),
  ];
  for (const node of end.nodes) {
    violations.push(...checkDocuments(history, node));
    violations.push(...checkCounters(history, node));
    violations.push(...checkMarks(history, node));
  }
  violations.push(...checkStores(end.nodes), ...checkPeers(end));
  return violations;
}

function isAcknowledged({ outcome }) {
  return outcome === "acknowledged";
}

function isWrite({ type }) {
  return type === "insert" || type === "claim" || type === "increment";
}

function acknowledgedWrites(history) {
  return history.filter((event) => isWrite(event) && isAcknowledged(event));
}

/** One violation for many of the same kind. */
function summed(what, found) {
  if (found.length === 0) return [];
  const shown = found.slice(0, SHOWN_MAX).join(", ");
  const more = found.length > SHOWN_MAX ? ` and ${found.length - SHOWN_MAX} more` : "";
  return [`${what}: ${shown}${more}`];
}

/** A write that began after the acknowledgement of another one has a larger transaction id. */
function checkOrder(history) {
  const writes = acknowledgedWrites(history);
  const byEnd = writes.toSorted((a, b) => a.endMs - b.endMs);
  const found = [];
  let last;
  let next = 0;
  for (const write of writes.toSorted((a, b) => a.startMs - b.startMs)) {
    for (; next < byEnd.length && byEnd[next].endMs < write.startMs; next++) {
      if (last === undefined || byEnd[next].txnId > last.txnId) last = byEnd[next];
    }
    if (last === undefined || write.txnId > last.txnId) continue;
    found.push(`${write.id} (${write.txnId}) after ${last.id} (${last.txnId})`);
  }
  return summed("writes out of order", found);
}

function checkTransactionIds(history) {
  const owners = new Map();
  const found = [];
  for (const { id, txnId } of acknowledgedWrites(history)) {
    const owner = owners.get(txnId);
    if (owner !== undefined) found.push(`${txnId} for ${owner} and ${id}`);
    owners.set(txnId, id);
  }
  return summed("transaction ids acknowledged twice", found);
}

/** A strict INSERT of a document that was acknowledged before must fail. */
function checkRefusals(history) {
  const wrong = history.filter((event) => event.type === "repeat" && isAcknowledged(event));
  const missed = history.filter(({ isMatched }) => isMatched === false);
  return [
    ...summed(
      "documents inserted a second time",
      wrong.map(({ id }) => id),
    ),
    ...summed(
      "increments that found no document",
      missed.map(({ id }) => id),
    ),
  ];
}

/** A read that names a transaction sees what it wrote. */
function checkReads(history) {
  const reads = history.filter(({ type }) => type === "read");
  const lost = reads.filter(({ outcome }) => outcome === "missing");
  const old = reads.filter(
    ({ outcome, txnId, seenTxnId }) => outcome === "found" && seenTxnId < txnId,
  );
  return [
    ...summed(
      "reads without the own write",
      lost.map(({ id, node, txnId }) => `${id} of transaction ${txnId} on ${node}`),
    ),
    ...summed(
      "reads before the named transaction",
      old.map(({ id, node, txnId, seenTxnId }) => `${id} on ${node}: ${seenTxnId} < ${txnId}`),
    ),
  ];
}

/** Of several clients that insert the same id, at most one succeeds. */
function checkClaims(history) {
  const owners = new Map();
  const found = [];
  for (const event of history) {
    if (event.type !== "claim" || !isAcknowledged(event)) continue;
    const other = owners.get(event.document);
    if (other !== undefined) found.push(`${event.document} by ${other} and ${event.id}`);
    owners.set(event.document, event.id);
  }
  return summed("claims that two clients won", found);
}

function checkDocuments(history, node) {
  const tried = new Map(Object.values(OWN_DOCUMENT).map((collection) => [collection, new Map()]));
  const lost = [];
  const moved = [];
  for (const event of history) {
    const collection = OWN_DOCUMENT[event.type];
    if (collection === undefined) continue;
    const { id, document = id, outcome, txnId } = event;
    const owners = tried.get(collection);
    if (outcome !== "refused") owners.set(document, [...(owners.get(document) ?? []), id]);
    if (!isAcknowledged(event)) continue;
    const found = node.collections[collection].get(document);
    if (found === undefined || found.by !== id) lost.push(id);
    else if (found.version !== txnId) moved.push(`${id}: ${found.version} instead of ${txnId}`);
  }
  const strange = [...tried].flatMap(([collection, owners]) =>
    [...node.collections[collection]]
      .filter(([document, { by }]) => !owners.get(document)?.includes(by))
      .map(([document]) => document),
  );
  return [
    ...summed(`${node.name}: acknowledged writes lost`, lost),
    ...summed(`${node.name}: documents with another transaction than acknowledged`, moved),
    ...summed(`${node.name}: documents that no client wrote, or whose write was refused`, strange),
  ];
}

/** A counter has the increments that were acknowledged, and perhaps those of unknown outcome. */
function checkCounters(history, node) {
  const expected = new Map();
  for (const event of history) {
    if (event.type !== "increment" || event.outcome === "refused") continue;
    for (const counter of event.counters) {
      const { least, most } = expected.get(counter) ?? { least: 0, most: 0 };
      const isCertain = isAcknowledged(event);
      expected.set(counter, { least: isCertain ? least + 1 : least, most: most + 1 });
    }
  }
  const found = [];
  for (const [counter, { least, most }] of expected) {
    const value = node.collections.counters.get(counter)?.n;
    if (value >= least && value <= most) continue;
    found.push(
      `${counter} is ${value}, expected ${least === most ? least : `${least} to ${most}`}`,
    );
  }
  return [
    ...summed(`${node.name}: counters are not exact`, found),
    ...summed(`${node.name}: later writes were overwritten`, checkLast(history, node)),
  ];
}

/** The last acknowledged write of a client to its own document stays, unless a later one happened. */
function checkLast(history, node) {
  const last = new Map();
  for (const event of history) {
    if (event.type !== "increment" || !isAcknowledged(event)) continue;
    const { writer, number } = event;
    last.set(writer, Math.max(number, last.get(writer) ?? 0));
  }
  return [...last]
    .filter(([writer, number]) => !(node.collections.counters.get(writer)?.last >= number))
    .map(([writer, number]) => `${number} of ${writer}`);
}

/** Each write of a peer is a mark and one more in the total of its team. */
function checkMarks(history, node) {
  const { marks, totals } = node.collections;
  const written = history.filter(({ type }) => type === "mark");
  const known = new Set(written.map(({ id }) => id));
  const counts = new Map([...totals.keys()].map((team) => [team, 0]));
  for (const { team } of marks.values()) counts.set(team, (counts.get(team) ?? 0) + 1);
  const wrong = [...counts].filter(([team, count]) => totals.get(team)?.n !== count);
  return [
    ...summed(
      `${node.name}: writes of peers lost`,
      written.filter(({ id }) => !marks.has(id)).map(({ id }) => id),
    ),
    ...summed(
      `${node.name}: marks that no peer wrote`,
      [...marks.keys()].filter((id) => !known.has(id)),
    ),
    ...summed(
      `${node.name}: totals of peers are not exact`,
      wrong.map(([team, n]) => `team ${team} is ${totals.get(team)?.n}, expected ${n}`),
    ),
  ];
}

function checkStores(nodes) {
  const [first, ...others] = nodes;
  const violations = [];
  for (const { name, stores, problems } of nodes) {
    violations.push(...summed(`${name}: problems found by verify`, problems));
    for (const [store, { failure }] of Object.entries(stores)) {
      if (failure !== undefined) violations.push(`${name}: store ${store}: ${failure}`);
    }
  }
  for (const { name, stores } of others) {
    for (const [store, { sequence, digest }] of Object.entries(stores)) {
      const expected = first.stores[store];
      if (sequence !== expected.sequence) {
        const positions = `${sequence}, not at ${expected.sequence} as ${first.name}`;
        violations.push(`${name}: store ${store} is at entry ${positions}`);
      } else if (digest !== expected.digest) {
        violations.push(`${name}: store ${store} differs from that of ${first.name}`);
      }
    }
  }
  return violations;
}

/** Every peer has what the first node has of its team, and nothing left to send. */
function checkPeers({ nodes: [first], peers }) {
  const { marks, totals } = first.collections;
  const byTeam = new Map();
  for (const [id, { team }] of marks) byTeam.set(team, [...(byTeam.get(team) ?? []), id]);
  const wrong = [];
  for (const { name, team, total, marks: held, pending, refused, state } of peers) {
    const expected = byTeam.get(team) ?? [];
    if (pending > 0) wrong.push(`${name} (${state}) has ${pending} writes to send`);
    else if (refused > 0) wrong.push(`${name} had ${refused} writes refused`);
    else if (total !== totals.get(team)?.n) {
      wrong.push(`${name} has the total ${total} of team ${team}, not ${totals.get(team)?.n}`);
    } else if (held.toSorted().join() !== expected.toSorted().join()) {
      wrong.push(`${name} has ${held.length} marks of team ${team}, not the ${expected.length}`);
    }
  }
  return summed("peers that differ from the nodes", wrong);
}

/** Faults that a checker must find, planted into a history that has none. */
export const PLANTS = {
  /** A write that was acknowledged and is nowhere. */
  lost: (history) => {
    const { startMs, endMs, txnId } = acknowledgedWrites(history).at(-1);
    const write = { type: "insert", outcome: "acknowledged", startMs, endMs: endMs + 1 };
    return [...history, { ...write, id: "planted", txnId: txnId + 1 }];
  },
  /** A write that happened twice: the client knows of one. */
  double: (history) => {
    const place = history.findLastIndex(
      (event) => event.type === "increment" && isAcknowledged(event),
    );
    return history.toSpliced(place, 1);
  },
  /** Two writes, one after the other, in the wrong order. */
  reordered: (history) => {
    const inserts = acknowledgedWrites(history).filter(({ type }) => type === "insert");
    const first = inserts[0];
    const second = inserts.find(({ startMs }) => startMs > first.endMs);
    return history.map((event) => {
      if (event === first) return { ...event, txnId: second.txnId };
      return event === second ? { ...event, txnId: first.txnId } : event;
    });
  },
};
