/**
 * Remote execution: runs a statement on selected peers of an app and collects their answers.
 *
 * place taken ──> peers selected ──> in the audit log ──> asked ──> all answered, late or gone
 *
 * Nothing is sent before its audit entry is durable. Each peer has a deadline; the server's is a
 * second later (S46), so the caller is answered by then, whatever the peers do. If the caller
 * disconnects, the statement is cancelled.
 */

import type { ChosenPeers, StatementRunner, SystemRow } from "@bigpeer/engine/query";
import {
  type PeerAnswer,
  type PeerReport,
  peerRow,
  type RemoteRun,
  type RunningRemote,
  type SyncServer,
} from "@bigpeer/engine/sync";
import { PeerError } from "@bigpeer/protocol";
import type { Credential } from "../auth/credential.ts";
import { Refusal, unavailable } from "../http/refusal.ts";
import {
  ANSWER_SIZE_MAX,
  REMOTE_ANSWER_BYTES_MAX,
  REMOTE_ANSWER_ROWS_MAX,
  REMOTE_ANSWERS_BYTES_MAX,
  REMOTE_LATE_MS,
  REMOTE_PEERS_MAX,
  REMOTE_RUNS_MAX,
  REMOTE_RUNS_OF_APP_MAX,
} from "../limits/limits.ts";
import { LONG_WORK } from "../limits/loop-share.ts";
import type { Log } from "../observability/log.ts";
import { cutStatement, remoteRunLine } from "../observability/log-events.ts";
import type { EndedRun, PeerResult, RunResult } from "../observability/metric-sources.ts";
import { targetOfApp } from "../registry/apps.ts";
import type { AuditAction, Author } from "../registry/audit-log.ts";
import { reportsOf } from "./device-rows.ts";
import { fittingAnswers, type RemoteAnswer } from "./fitting-answers.ts";

export interface RemoteExecutionOptions {
  /** The sync server of an app; undefined if no peer has connected since it was opened. */
  readonly syncOf: (appId: string) => SyncServer | undefined;
  /** Starts a run on sessions of other nodes of a cluster as well; left out, by the sync server. */
  readonly start?: (appId: string, sync: SyncServer, asked: AskedRun) => RunningRemote;
  /** Writes a run to the audit log. Resolves when that is durable. */
  readonly record: (author: Author, action: AuditAction) => Promise<void>;
  /** How long the statement may take on each peer. */
  readonly timeoutMs: number;
  /** A monotonic clock. */
  readonly elapsed: () => number;
  readonly log: Log;
  /** Peers of one run, at most; see limits.ts. */
  readonly peersMax?: number;
  /** Called with each run that ended. */
  readonly onEnd?: (run: EndedRun) => void;
}

/** A statement, and the sessions that it runs on. */
export interface AskedRun {
  readonly sessions: readonly number[];
  readonly run: RemoteRun;
}

/** An app as a run sees it. */
export interface AskedApp {
  readonly id: string;
  readonly name: string;
  readonly statements: Pick<StatementRunner, "selectPeers" | "cancel">;
}

export interface RemoteCall {
  readonly app: AskedApp;
  readonly credential: Pick<Credential, "id" | "authority">;
  readonly requestId: string;
  /** Address of the caller. */
  readonly remoteAddress?: string;
  /** Includes its SYNC CONTEXT. */
  readonly statement: string;
  readonly args: unknown;
  /** Calls `listener` when the caller has disconnected. Returns a function that removes it. */
  onHangUp(listener: () => void): () => void;
}

/** Answers in the order of the peers, or why nothing was run. */
export type RemoteOutcome =
  | { readonly kind: "done"; readonly answers: readonly RemoteAnswer[] }
  | { readonly kind: "failed"; readonly description: string };

/** Error codes with a result of their own; a peer may send any code. */
const PEER_RESULTS: ReadonlyMap<string, PeerResult> = new Map([
  ["remote.refused", "refused"],
  ["remote.lost", "lost"],
  ["query.timeout", "timeout"],
  ["query.busy", "busy"],
]);

const RETRY_SECONDS = 1;

const NONE: RemoteOutcome = { kind: "done", answers: [] };

/** State of a call, for its end. */
interface Progress {
  isGone: boolean;
  running: RunningRemote | undefined;
  answers: readonly RemoteAnswer[];
}

export class RemoteExecution {
  readonly #options: RemoteExecutionOptions;
  /** Number of running calls, by app. */
  readonly #runs = new Map<string, number>();
  #runCount = 0;

  constructor(options: RemoteExecutionOptions) {
    this.#options = options;
  }

  /**
   * Throws a Refusal, 503, if too much is running, and the errors of the statement. Resolves even
   * if the caller has disconnected: then the result is not used.
   */
  async run(call: RemoteCall): Promise<RemoteOutcome> {
    const { elapsed } = this.#options;
    const startMs = elapsed();
    const progress: Progress = { isGone: false, running: undefined, answers: [] };
    let result: RunResult = "failed";
    try {
      this.#enter(call.app.id);
      try {
        const outcome = await this.#select(call, progress);
        if (outcome.kind === "done") result = progress.isGone ? "cancelled" : "done";
        return outcome;
      } finally {
        this.#leave(call.app.id);
      }
    } catch (error) {
      result = progress.isGone ? "cancelled" : resultOf(error);
      throw error;
    } finally {
      const peers = progress.answers.map(peerResult);
      this.#options.onEnd?.({ result, elapsedMs: elapsed() - startMs, peers });
    }
  }

  #enter(appId: string): void {
    const count = this.#runs.get(appId) ?? 0;
    if (count >= REMOTE_RUNS_OF_APP_MAX) {
      throw unavailable("too many statements run on peers of this app", RETRY_SECONDS);
    }
    if (this.#runCount >= REMOTE_RUNS_MAX) {
      throw unavailable("too many statements run on peers", RETRY_SECONDS);
    }
    this.#runs.set(appId, count + 1);
    this.#runCount++;
  }

  #leave(appId: string): void {
    const count = (this.#runs.get(appId) ?? 0) - 1;
    if (count > 0) this.#runs.set(appId, count);
    else this.#runs.delete(appId);
    this.#runCount--;
  }

  async #select(call: RemoteCall, progress: Progress): Promise<RemoteOutcome> {
    const { app, credential, requestId, statement, args } = call;
    const stop = call.onHangUp(() => {
      progress.isGone = true;
      app.statements.cancel(requestId, "the client left");
      progress.running?.cancel();
    });
    try {
      // Many may begin at once, and there may be thousands of peers to select from.
      await LONG_WORK.turn();
      const sync = this.#options.syncOf(app.id);
      const reports = new Map<SystemRow, PeerReport>();
      const { authority } = credential;
      const request = { statement, args, authority, requestId };
      const chosen = await app.statements.selectPeers(request, rowsOf(sync, reports));
      const asked = new Map<number, PeerReport>();
      for (const row of chosen.selected) {
        const report = reports.get(row);
        if (report !== undefined) asked.set(report.session, report);
      }
      if (sync === undefined || asked.size === 0 || progress.isGone) return NONE;
      const { peersMax = REMOTE_PEERS_MAX } = this.#options;
      if (asked.size > peersMax) return { kind: "failed", description: tooMany(peersMax) };
      await this.#record(call, asked.size);
      // One write may have recorded many runs.
      await LONG_WORK.turn();
      // If the caller disconnected during the write, no peer is asked.
      if (progress.isGone) return NONE;
      const run = this.#runOf(chosen);
      progress.running = this.#start(app.id, sync, { sessions: Array.from(asked.keys()), run });
      const answers = await this.#answers(progress.running, call);
      const known = answers.flatMap((answer) => {
        const report = answer.report ?? asked.get(answer.session);
        return report === undefined ? [] : [{ ...answer, report }];
      });
      progress.answers = await fittingAnswers(known, ANSWER_SIZE_MAX);
      return { kind: "done", answers: progress.answers };
    } finally {
      stop();
    }
  }

  #start(appId: string, sync: SyncServer, asked: AskedRun): RunningRemote {
    const { start } = this.#options;
    return start?.(appId, sync, asked) ?? sync.run(asked.sessions, asked.run);
  }

  #runOf({ statement, args }: ChosenPeers): RemoteRun {
    return {
      statement,
      args,
      ms: this.#options.timeoutMs,
      rows: REMOTE_ANSWER_ROWS_MAX,
      bytes: REMOTE_ANSWER_BYTES_MAX,
      allBytes: REMOTE_ANSWERS_BYTES_MAX,
    };
  }

  async #answers(running: RunningRemote, call: RemoteCall): Promise<readonly PeerAnswer[]> {
    const { timeoutMs, elapsed, log } = this.#options;
    const startMs = elapsed();
    const timer = setTimeout(() => running.expire(), timeoutMs + REMOTE_LATE_MS);
    try {
      const answers = await running.done;
      remoteRunLine(log, {
        requestId: call.requestId,
        appId: call.app.id,
        credentialId: call.credential.id,
        elapsedMs: elapsed() - startMs,
        results: answers.map(peerResult),
      });
      return answers;
    } finally {
      clearTimeout(timer);
    }
  }

  #record(call: RemoteCall, count: number): Promise<void> {
    const { app, credential, requestId, remoteAddress: address, statement } = call;
    const author = { actor: credential.id, requestId, ...(address !== undefined && { address }) };
    const detail = `${count} ${count === 1 ? "peer" : "peers"}: ${cutStatement(statement)}`;
    return this.#options.record(author, {
      action: "remote.execute",
      target: targetOfApp(app.name),
      detail,
    });
  }
}

function tooMany(max: number): string {
  return `expected at most ${max} peers at a time; choose fewer with WHERE (query.too_large)`;
}

function* rowsOf(
  sync: SyncServer | undefined,
  reports: Map<SystemRow, PeerReport>,
): Iterable<SystemRow> {
  for (const report of sync === undefined ? [] : reportsOf(sync)) {
    const row = peerRow(report);
    reports.set(row, report);
    yield row;
  }
}

function resultOf(error: unknown): RunResult {
  if (error instanceof Refusal) return error.status === 503 ? "busy" : "refused";
  return error instanceof PeerError ? "refused" : "failed";
}

function peerResult({ error }: PeerAnswer): PeerResult {
  return error === undefined ? "answered" : (PEER_RESULTS.get(error.code) ?? "failed");
}
