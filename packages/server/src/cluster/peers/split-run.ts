/**
 * SplitRun: runs a statement on sessions of several nodes: each node asks its own, and the answers
 * are gathered here.
 *
 * The limit for all answers together holds for those of all nodes: the largest ones are dropped. A
 * node that is lost is one whose peers have left.
 */

import { randomBytes } from "node:crypto";
import type { PeerAnswer, RemoteRun, RunningRemote } from "@bigpeer/engine/sync";
import { PeerError, type Value } from "@bigpeer/protocol";
import type { NodeClient } from "../node-client.ts";
import { answerPageIn, answerSize, RUN_PROCEDURES, startValue } from "./node-runs.ts";

/** The sessions of one other node. */
export interface RunPart {
  readonly url: string;
  readonly sessions: readonly number[];
}

export interface SplitRunHost {
  readonly appId: string;
  readonly client: Pick<NodeClient, "call">;
  /** A monotonic clock. */
  readonly elapsed: () => number;
}

export interface AskedSessions {
  /** All of them, in the order of the answers. */
  readonly sessions: readonly number[];
  /** The run on the sessions of this node. */
  readonly own: RunningRemote | undefined;
  readonly parts: readonly RunPart[];
}

type Fault = NonNullable<PeerAnswer["error"]>;

const LOST: Fault = { code: "remote.lost", message: "the node of the peer cannot be reached" };
const LATE: Fault = { code: "query.timeout", message: "the peer did not answer in time" };
const CANCELLED: Fault = {
  code: "query.timeout",
  message: "the caller does not wait for the answer any more",
};
const TOO_LARGE: Fault = {
  code: "query.too_large",
  message: "the answers of all peers together are too large",
};

export class SplitRun implements RunningRemote {
  readonly done: Promise<readonly PeerAnswer[]>;
  readonly #host: SplitRunHost;
  readonly #asked: AskedSessions;
  readonly #run: RemoteRun;
  readonly #id: string = randomBytes(12).toString("hex");
  readonly #startMs: number;
  readonly #answers = new Map<number, PeerAnswer>();
  readonly #sizes = new Map<number, number>();
  readonly #abort = new AbortController();
  #size = 0;
  /** Why it does not wait any more. */
  #end: Fault | undefined;

  constructor(host: SplitRunHost, asked: AskedSessions, run: RemoteRun) {
    this.#host = host;
    this.#asked = asked;
    this.#run = run;
    this.#startMs = host.elapsed();
    this.done = this.#gather();
  }

  expire(): void {
    this.#asked.own?.expire();
    this.#stop(LATE);
  }

  cancel(): void {
    this.#asked.own?.cancel();
    this.#stop(CANCELLED);
  }

  #stop(end: Fault): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#abort.abort();
    for (const { url, sessions } of this.#asked.parts) {
      if (sessions.every((session) => this.#answers.has(session))) continue;
      // A node that is not reached stops by its own clock.
      this.#host.client.call(url, RUN_PROCEDURES.cancel, { id: this.#id }).catch(() => {});
    }
  }

  /** Never rejects. */
  async #gather(): Promise<readonly PeerAnswer[]> {
    const { sessions, own, parts } = this.#asked;
    const takeOwn = async (): Promise<void> => {
      for (const answer of (await own?.done) ?? []) this.#put(answer);
    };
    await Promise.all([takeOwn(), ...parts.map((part) => this.#askPart(part))]);
    return sessions.flatMap((session) => this.#answers.get(session) ?? []);
  }

  async #askPart({ url, sessions }: RunPart): Promise<void> {
    let fault = LOST;
    try {
      await this.#fetch(url, sessions);
    } catch (error) {
      if (error instanceof PeerError) fault = { code: "query.busy", message: error.message };
    }
    const elapsedMs = Math.round(this.#host.elapsed() - this.#startMs);
    const error = this.#end ?? fault;
    for (const session of sessions) {
      if (this.#answers.has(session)) continue;
      this.#put({ session, items: [], elapsedMs, warnings: [], totalWarnings: 0, error });
    }
  }

  async #fetch(url: string, sessions: readonly number[]): Promise<void> {
    const { appId, client } = this.#host;
    const { signal } = this.#abort;
    const own = new Set(sessions);
    const call = async (name: string, value: Value): Promise<number | undefined> => {
      const page = answerPageIn(await client.call(url, name, value, signal));
      for (const answer of page?.answers ?? []) if (own.has(answer.session)) this.#put(answer);
      return page?.next;
    };
    const start = startValue(appId, this.#id, sessions, this.#run);
    let from = await call(RUN_PROCEDURES.start, start);
    while (from !== undefined) from = await call(RUN_PROCEDURES.more, { id: this.#id, from });
  }

  /** Drops the largest answers beyond the limit, so that no peer can keep out the others. */
  #put(answer: PeerAnswer): void {
    this.#keep(answer, answerSize(answer));
    while (this.#size > this.#run.allBytes) {
      const [largest] = Array.from(this.#sizes).reduce((a, b) => (b[1] > a[1] ? b : a));
      const dropped = this.#answers.get(largest);
      if (dropped === undefined) return;
      this.#keep({ ...dropped, items: [], warnings: [], error: TOO_LARGE }, 0);
    }
  }

  #keep(answer: PeerAnswer, size: number): void {
    const { session } = answer;
    this.#size += size - (this.#sizes.get(session) ?? 0);
    this.#sizes.set(session, size);
    this.#answers.set(session, answer);
  }
}
