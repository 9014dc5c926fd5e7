/**
 * Change stream: writes the changes of one reader to one response, as fast as its client takes them.
 *
 * Nothing is read from the feed before the client has taken what was sent, so a slow client holds
 * one batch. When the permissions of its credential may have changed, lines that were read before
 * are read again with the new ones.
 */

import { performance } from "node:perf_hooks";
import { type ChangeBatch, type ChangeReader, ChangesGone } from "@bigpeer/engine/changes";
import type { Authority } from "@bigpeer/engine/query";
import { PeerError, stringifyJson } from "@bigpeer/protocol";
import type { LiveSink } from "../http/answer.ts";
import { CHANGES_BEAT_MS } from "../limits/limits.ts";
import type { ChangeFormat } from "./change-format.ts";

/** Why a stream ends; the client sees it in the last marker. */
export type StreamEnd = "closing" | "credential" | "gone" | "failed";

/** The caller now; undefined if the credential is no longer valid. */
export type FindCaller = () => CallerNow | undefined | Promise<CallerNow | undefined>;

export interface CallerNow {
  readonly authority: Authority | undefined;
}

export interface ChangeStreamOptions {
  readonly reader: ChangeReader;
  readonly authority: Authority | undefined;
  readonly format: ChangeFormat;
  readonly waitMs: number | undefined;
  readonly findCaller: FindCaller;
  readonly onLines: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Characters of a long-poll answer after which it ends. */
const POLL_LENGTH: number = 1024 * 1024;

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  readonly #reader: ChangeReader;
  #authority: Authority | undefined;
  /** Everything up to here was written. */
  #cursor: string;
  /** Increases whenever the caller may have changed. */
  #checks = 0;
  #end: StreamEnd | undefined;
  #isReady = false;
  /** The time of a long poll is over: it waits no more. */
  #isLate = false;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#authority = options.authority;
    this.#cursor = options.reader.cursor;
  }

  /** The credential may have other permissions now, or none. */
  check(): void {
    this.#checks++;
    this.#reader.wake();
  }

  /** Ends the stream with a hint for the client. */
  end(reason: StreamEnd): void {
    this.#end ??= reason;
    this.#reader.wake();
  }

  /** Call instead of `run`, when nothing can be sent. */
  drop(): void {
    this.#reader.close();
  }

  /** Resolves when the stream is over. Never rejects. */
  async run(sink: LiveSink): Promise<void> {
    const beat = setInterval(() => this.#reader.wake(), CHANGES_BEAT_MS);
    const stopWatching = sink.onOver(() => this.#reader.wake());
    try {
      if (this.#options.waitMs === undefined) await this.#stream(sink);
      else await this.#poll(sink, this.#options.waitMs);
    } catch (error) {
      await this.#fail(error, sink);
    } finally {
      clearInterval(beat);
      stopWatching();
      this.#reader.close();
    }
  }

  async #stream(sink: LiveSink): Promise<void> {
    if (!this.#reader.isInitial) await this.#writeReady(sink);
    let spokenMs = performance.now();
    for (;;) {
      const batch = await this.#next(sink);
      if (batch === undefined) return;
      if (batch.lines.length > 0) {
        await this.#writeLines(batch, sink);
        spokenMs = performance.now();
      }
      if (!this.#isReady && !this.#reader.isInitial) await this.#writeReady(sink);
      this.#cursor = this.#reader.cursor;
      if (performance.now() - spokenMs < CHANGES_BEAT_MS / 2) continue;
      spokenMs = performance.now();
      await this.#writeMarker({ marker: "heartbeat" }, sink);
    }
  }

  /** Ends with the first lines, or after the time; the last marker has the cursor to continue. */
  async #poll(sink: LiveSink, waitMs: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.#reader.wake();
    }, waitMs);
    let length = 0;
    try {
      for (;;) {
        const batch = await this.#next(sink);
        if (batch === undefined) return;
        if (batch.lines.length > 0) await this.#writeLines(batch, sink);
        for (const { json } of batch.lines) length += json.length;
        this.#cursor = this.#reader.cursor;
        const isOver = this.#isLate && (batch.isCurrent || length > 0);
        const isEnough = length > 0 && batch.isCurrent && !this.#reader.isInitial;
        if (isEnough || isOver || length > POLL_LENGTH) break;
      }
    } finally {
      clearTimeout(timer);
    }
    await this.#writeMarker({ marker: "ready" }, sink);
  }

  /** The next batch that the caller may see now; undefined when the stream is over. */
  async #next(sink: LiveSink): Promise<ChangeBatch | undefined> {
    for (;;) {
      if (sink.isOver) return undefined;
      if (this.#end !== undefined) return this.#writeEnd(this.#end, sink);
      const checks = this.#checks;
      const batch = await this.#reader.next({ mayWait: !this.#isLate });
      if (sink.isOver) return undefined;
      if (this.#end !== undefined) continue;
      const caller = await this.#options.findCaller();
      if (caller === undefined) {
        this.#end ??= "credential";
        continue;
      }
      if (checks === this.#checks && this.#isSame(caller)) return batch;
      // The lines may be of the former permissions: they are read again.
      this.#reader.undo();
      this.#authority = caller.authority;
      this.#reader.setAuthority(caller.authority);
    }
  }

  /** A token that is verified anew brings an equal authority, which is another object. */
  #isSame({ authority }: CallerNow): boolean {
    if (authority === this.#authority) return true;
    if (!this.#reader.hasPermissionsOf(authority)) return false;
    this.#authority = authority;
    return true;
  }

  async #writeLines({ lines }: ChangeBatch, sink: LiveSink): Promise<void> {
    const { format, onLines } = this.#options;
    onLines(lines.length);
    this.#cursor = lines.at(-1)?.cursor ?? this.#cursor;
    await sink.write(format.encode(lines));
  }

  async #writeReady(sink: LiveSink): Promise<void> {
    this.#isReady = true;
    this.#cursor = this.#reader.cursor;
    await this.#writeMarker({ marker: "ready" }, sink);
  }

  async #writeEnd(reason: StreamEnd, sink: LiveSink): Promise<undefined> {
    await this.#writeMarker({ marker: "end", reason }, sink);
    return undefined;
  }

  async #writeMarker(marker: { readonly [name: string]: string }, sink: LiveSink): Promise<void> {
    await sink.write(this.#options.format.marker(stringifyJson(marker), this.#cursor));
  }

  async #fail(error: unknown, sink: LiveSink): Promise<void> {
    if (sink.isOver) return;
    if (error instanceof ChangesGone) {
      const { message, oldest } = error;
      await this.#writeMarker({ marker: "end", reason: "gone", message, oldest }, sink);
    } else if (error instanceof PeerError && error.code === "store.closed") {
      await this.#writeEnd("closing", sink);
    } else {
      const isOfQuery = error instanceof PeerError && error.code.startsWith("query.");
      if (!isOfQuery) this.#options.onFault(error);
      const message = isOfQuery ? error.message : "an unexpected error of the server";
      await this.#writeMarker({ marker: "end", reason: "failed", message }, sink);
    }
  }
}
