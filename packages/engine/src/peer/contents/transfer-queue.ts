/**
 * TransferQueue: runs transfers, a few at the same time, and repeats those that failed. It asks each
 * time what has to be transferred, so no one has to say that something is no longer wanted.
 */

import type { Platform } from "../../platform.ts";
import { Attempts } from "./attempts.ts";
import { Cancel } from "./cancel.ts";

export type TransferOutcome =
  | { readonly isDone: true }
  | {
      readonly isDone: false;
      /** Whether it got further: then the next attempt comes at once. */
      readonly hadProgress: boolean;
      /** The least wait before the next attempt. */
      readonly afterMs?: number;
    };

export interface Transfer {
  /** Id of the content. */
  readonly id: string;
  /** Never rejects, except for a bug or a store that failed. */
  readonly run: (cancel: Cancel) => Promise<TransferOutcome>;
}

export interface TransferQueueOptions {
  readonly platform: Pick<Platform, "elapsed" | "random">;
  /** Calls `wake` once after `ms`. Returns a function that cancels it. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  /** What has to be transferred, the most urgent first. */
  readonly wanted: () => readonly Transfer[];
  readonly atOnceMax: number;
  readonly onError: (error: unknown) => void;
}

/** `lookSoon` spends at most this share of the time with looking. */
const LOOK_SHARE = 0.1;

interface Running {
  readonly cancel: Cancel;
  readonly done: Promise<void>;
}

export class TransferQueue {
  readonly #options: TransferQueueOptions;
  readonly #attempts: Attempts;
  readonly #running = new Map<string, Running>();
  #isOn = false;
  #stopWaiting: (() => void) | undefined;
  #stopLooking: (() => void) | undefined;
  /** How long the last look took. */
  #lookMs = 0;

  constructor(options: TransferQueueOptions) {
    this.#options = options;
    this.#attempts = new Attempts(options.platform);
  }

  start(): void {
    this.#isOn = true;
    this.look();
  }

  /** Ends what runs. Resolves when that has ended. */
  async stop(): Promise<void> {
    this.#isOn = false;
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
    const running = [...this.#running.values()];
    for (const { cancel } of running) cancel.cancel();
    await Promise.all(running.map(({ done }) => done));
  }

  /** The connection is back, or something changed: whatever failed is tried now. */
  hurry(): void {
    this.#attempts.hurry();
    this.look();
  }

  cancel(id: string): void {
    this.#running.get(id)?.cancel.cancel();
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** As `look`, for what happens often: a look may have to read many writes. */
  lookSoon(): void {
    if (!this.#isOn || this.#stopLooking !== undefined) return;
    const waitMs = Math.round(this.#lookMs / LOOK_SHARE);
    if (waitMs === 0) return this.look();
    this.#stopLooking = this.#options.wakeIn(waitMs, () => {
      this.#stopLooking = undefined;
      this.look();
    });
  }

  /** Starts what is due. */
  look(): void {
    if (!this.#isOn) return;
    const { platform } = this.#options;
    const since = platform.elapsed();
    const wanted = this.#options.wanted();
    this.#lookMs = platform.elapsed() - since;
    for (const transfer of wanted) {
      if (this.#running.size >= this.#options.atOnceMax) break;
      if (this.#running.has(transfer.id) || !this.#attempts.isDue(transfer.id)) continue;
      this.#begin(transfer);
    }
    this.#waitFor(wanted);
  }

  /** A transfer that ends looks again by itself, so only failed ones need a timer. */
  #waitFor(wanted: readonly Transfer[]): void {
    this.#stopWaiting?.();
    const ids = wanted.map(({ id }) => id).filter((id) => !this.#running.has(id));
    const isBusy = this.#running.size >= this.#options.atOnceMax;
    const ms = isBusy ? undefined : this.#attempts.nextIn(ids);
    if (ms === undefined) {
      this.#stopWaiting = undefined;
      return;
    }
    this.#stopWaiting = this.#options.wakeIn(ms, () => {
      this.#stopWaiting = undefined;
      this.look();
    });
  }

  #begin(transfer: Transfer): void {
    const cancel = new Cancel();
    this.#running.set(transfer.id, { cancel, done: this.#run(transfer, cancel) });
  }

  async #run({ id, run }: Transfer, cancel: Cancel): Promise<void> {
    // Not before it is among those that run.
    await Promise.resolve();
    try {
      const outcome = await run(cancel);
      if (outcome.isDone) this.#attempts.forget(id);
      // One that was cancelled says nothing about the server.
      else if (!cancel.isCancelled) {
        this.#attempts.fail(id, outcome.hadProgress, outcome.afterMs ?? 0);
      }
    } catch (error) {
      this.#attempts.fail(id, false, 0);
      this.#options.onError(error);
    }
    this.#running.delete(id);
    this.look();
  }
}
