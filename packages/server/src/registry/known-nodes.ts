/**
 * Known nodes: the nodes of the cluster, also those that are away, with the time when each was last
 * alive. They hold back the trimming of logs (cluster/trim-plan.ts).
 *
 * Nothing that must be right depends on them: a node that is missing here may have to begin with a
 * copy.
 */

import type { Operation } from "@bigpeer/protocol";
import type { RegistryStore } from "./registry-store.ts";

export interface KnownNode {
  readonly node: string;
  /** In milliseconds since 1970. */
  readonly seenAt: number;
}

const COLLECTION = "cluster_nodes";

export class KnownNodes {
  readonly #store: RegistryStore;

  constructor(store: RegistryStore) {
    this.#store = store;
  }

  list(): readonly KnownNode[] {
    return this.#store.read((view) => {
      return [...view.scan(COLLECTION)].flatMap(({ id, fields: { seenAt } }) => {
        return typeof id === "string" && typeof seenAt === "number" ? [{ node: id, seenAt }] : [];
      });
    });
  }

  /** Records that these nodes are alive, and forgets those that were not for `awayMs`. */
  async note(alive: readonly string[], { nowMs, awayMs }: NoteTimes): Promise<void> {
    const operations = noteOperations(this.list(), alive, { nowMs, awayMs });
    if (operations.length === 0) return;
    await this.#store.note(() => ({ operations, result: undefined }));
  }
}

export interface NoteTimes {
  readonly nowMs: number;
  readonly awayMs: number;
}

/** An hour: the times need not be exact. */
const NOTE_MS_MAX = 3_600_000;

/** Writes only what has changed by more than a quarter of `awayMs`, or an hour. */
export function noteOperations(
  known: readonly KnownNode[],
  alive: readonly string[],
  { nowMs, awayMs }: NoteTimes,
): Operation[] {
  const seen = new Map(known.map(({ node, seenAt }) => [node, seenAt]));
  const stepMs = Math.min(NOTE_MS_MAX, awayMs / 4);
  const isOld = (node: string): boolean => nowMs - (seen.get(node) ?? 0) >= stepMs;
  const put = alive.filter(isOld).map((id): Operation => {
    const fields = { seenAt: nowMs };
    return { kind: "insert", collection: COLLECTION, id, fields, clean: true };
  });
  const gone = known
    .filter(({ node, seenAt }) => !alive.includes(node) && nowMs - seenAt >= awayMs)
    .map(({ node: id }): Operation => ({ kind: "delete", collection: COLLECTION, id }));
  return [...put, ...gone];
}
