/**
 * NodeRuns: runs statements on peers of this node that another node of the cluster has selected.
 *
 * The other node gets the answers in pages. Answers that it does not fetch are dropped after a
 * while.
 */

import { approximateSize } from "@bigpeer/engine/store";
import type { PeerAnswer, RemoteRun, RunningRemote, SyncServer } from "@bigpeer/engine/sync";
import { isArray, isObject, PeerError, type Value, type ValueObject } from "@bigpeer/protocol";
import { REMOTE_LATE_MS } from "../../limits/limits.ts";
import { textIn } from "./peer-message.ts";

/** Names of the procedures. */
export const RUN_PROCEDURES = {
  start: "run_peers",
  more: "run_answers",
  cancel: "run_cancel",
} as const;

/** Answers, or a part of them. */
export interface AnswerPage {
  readonly answers: readonly PeerAnswer[];
  /** There are more, from this index on. */
  readonly next?: number;
}

/** Runs for other nodes at a time. */
const RUNS_MAX = 128;

/** Approximate size of a page; one answer may be larger. */
const PAGE_SIZE_MAX: number = 1024 * 1024;

/** How long answers are kept for the next request. */
const KEPT_MS = 10_000;

/** How much earlier than the other node this one stops to wait for its peers. */
const EARLY_MS = 250;

interface Kept {
  readonly running: RunningRemote;
  answers: readonly PeerAnswer[];
  timer: NodeJS.Timeout | undefined;
}

export class NodeRuns {
  readonly #syncOf: (appId: string) => Pick<SyncServer, "run"> | undefined;
  readonly #runs = new Map<string, Kept>();

  constructor(syncOf: (appId: string) => Pick<SyncServer, "run"> | undefined) {
    this.#syncOf = syncOf;
  }

  /** Answers a call of another node. */
  async answer(name: string, value: Value): Promise<Value> {
    switch (name) {
      case RUN_PROCEDURES.start:
        return this.#start(value);
      case RUN_PROCEDURES.more:
        return this.#more(value);
      default:
        return this.#cancel(value);
    }
  }

  close(): void {
    for (const { running, timer } of this.#runs.values()) {
      clearTimeout(timer);
      running.cancel();
    }
    this.#runs.clear();
  }

  async #start(value: Value): Promise<Value> {
    const { app, id, sessions, run } = isObject(value) ? value : {};
    const key = textIn(id);
    const sync = this.#syncOf(textIn(app));
    // Peers of an app that is not open have left.
    if (sync === undefined) return { answers: [] };
    if (this.#runs.size >= RUNS_MAX || this.#runs.has(key)) {
      throw new PeerError("store.busy", "too many statements run on peers of the node");
    }
    const given = run as unknown as RemoteRun;
    const numbers = sessions !== undefined && isArray(sessions) ? sessions : [];
    const running = sync.run(numbers as readonly number[], given);
    const kept: Kept = { running, answers: [], timer: undefined };
    this.#runs.set(key, kept);
    const lateMs = given.ms + REMOTE_LATE_MS - EARLY_MS;
    kept.timer = setTimeout(() => running.expire(), lateMs);
    kept.answers = await running.done;
    clearTimeout(kept.timer);
    return this.#page(key, 0);
  }

  #more(value: Value): Value {
    const { id, from } = isObject(value) ? value : {};
    return this.#page(textIn(id), Number(from));
  }

  #cancel(value: Value): Value {
    const { id } = isObject(value) ? value : {};
    this.#runs.get(textIn(id))?.running.cancel();
    return {};
  }

  #page(id: string, from: number): Value {
    const kept = this.#runs.get(id);
    if (kept === undefined) return { answers: [] };
    clearTimeout(kept.timer);
    const page = pageOf(kept.answers, from);
    if (page.next === undefined) this.#runs.delete(id);
    else kept.timer = setTimeout(() => this.#runs.delete(id), KEPT_MS);
    return page as unknown as Value;
  }
}

/** Undefined if it is not a page. */
export function answerPageIn(value: Value): AnswerPage | undefined {
  if (!isObject(value) || !isArray(value["answers"] ?? null)) return undefined;
  return value as unknown as AnswerPage;
}

/** Size of the part of an answer that the peer decides. */
export function answerSize({ items, warnings, error }: PeerAnswer): number {
  const parts = [items, warnings, error ?? null] as unknown as readonly Value[];
  return approximateSize(parts);
}

function pageOf(answers: readonly PeerAnswer[], from: number): AnswerPage {
  const page: PeerAnswer[] = [];
  let size = 0;
  for (const answer of answers.slice(from)) {
    size += answerSize(answer);
    if (size > PAGE_SIZE_MAX && page.length > 0) {
      return { answers: page, next: from + page.length };
    }
    page.push(withoutReport(answer));
  }
  return { answers: page };
}

/** The other node has a report of each session. */
function withoutReport(answer: PeerAnswer): PeerAnswer {
  const { session, items, elapsedMs, warnings, totalWarnings, error } = answer;
  return {
    session,
    items,
    elapsedMs,
    warnings,
    totalWarnings,
    ...(error !== undefined && { error }),
  };
}

/** A run as the argument of the procedure. */
export function startValue(
  app: string,
  id: string,
  sessions: readonly number[],
  run: RemoteRun,
): ValueObject {
  return { app, id, sessions, run: { ...run } };
}
