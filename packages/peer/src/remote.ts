/**
 * Remote statements: runs statements that the server sends on behalf of others (S44, S45).
 *
 * The app decides which ones run: by default those that only read. A statement runs like the app's
 * own, within the deadline and the limits of the request. Its writes are uploaded like any others.
 */

import type { RunReply } from "@bigpeer/engine/peer";
import type { LocalRunner, StatementResult } from "@bigpeer/engine/query";
import {
  encodeCbor,
  PeerError,
  RUN_WARNINGS_MAX,
  type RunMessage,
  type RunWarning,
  SYNC_MESSAGE_BYTES_MAX,
  type Value,
} from "@bigpeer/protocol";
import { within } from "./deadline.ts";
import type { PeerHost } from "./host/peer-host.ts";
import type { RemotePolicy, RemoteStatement } from "./options.ts";
import { type PlainObject, plainCopy } from "./plain-value.ts";

/**
 * A remote statement that has ended, with its outcome: the event `remote`.
 *
 * @example
 * const audit = ({ statement, itemCount, error }: RemoteRun): void =>
 *   console.log(statement, error?.message ?? `rows: ${itemCount}`);
 * peer.on("remote", audit);
 */
export interface RemoteRun extends RemoteStatement {
  /** Number of rows that the peer returned. */
  readonly itemCount: number;
  /** How long it took, in milliseconds. */
  readonly elapsedMs: number;
  /** Why the peer refused it, or why it failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

export interface RemoteOptions {
  readonly host: Pick<PeerHost, "after" | "loadCode" | "platform">;
  readonly runner: LocalRunner;
  readonly policy: RemotePolicy;
  readonly onRun: (run: RemoteRun) => void;
  /** Receives failures of this peer or its app, which are not errors of the statement. */
  readonly onError: (error: unknown) => void;
}

/** Approximate bytes of one piece of an answer (S45). */
const PIECE_BYTES = 32 * 1024;

/** Bytes around the rows of a message, at most. */
const AROUND_BYTES = 64 * 1024;

/** Statements in progress, including cancelled ones that have not stopped. */
const RUNNING_MAX = 64;

/** A statement in progress. */
interface Running {
  readonly run: RunMessage;
  readonly reply: RunReply;
  readonly requestId: string;
  readonly startMs: number;
  isWrite: boolean;
  /** Whether it was executed, whatever becomes of its rows. */
  isDone: boolean;
  itemCount: number;
  isCancelled: boolean;
}

export class Remote {
  readonly #options: RemoteOptions;
  readonly #running = new Set<Running>();
  /** Distinguishes the statements of this opening in the history of requests. */
  readonly #name: string;
  #count = 0;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#name = options.host.platform.random(4).join("");
  }

  /** Runs a statement and answers with `reply`: rows in pieces, the last of which has the end. */
  run(run: RunMessage, reply: RunReply): { cancel(): void } {
    const running: Running = {
      run,
      reply,
      requestId: `remote-${this.#name}-${++this.#count}`,
      startMs: performance.now(),
      isWrite: false,
      isDone: false,
      itemCount: 0,
      isCancelled: false,
    };
    this.#running.add(running);
    void this.#answer(running);
    return { cancel: () => this.#cancel(running) };
  }

  /** Cancels all statements. */
  close(): void {
    for (const running of this.#running) this.#cancel(running);
  }

  #cancel(running: Running): void {
    running.isCancelled = true;
    this.#options.runner.cancel(running.requestId, CANCELLED);
  }

  async #answer(running: Running): Promise<void> {
    const { reply } = running;
    const { platform } = this.#options.host;
    try {
      const result = await this.#perform(running);
      const rest = await sendPieces(result.items, running, () => platform.pause());
      this.#reportRun(running);
      const elapsedMs = elapsedOf(running);
      const warnings = result.warnings.slice(0, RUN_WARNINGS_MAX).map(warningOf);
      const end = { elapsedMs, warnings, totalWarnings: result.totalWarningsCount };
      reply({ items: rest, end });
    } catch (thrown) {
      const error = this.#errorOf(thrown, running);
      this.#reportRun(running, error);
      const elapsedMs = elapsedOf(running);
      if (running.isCancelled) return;
      reply({ items: [], end: { elapsedMs, warnings: [], totalWarnings: 0, error } });
    } finally {
      this.#running.delete(running);
    }
  }

  async #perform(running: Running): Promise<StatementResult> {
    const { runner, policy, host } = this.#options;
    const { run, requestId } = running;
    if (this.#running.size > RUNNING_MAX) {
      const message = `expected at most ${RUNNING_MAX} statements that are running or about to stop`;
      throw new PeerError("query.busy", message);
    }
    // Not even parsed: its errors would reveal something about the store.
    if (policy === "off") throw refused("the app of this peer runs no statements of others");
    const loading = host.loadCode(run.statement);
    if (loading !== undefined) await loading;
    const prepared = runner.prepare(run.statement);
    running.isWrite = prepared.queryType === "mutation" || prepared.work.kind === "write";
    await this.#decide(running);
    checkWanted(running);
    const { statement, args } = run;
    const timeoutMs = run.ms - elapsedOf(running);
    const result = await runner.execute({ statement, args, timeoutMs, requestId });
    running.isDone = true;
    checkWanted(running);
    if (result.items.length <= run.rows) return result;
    const message = `expected at most ${run.rows} rows, found ${result.items.length}; narrow it with WHERE or LIMIT`;
    throw new PeerError("query.too_large", message);
  }

  async #decide(running: Running): Promise<void> {
    const { policy } = this.#options;
    const { isWrite, run } = running;
    if (typeof policy !== "function") {
      if (!isWrite || policy === "write") return;
      throw refused("the app of this peer runs only statements that read");
    }
    const ask = async (): Promise<boolean> => policy(statementOf(running));
    const late = (): PeerError =>
      new PeerError("query.timeout", `the app of this peer has not decided within ${run.ms} ms`);
    const { after } = this.#options.host;
    const isAllowed: unknown = await within({ ms: run.ms, late, after }, ask).catch((error) => {
      if (error instanceof PeerError) throw error;
      // The error of the policy is for the app, not for the caller.
      this.#options.onError(error);
      return false;
    });
    if (isAllowed !== true) throw refused("the app of this peer did not allow the statement");
  }

  #errorOf(
    thrown: unknown,
    { isWrite, isDone }: Running,
  ): { readonly code: string; readonly message: string } {
    if (thrown instanceof PeerError) {
      const { code, message } = thrown;
      // A caller that takes it for not executed would repeat it.
      const written = isWrite && isDone ? "; what the statement has written stays" : "";
      return { code, message: `${message}${written}` };
    }
    this.#options.onError(thrown);
    return { code: "query.store", message: "the statement failed on the peer" };
  }

  #reportRun(running: Running, error?: { readonly code: string; readonly message: string }): void {
    const { itemCount } = running;
    const reported = { ...statementOf(running), itemCount, elapsedMs: elapsedOf(running) };
    this.#options.onRun(error === undefined ? reported : { ...reported, itemCount: 0, error });
  }
}

const CANCELLED = "the caller does not wait for the statement any more";

function refused(message: string): PeerError {
  return new PeerError("remote.refused", message);
}

function checkWanted({ isCancelled }: Running): void {
  if (isCancelled) throw new PeerError("query.timeout", CANCELLED);
}

function statementOf({ run, isWrite }: Running): RemoteStatement {
  const { statement, args } = run;
  return { statement, args: plainCopy(args) as PlainObject, isWrite };
}

function elapsedOf({ startMs }: Running): number {
  return Math.round(performance.now() - startMs);
}

function warningOf({ _id: id, description }: StatementResult["warnings"][number]): RunWarning {
  return id === undefined ? { description } : { description, id };
}

/** Sends all pieces but the last, which it returns. Yields to the event loop between pieces. */
async function sendPieces(
  items: readonly Value[],
  running: Running,
  pause: () => Promise<void>,
): Promise<readonly Value[]> {
  const { run, reply } = running;
  let piece: Value[] = [];
  let pieceBytes = 0;
  let bytes = 0;
  for (const item of items) {
    const size = encodeCbor(item).length;
    bytes += size;
    if (bytes > run.bytes || size > SYNC_MESSAGE_BYTES_MAX - AROUND_BYTES) {
      const most = Math.min(run.bytes, SYNC_MESSAGE_BYTES_MAX - AROUND_BYTES);
      const message = `expected rows of at most ${most} bytes, found more; narrow it with WHERE or LIMIT`;
      throw new PeerError("query.too_large", message);
    }
    if (piece.length > 0 && pieceBytes + size > PIECE_BYTES) {
      reply({ items: piece });
      await pause();
      checkWanted(running);
      piece = [];
      pieceBytes = 0;
    }
    piece.push(item);
    pieceBytes += size;
    running.itemCount++;
  }
  return piece;
}
