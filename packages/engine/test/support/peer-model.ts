/**
 * What a small peer must show, computed anew from everything that it was told: the slow and plain
 * form of its two layers.
 *
 * It knows of each pending transaction in which transaction of the server it was applied, so that it
 * need not look into states to tell whether the confirmed state has it already.
 */

import type { Stamp, UploadOperation } from "@bigpeer/protocol";
import { deltaOf } from "../../src/crdt/edit.ts";
import { isStub } from "../../src/crdt/evict.ts";
import { merge } from "../../src/crdt/merge.ts";
import { resolveOperation } from "../../src/crdt/resolve.ts";
import { isShown } from "../../src/crdt/show.ts";
import { type DocumentState, EMPTY_STATE } from "../../src/crdt/state.ts";

interface ModelWrite {
  readonly id: string;
  readonly operation: UploadOperation;
  readonly stamp: Stamp;
}

interface ModelPending {
  readonly writes: ModelWrite[];
  /** Documents on which it had no effect at the server, which the peer cannot know. */
  readonly unfelt: Set<string>;
  /** The transaction of the server that it became. */
  appliedAt: number | undefined;
}

interface ModelHeld {
  confirmed: DocumentState;
  version: number;
  covers: Set<"subscription" | "own">;
}

export class PeerModel {
  readonly #held = new Map<string, ModelHeld>();
  /** By the local transaction. */
  readonly pending = new Map<number, ModelPending>();

  view(id: string): DocumentState {
    const held = this.#held.get(id);
    if (held === undefined) return EMPTY_STATE;
    let state = held.confirmed;
    for (const { writes, appliedAt } of this.pending.values()) {
      const isConfirmed = appliedAt !== undefined && appliedAt <= held.version;
      for (const write of writes) {
        // A tombstone of the server does not tell that the document was seeded; the write does.
        const isReported = isConfirmed && write.operation.kind !== "initial";
        if (write.id === id && !isReported) state = after(state, write);
      }
    }
    return state;
  }

  /**
   * Whether the peer can know what shows: a write that came to nothing at the server may come to
   * something over what the server has later, until its outcome is heard of.
   */
  isKnown(id: string): boolean {
    return ![...this.pending.values()].some(({ unfelt }) => unfelt.has(id));
  }

  confirmed(id: string): DocumentState {
    return this.#held.get(id)?.confirmed ?? EMPTY_STATE;
  }

  versionOf(id: string): number {
    return this.#held.get(id)?.version ?? 0;
  }

  /** A local transaction wrote this; what comes to nothing is not pending. */
  write(commitId: number, operation: UploadOperation, stamp: Stamp): void {
    const id = operation.id as string;
    const resolved = resolveOperation(this.view(id), operation);
    if (resolved === undefined) return;
    const held = this.#held.get(id);
    const fresh: ModelHeld = { confirmed: EMPTY_STATE, version: 0, covers: new Set(["own"]) };
    if (held === undefined) this.#held.set(id, fresh);
    else if (held.covers.size === 0 && !this.#isPending(id)) held.covers.add("own");
    const pending = this.pending.get(commitId) ?? {
      writes: [],
      unfelt: new Set(),
      appliedAt: undefined,
    };
    this.pending.set(commitId, pending);
    pending.writes.push({ id, operation: resolved, stamp });
  }

  put(id: string, state: DocumentState, version: number): void {
    const held = this.#held.get(id) ?? { confirmed: EMPTY_STATE, version: 0, covers: new Set() };
    this.#held.set(id, held);
    held.covers.delete("own");
    held.covers.add("subscription");
    confirm(held, state, version);
  }

  /** It matches no more, or it is deleted. */
  leave(id: string, state: DocumentState, version: number): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    confirm(held, state, version);
    held.covers.delete("subscription");
    this.#settle(id);
  }

  forget(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.confirmed = EMPTY_STATE;
    held.version = 0;
    held.covers.clear();
    this.#settle(id);
  }

  /** The state that came of an upload. */
  reported(id: string, state: DocumentState, version: number): void {
    const held = this.#held.get(id);
    if (held !== undefined) confirm(held, state, version);
  }

  end(commitId: number): void {
    const ids = new Set(this.pending.get(commitId)?.writes.map(({ id }) => id));
    this.pending.delete(commitId);
    for (const id of ids) this.#settle(id);
  }

  #isPending(id: string): boolean {
    return [...this.pending.values()].some(({ writes }) => writes.some((write) => write.id === id));
  }

  #settle(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined || this.#isPending(id)) return;
    const { confirmed, covers } = held;
    const isGone = confirmed === EMPTY_STATE || (covers.size === 0 && isShown(confirmed));
    if (isGone) this.#held.delete(id);
  }
}

function confirm(held: ModelHeld, state: DocumentState, version: number): void {
  if (version <= held.version) return;
  held.confirmed = state;
  held.version = version;
}

function after(state: DocumentState, { operation, stamp }: ModelWrite): DocumentState {
  const isUnseen = operation.kind === "initial" || isStub(state);
  const delta = deltaOf(isUnseen ? EMPTY_STATE : state, operation, stamp);
  return delta === undefined ? state : merge(state, delta);
}
