/**
 * Round frames: the frames of one round. The frames of a filter are encoded once for all its
 * streams, when the first of them needs them.
 */

import { encodeMessage, encodeMessageIncremental, type Outcome } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { StreamChanges } from "../change/matching.ts";
import { FrameSet } from "../outbox/frame.ts";
import type { StreamGroup } from "../stream/stream.ts";
import type { StreamContext } from "../stream/stream-context.ts";
import type { RoundChanges } from "./round.ts";
import type { SizedOutcome } from "./upload-outcome.ts";

/** Approximate bytes of one `committed`. */
const COMMITTED_BYTES = 1024 * 1024;

interface JoinFrames {
  readonly entries: readonly Uint8Array[];
  readonly frames: FrameSet;
}

export class RoundFrames {
  readonly #changes: RoundChanges;
  readonly #context: StreamContext;
  readonly #live = new Map<StreamGroup, FrameSet>();
  readonly #joining = new Map<StreamGroup, JoinFrames>();
  #committed: Uint8Array | undefined;

  constructor(changes: RoundChanges, context: StreamContext) {
    this.#changes = changes;
    this.#context = context;
  }

  /** Changes of the live streams of a group. */
  live(group: StreamGroup): FrameSet {
    let frames = this.#live.get(group);
    if (frames === undefined) {
      const entries = this.#changes.matched.live.get(group)?.entries ?? [];
      frames = this.#frameSet(group, entries);
      this.#live.set(group, frames);
    }
    return frames;
  }

  /** Many streams may return to one filter at once and lack the same: they share frames. */
  joining({ stream, outgoing: { entries } }: StreamChanges): FrameSet {
    const { group } = stream;
    const last = this.#joining.get(group);
    if (last !== undefined && isSame(last.entries, entries)) return last.frames;
    const frames = this.#frameSet(group, entries);
    this.#joining.set(group, { entries, frames });
    return frames;
  }

  /** The end of the transaction, for a session without outcomes. */
  committed(): Uint8Array {
    if (this.#committed === undefined) {
      this.#context.made.encoded++;
      this.#committed = encodeMessage({ t: "committed", txn: this.#changes.txn, outcomes: [] });
    }
    return this.#committed;
  }

  /** An upload may have written many documents: encodes with pauses, before anything is sent. */
  *outcomes(outcomes: readonly SizedOutcome[]): Steps<readonly Uint8Array[]> {
    const frames: Uint8Array[] = [];
    const { txn } = this.#changes;
    let batch: Outcome[] = [];
    let bytes = 0;
    for (const [i, each] of outcomes.entries()) {
      batch.push(each.outcome);
      bytes += each.bytes;
      const next = outcomes[i + 1];
      if (next !== undefined && bytes + next.bytes <= COMMITTED_BYTES) continue;
      this.#context.made.encoded++;
      frames.push(yield* encodeMessageIncremental({ t: "committed", txn, outcomes: batch }));
      batch = [];
      bytes = 0;
    }
    return frames;
  }

  #frameSet({ filter }: StreamGroup, entries: readonly Uint8Array[]): FrameSet {
    const { limits, made } = this.#context;
    return new FrameSet(filter, entries, { frameBytes: limits.frameBytes, count: made });
  }
}

function isSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}
