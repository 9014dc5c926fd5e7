/**
 * The bounds of the data plane: what is queued, sent and gathered at once.
 */

export interface StreamLimits {
  /** Bytes that may be on their way to one session (S22). */
  readonly queueBytes: number;
  /** With more than these on their way, pieces of downloads wait. */
  readonly roomBytes: number;
  /** The size that frames aim at. */
  readonly frameBytes: number;
  /** What a round may hold for one filter: more is not sent as one (S23). */
  readonly roundBytes: number;
  /** What a catch-up sends to one stream at once. */
  readonly catchUpBytes: number;
  /** Encoded documents that a round or a catch-up may hold for everybody together. */
  readonly heldBytes: number;
  /** Documents of one piece of a fill, and those that are looked at for it. */
  readonly pieceDocuments: number;
  readonly pieceLooks: number;
  /** Ids that an index or a condition may name before the collection is read instead. */
  readonly namedIds: number;
  /** Transactions that a stream may lack when it becomes live in a round. */
  readonly joinTransactions: number;
  /** Transactions since a cursor beyond which versions are compared instead. */
  readonly resumeTransactions: number;
  /** Changes, and approximate bytes of the log, that are gathered at once. */
  readonly gatheredChanges: number;
  readonly gatheredBytes: number;
  /** How long a session is slowed at most, and how long it must keep up to be forgiven. */
  readonly pauseMs: number;
  readonly forgivenMs: number;
  /** Bytes of the ids that a session may want and not have been given yet. */
  readonly wantedBytes: number;
  /** Steps that the evaluation of a condition for one change may take without being counted. */
  readonly freeWork: number;
  /** Counted steps that a session may use at once, and for each second (about a microsecond each). */
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
