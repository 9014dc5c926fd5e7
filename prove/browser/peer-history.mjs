/**
 * What tabs have written to a peer, by their reports, and the comparison with what is found later.
 *
 * Each tab counts its steps in a document of its own. So the number in it says how many of its steps
 * were applied: at least those that were acknowledged, at most those that were begun. A number that
 * was found once must not change any more, on the peer and on the server.
 */

/** The first of so many steps of a tab with transactions also inserts a document. */
export const ROW_EVERY = 8;

export class PeerHistory {
  failures = [];
  /** Writes that waited for the server when the peer was last checked. */
  last = 0;
  /** By tab: `{ attempted, acknowledged, found }`. */
  #tabs = new Map();

  /** All steps that were found by checks. */
  get steps() {
    return this.#sum(({ found = 0 }) => found);
  }

  get acknowledged() {
    return this.#sum(({ acknowledged }) => acknowledged);
  }

  countOf(steps) {
    return Object.values(steps).reduce((sum, count) => sum + count, 0);
  }

  /** A report of a tab, which may come late. */
  reported({ tab, attempted = 0, acknowledged = 0 }) {
    const known = this.#tabs.get(tab) ?? { attempted: 0, acknowledged: 0, found: undefined };
    known.attempted = Math.max(known.attempted, attempted);
    known.acknowledged = Math.max(known.acknowledged, acknowledged);
    this.#tabs.set(tab, known);
  }

  /** Compares what the peer has after a kill. */
  compare({ steps, rows, pendingCount }) {
    this.last = pendingCount;
    for (const [tab, known] of this.#tabs) {
      const count = steps[tab] ?? 0;
      const { attempted, acknowledged, found } = known;
      if (count < acknowledged) {
        this.failures.push(`tab ${tab}: ${acknowledged - count} acknowledged writes are lost`);
      }
      if (count > attempted) this.failures.push(`tab ${tab}: ${count} of ${attempted} steps`);
      if (found !== undefined && count !== found) {
        this.failures.push(`tab ${tab}: ${found} steps became ${count}`);
      }
      known.found = count;
    }
    this.#compareAll("the peer", { steps, rows });
  }

  /** Compares what the server has after all uploads. */
  compareServer(stored) {
    this.#compareAll("the server", stored);
  }

  /** The documents of another client. */
  compareNews(ids, count) {
    const expected = Array.from({ length: count }, (_, index) => `news ${index}`);
    this.#compareIds("the peer", "news", ids, expected);
  }

  #compareAll(where, { steps, rows }) {
    for (const [tab, count] of Object.entries(steps)) {
      const found = this.#tabs.get(tab)?.found;
      if (count !== found) this.failures.push(`${where}: tab ${tab} has ${count}, not ${found}`);
    }
    for (const [tab, { found }] of this.#tabs) {
      if (found > 0 && steps[tab] === undefined) this.failures.push(`${where}: no tab ${tab}`);
    }
    this.#compareIds(where, "rows", rows, this.#rows());
  }

  #compareIds(where, what, ids, expected) {
    const found = new Set(ids);
    const missing = expected.filter((id) => !found.delete(id));
    if (missing.length > 0) {
      this.failures.push(`${where}: ${missing.length} of ${what} are missing, first ${missing[0]}`);
    }
    const [other] = found;
    if (other !== undefined) {
      this.failures.push(`${where}: ${found.size} of ${what} are too many, first ${other}`);
    }
    if (ids.length !== new Set(ids).size) this.failures.push(`${where}: an id of ${what} is twice`);
  }

  /** Ids of the documents that the found steps have inserted. */
  #rows() {
    const ids = [];
    for (const [tab, { found }] of this.#tabs) {
      if (!tab.endsWith(" a")) continue;
      for (let step = 1; step <= found; step += ROW_EVERY) ids.push(`${tab} ${step}`);
    }
    return ids;
  }

  #sum(numberOf) {
    return [...this.#tabs.values()].reduce((sum, tab) => sum + numberOf(tab), 0);
  }
}
