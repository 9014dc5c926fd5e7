/**
 * Stream host: what the sessions of streams and the two loops that serve streams (downloads.ts,
 * rounds.ts) need from their owner, which is `Streams`.
 *
 * A stream knows its phase, and the owner knows the queues of the loops. So after each change of a
 * stream the caller passes it to `place`.
 */

import type { StreamMode, SyncCursor } from "@bigpeer/protocol";
import type { Steps } from "../../query/frame/steps.ts";
import type { StoreSnapshot } from "../../store/store.ts";
import type { PreparedStream } from "./filter.ts";
import type { ServedSession, Stream } from "./stream.ts";
import type { StreamContext } from "./stream-context.ts";

export interface StreamHost extends StreamContext {
  /** The last durable transaction. */
  newestTxn(): number;
  /** The transaction that all live streams have reached. */
  position(): number;
  pause(): Promise<void>;
  /** Reads from one snapshot, in slices, and closes the snapshot in any case. */
  read<T>(work: (snapshot: StoreSnapshot) => Steps<T>): Promise<T>;
  /** Does work that needs no snapshot, in slices. */
  run(work: Steps<void>): Promise<void> | void;

  /** Begins a stream of a session. */
  follow(
    session: ServedSession,
    prepared: PreparedStream,
    cursor: SyncCursor | undefined,
  ): StreamMode;
  /** Queues a stream for the work that its phase and its requests need. */
  place(stream: Stream): void;
  /** Chooses the next phase of a stream that is not live, and queues it. */
  advance(stream: Stream): void;
  end(stream: Stream): void;
  /** Ends a stream that cannot be served, and notifies its session. */
  fail(stream: Stream, error: unknown): void;

  /** The session does not read: its streams or outcomes wait. */
  wait(session: ServedSession): void;
  /** The session has outcomes, or room in its queue again. */
  goOn(session: ServedSession): void;
  closed(session: ServedSession): void;
}
