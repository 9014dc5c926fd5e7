/**
 * LogWriter: appends entries to the shared log for the evaluating node, one after the other.
 *
 * It knows the end of the chain, and every append names it. If another node has appended meanwhile,
 * this one is no longer the evaluating node: its entry is rejected, and it must not write again. An
 * append whose answer is lost is sent again until its outcome is known: only what was definitely
 * rejected may be evaluated elsewhere.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import type { LogPosition } from "./log-chain.ts";
import {
  type EntryContent,
  encodeEntry,
  NEWEST_ENTRY_FORMAT,
  OLDEST_ENTRY_FORMAT,
} from "./log-entry.ts";
import type { SharedLog } from "./shared-log.ts";

/** A leader that was just elected may not know its last entries yet: it is asked again. */
const SHORTER_MAX = 15;

/** Random bytes of the name of a writer. */
const WRITER_SIZE = 16;

export interface LogWriterHost {
  readonly log: SharedLog;
  readonly platform: Pick<Platform, "sha256" | "random" | "elapsed">;
  /** Waits before an append is sent again; `attempt` counts from 1. */
  readonly wait: (attempt: number) => Promise<void>;
  /** The name of this node, which is part of the name of the writer. */
  readonly node: string;
  /**
   * The newest format of entries that every node of the cluster reads, as far as the host knows now;
   * by default the newest of this version. A node that reads less stops at such an entry.
   */
  readonly entryFormat?: (() => number) | undefined;
  /** The newest format of this version, if tests replace it. */
  readonly newestFormat?: number | undefined;
  /** Called once, when this node is no longer the evaluating node. */
  readonly onDeposed?: () => void;
}

/** An entry without transactions: it begins an epoch, or confirms that this one goes on. */
export const EMPTY_CONTENT: EntryContent = { kind: "transactions", transactions: [] };

export class LogWriter {
  readonly #host: LogWriterHost;
  #last: LogPosition;
  #isDeposed = false;
  /** Of the last entry. */
  #format: number = OLDEST_ENTRY_FORMAT;
  /** When the append under way began. */
  #startMs: number | undefined;

  private constructor(host: LogWriterHost, last: LogPosition) {
    this.#host = host;
    this.#last = last;
  }

  /**
   * Makes this node the evaluating node: begins a new epoch behind `last`, the end of the log as
   * this node knows it. Rejects with `cluster.elsewhere` if that is not its end.
   */
  static async begin(
    host: LogWriterHost,
    last: LogPosition,
    content: EntryContent = EMPTY_CONTENT,
  ): Promise<LogWriter> {
    const name = `${host.node}.${hexOf(host.platform.random(WRITER_SIZE))}`;
    const writer = new LogWriter(host, { ...last, epoch: last.epoch + 1, writer: name });
    await writer.append(content);
    return writer;
  }

  /** The last entry of the log. */
  get last(): LogPosition {
    return this.#last;
  }

  get isDeposed(): boolean {
    return this.#isDeposed;
  }

  /** For how long the append under way has waited for its outcome; 0 without one. */
  get waitingMs(): number {
    if (this.#startMs === undefined) return 0;
    return this.#host.platform.elapsed() - this.#startMs;
  }

  /**
   * Resolves when the entry is durable, with its sequence. Rejects with `cluster.elsewhere` if it
   * was not appended and never will be, and with `store.corrupt` if the log has lost entries.
   */
  async append(content: EntryContent): Promise<number> {
    assert(this.#startMs === undefined, "one append at a time");
    if (this.#isDeposed) throw deposed();
    this.#startMs = this.#host.platform.elapsed();
    try {
      return await this.#append(content);
    } finally {
      this.#startMs = undefined;
    }
  }

  /** Appends nothing more. What is under way is not affected. */
  resign(): void {
    this.#isDeposed = true;
  }

  async #append(content: EntryContent): Promise<number> {
    const { sequence: after, digest: previous, epoch, writer } = this.#last;
    // The parts of a flush are of one format, also if the last old node is replaced meanwhile.
    const isContinued = content.kind === "part" && content.number > 1;
    // An old node that comes later cannot read the newer entries before this one either.
    if (!isContinued) this.#format = Math.max(this.#format, formatOf(this.#host));
    const entry = { format: this.#format, epoch, writer, previous, content };
    const { bytes, digest } = encodeEntry(entry, this.#host.platform);
    const sequence = await this.#outcomeOf(bytes, digest, after);
    if (sequence === undefined) {
      this.#isDeposed = true;
      this.#host.onDeposed?.();
      throw deposed();
    }
    this.#last = { sequence, digest, epoch, writer };
    return sequence;
  }

  /** Its sequence; undefined when it was rejected. */
  async #outcomeOf(
    bytes: Uint8Array,
    digest: Uint8Array,
    after: number,
  ): Promise<number | undefined> {
    const { log, wait } = this.#host;
    const target = { after, id: hexOf(digest) };
    let shorter = 0;
    for (let attempt = 1; ; attempt++) {
      const outcome = await log.append(bytes, target);
      if (outcome.kind === "appended") return outcome.sequence;
      if (outcome.kind === "refused") return this.#find(digest, after);
      shorter = (await this.#isShorter(after)) ? shorter + 1 : 0;
      if (shorter > SHORTER_MAX) throw lostEntries(after);
      await wait(attempt);
    }
  }

  /** Whether the log ends before an entry that it has acknowledged. */
  async #isShorter(after: number): Promise<boolean> {
    try {
      return (await this.#host.log.end()) < after;
    } catch {
      return false;
    }
  }

  /**
   * Whether the entry is the next one after all: an append whose answer was lost, and that was sent
   * again when the log no longer knew its id.
   */
  async #find(digest: Uint8Array, after: number): Promise<number | undefined> {
    const { log, platform, wait } = this.#host;
    for (let attempt = 1; ; attempt++) {
      try {
        const next = await log.next(after);
        // The log refused it because there is a later entry.
        if (next !== undefined) {
          const isOwn = hexOf(platform.sha256(next.bytes)) === hexOf(digest);
          return isOwn ? next.sequence : undefined;
        }
      } catch {
        // The log cannot be reached now.
      }
      await wait(attempt);
    }
  }
}

/** The node that wrote an entry, by the name of its writer. */
export function nodeOfWriter(writer: string): string {
  return writer.slice(0, writer.lastIndexOf("."));
}

/** A node that reads no format that this one writes is told by the entry itself to be upgraded. */
export function formatOf({
  entryFormat,
  newestFormat = NEWEST_ENTRY_FORMAT,
}: Pick<LogWriterHost, "entryFormat" | "newestFormat">): number {
  const known = entryFormat?.() ?? newestFormat;
  return Math.max(OLDEST_ENTRY_FORMAT, Math.min(newestFormat, known));
}

function lostEntries(after: number): PeerError {
  const message = `expected the log of the cluster to have entry ${after}, which it acknowledged`;
  const hint = "see docs/cluster.md, When the log has lost entries";
  return new PeerError("store.corrupt", message, { hint });
}

function deposed(): PeerError {
  const message = "another node of the cluster evaluates the writes of this app now; retry";
  return new PeerError("cluster.elsewhere", message);
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
