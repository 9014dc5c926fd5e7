/**
 * The limits of the engine that somebody outside can meet, named, with their reasons. Sizes of
 * pieces, caches and estimates stand beside the code that they belong to.
 */

/** Requests that may wait for the writer of one store: beyond it the answer is `store.busy`. */
export const QUEUE_LENGTH_MAX = 10_000;

/** Operations in one transaction: it is held in memory, applied in slices and flushed as one. */
export const OPERATIONS_MAX = 1_000_000;

/**
 * Memory that one transaction may take, and all others together while it is not durable, in all apps of
 * the process; see store/commit-memory.ts. 200,000 inserts of small documents in one upload fit, an UPDATE
 * of 60,000 documents of a kilobyte, one that rewrites 50 MB of text. The process takes two to three
 * times as much until garbage is collected. Younger transactions wait; they do not fail.
 */
export const TRANSACTION_BYTES_MAX: number = 224 * 1024 * 1024;
export const YOUNGER_TRANSACTIONS_BYTES_MAX: number = 32 * 1024 * 1024;

/** Approximate bytes that one flush carries before the next group must wait its turn. */
export const GROUP_BYTES_MAX: number = 16 * 1024 * 1024;

/** Indexes of one collection: each is a key to write with every document. */
export const INDEXES_MAX = 64;

/**
 * Collections of which a store remembers in memory what every write and read asks for: whoever may write
 * everything can make up any number of them. Beyond it all are forgotten, and read again.
 */
export const COLLECTIONS_REMEMBERED = 10_000;

/** Uploads of one site whose outcome is remembered; a peer has fewer than these in flight. */
export const UPLOADS_REMEMBERED = 1024;

/** Keys that one maintenance transaction may remove, so that it never holds up the writers. */
export const MAINTENANCE_BATCH = 5_000;

/**
 * Drift and rest of the clock, see crdt/clock.ts. The rest is shorter than the horizon: a leap that
 * passes unnoticed must not put the horizon into the future.
 */
export const DRIFT_MS_MAX: number = 5 * 60_000;
export const REST_MS_MAX: number = 25 * 86_400_000;

/** After a long rest that was accepted nothing is forgotten for its age so long: the clock may be wrong. */
export const RESTED_CARE_MS: number = 86_400_000;

/** A store that runs but rests notes the time this often: then only a stopped clock looks like a leap. */
export const HEARTBEAT_MS: number = 86_400_000;

/** How long the change log and tombstones are kept when nothing else is set. */
export const LOG_AGE_MS: number = 7 * 86_400_000;
export const LOG_COUNT = 10_000_000;
export const LOG_BYTES: number = 4 * 1024 * 1024 * 1024;
export const HORIZON_MS: number = 30 * 86_400_000;

/** A document larger than this is written with a warning: it syncs slowly and as a whole. */
export const DOCUMENT_SIZE_SOFT_MAX: number = 256 * 1024;

/** A statement that would make a document larger than this is refused. */
export const DOCUMENT_SIZE_MAX: number = 5 * 1024 * 1024;

/**
 * Fields of a document, those of maps inside of it included, and all values in it: fields, elements of
 * arrays, of which ten that are neither arrays nor objects count as one, and what is inside. A write to a document goes through all of them, and nobody else has a
 * turn within each pass. A document below the soft limit of its size has room for as many fields as
 * it likes, unless their names and values are of a few bytes.
 */
export const DOCUMENT_FIELDS_MAX = 20_000;
export const DOCUMENT_VALUES_MAX = 200_000;

/**
 * Stamps in the state of a document: of its fields and maps, of fields that were removed and are not
 * forgotten yet, and of what each site added to a counter. They do not show, and cost as much.
 */
export const DOCUMENT_STAMPS_MAX = 40_000;

/** Characters of one statement: larger data comes as parameters. */
export const STATEMENT_LENGTH_MAX: number = 1024 * 1024;

/**
 * Tokens of one statement or filter; each literal document of an INSERT may have as many again. They
 * are read in one piece, planned in one and compiled in one, at about a microsecond a token, and
 * nobody else has a turn meanwhile. Longer lists come as parameters.
 */
export const TOKENS_MAX = 55_000;

/** Characters of a directive: its JSON is read in one piece, and it holds a number or names of indexes. */
export const DIRECTIVE_LENGTH_MAX: number = 64 * 1024;

/** Tokens of a subscription: its text is read, planned and compiled in one piece. */
export const SUBSCRIPTION_TOKENS_MAX = 10_000;

/**
 * Values in the arguments of one subscription: thousands of ids in a list. They are hashed, and made a
 * condition, in one piece.
 */
export const SUBSCRIPTION_VALUES_MAX = 20_000;

/** Parentheses, brackets, calls and the like inside each other: each takes room on the stack. */
export const NESTING_MAX = 200;

/** Levels of the tree of an expression, which every later stage walks by recursion. */
export const EXPRESSION_DEPTH_MAX = 500;

/** Conditions in one chain of AND or OR. */
export const CONDITIONS_MAX = 10_000;

/** Expressions after GROUP BY, and after ORDER BY. */
export const TERMS_MAX = 64;

/** Joined terms of one statement; the directive #max_joins allows other numbers up to the limit. */
export const JOINS_MAX = 10;
export const JOINS_LIMIT = 64;

/** Queries inside of each other, and all of them in one statement, arms of UNION included. */
export const SUBQUERY_DEPTH_MAX = 8;
export const SUBQUERIES_MAX = 64;

/**
 * How long a statement may run, and the memory for its rows, groups and sorting: the rows of the
 * largest answer fit.
 */
export const STATEMENT_MS_MAX = 30_000;
export const RESULT_BYTES_MAX: number = 160 * 1024 * 1024;

/** How long a read or a write works before it lets others have their turn. */
export const SLICE_MS = 10;

/**
 * How long the expressions of one row, or the judgement on one document, may take: nobody else has a
 * turn meanwhile. To read the JSON text of a document of 4 MB takes about 50 ms. Steps, of about a
 * microsecond, that a row may take in any case: a machine that stalls for a moment must not end a row
 * that does little.
 */
export const ROW_MS_MAX = 75;
export const ROW_STEPS_FREE = 40_000;

/**
 * Characters of a text, bytes of binary, elements of an array and fields of an object that an
 * expression makes: each call on such a value is one piece of work, and none can become a document
 * that is larger.
 */
export const COMPUTED_SIZE_MAX: number = DOCUMENT_SIZE_MAX;

/**
 * Changes of one update command that build on each other: each of them costs as much as the whole
 * document, so that a small request could hold up the writer for long.
 */
export const UPDATE_ROUNDS_MAX = 64;

/**
 * What the writes of one upload to documents that it has written to already may cost, in bytes of
 * these documents, and what a byte of their metadata counts: each such write costs as much as the
 * whole document, and nobody else has a turn before the upload is applied.
 */
export const UPLOAD_EFFORT_MAX: number = 256 * 1024 * 1024;
export const UPLOAD_META_WEIGHT = 16;

/** Metadata of a document beyond which an upload may not add to it: it is sent to everybody. */
export const DOCUMENT_META_SIZE_MAX: number = 4 * 1024 * 1024;

/** Characters of all names and queries in the permissions of one credential. */
export const PERMISSION_LENGTH_MAX: number = 256 * 1024;

/**
 * Documents with a token of an attachment that a write judges to find one that the caller may read:
 * nobody else has a turn meanwhile. A download takes turns, and goes on until its time is over.
 */
export const REFERENCES_JUDGED_MAX = 10_000;

/** Answers that are remembered for requests sent again: how large, and for how long. */
export const REMEMBERED_ANSWER_BYTES_MAX: number = 1024 * 1024;
export const REMEMBERED_ANSWER_MS: number = 86_400_000;

/**
 * How long a site is remembered none of whose uploads was applied, counted from its last: refused
 * uploads cost nothing to make, and must not stay for ever. A peer that comes back later takes a new
 * site, which is as good, since nothing of the former had an effect.
 */
export const UNAPPLIED_SITE_MS: number = 86_400_000;

/**
 * Sites of Big Peers that a store remembers: its own former ones and those that its partners tell. Each
 * restore and each partner is one; more than a thousand are a fault of somebody, and all of them stand in
 * one message.
 */
export const SERVER_SITES_MAX = 1_000;

/**
 * New sites of one credential: how many at once, and how long one more takes. Each is a durable record.
 * One API key may stand for all devices of a company, set up in one morning; a device takes another
 * site when it is reset, copied, or used by somebody else.
 */
export const NEW_SITES_MAX = 20_000;
export const NEW_SITE_MS = 5_000;

/**
 * Refused uploads of one credential: how many at once, and how long one more takes. Each is a durable
 * record and an entry in the log, and costs its sender nothing. A fleet whose rules were set wrong for
 * an hour stays below it; above it, peers come back later and lose nothing.
 */
export const REFUSED_UPLOADS_MAX = 5_000;
export const REFUSED_UPLOAD_MS = 100;

/** When a peer of a credential that has used all of these is to come back, at least and at most. */
export const UPLOAD_WAIT_MS_MIN = 1_000;
export const UPLOAD_WAIT_MS_MAX = 60_000;

/** What a live query may hold between commits, and all of one store. */
export const LIVE_QUERY_BYTES_MAX: number = 64 * 1024 * 1024;
export const LIVE_BYTES_MAX: number = 256 * 1024 * 1024;
