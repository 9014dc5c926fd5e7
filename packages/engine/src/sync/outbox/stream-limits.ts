/**
 * Stream limits: how much the streams queue, send and gather at once.
 */

export interface StreamLimits {
  /** Bytes that may be queued for one session (S22). */
  readonly queueBytes: number;
  /** Pieces of downloads wait while more than this is queued. */
  readonly roomBytes: number;
  /** Target size of a frame. */
  readonly frameBytes: number;
  /** Bytes of a round for one filter; more is sent in parts (S23). */
  readonly roundBytes: number;
  /** Bytes that a catch-up sends to one stream at once. */
  readonly catchUpBytes: number;
  /** Bytes of encoded documents that a round or a catch-up may hold for all streams together. */
  readonly heldBytes: number;
  /** Documents of one piece of a fill, and documents that are read for it. */
  readonly pieceDocuments: number;
  readonly pieceLooks: number;
  /** Ids that an index or a condition may name; beyond it the collection is scanned. */
  readonly namedIds: number;
  /** Transactions that a stream may lack to become live in a round. */
  readonly joinTransactions: number;
  /** Transactions since a cursor beyond which the server compares (S13). */
  readonly resumeTransactions: number;
  /** Changes, and approximate bytes of the log, that are gathered at once. */
  readonly gatheredChanges: number;
  readonly gatheredBytes: number;
  /** Longest pause of a slow session, and how long it must keep up until falls are forgotten. */
  readonly pauseMs: number;
  readonly forgivenMs: number;
  /** Bytes of requested ids that a session may have without an answer (S70). */
  readonly wantedBytes: number;
  /** Steps that the evaluation of a condition for one change may take free of charge. */
  readonly freeWork: number;
  /** Charged steps that a session may use at once, and per second (about a microsecond each). */
  readonly workAtOnce: number;
  readonly workPerSecond: number;
}

const MB = 1024 * 1024;

export const STREAM_LIMITS: StreamLimits = {
  queueBytes: 4 * MB,
  roomBytes: MB,
  frameBytes: 256 * 1024,
  roundBytes: 4 * MB,
  catchUpBytes: MB,
  heldBytes: 32 * MB,
  pieceDocuments: 1000,
  pieceLooks: 5000,
  namedIds: 10_000,
  joinTransactions: 2000,
  resumeTransactions: 50_000,
  gatheredChanges: 100_000,
  gatheredBytes: 64 * MB,
  pauseMs: 30_000,
  forgivenMs: 60_000,
  wantedBytes: 16 * MB,
  freeWork: 100,
  workAtOnce: 5_000_000,
  workPerSecond: 250_000,
};
