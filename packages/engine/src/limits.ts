/**
 * Limits of the engine that its users can reach, each with its reason. Sizes of pieces, caches and
 * estimates are defined beside their code.
 */

/** Requests that may wait for the writer of one store; beyond it the answer is `store.busy`. */
export const QUEUE_LENGTH_MAX = 10_000;

/** Operations in one transaction: it is held in memory, applied in slices and flushed as one. */
export const OPERATIONS_MAX = 1_000_000;

/**
 * Memory of the oldest transaction, and of all younger ones together until it is durable, in all
 * apps of the process; see store/commit-memory.ts. One upload of 200,000 inserts of small documents
 * fits, an UPDATE of 60,000 documents of a kilobyte, or one that rewrites 50 MB of text. The
 * process takes two to three times as much until garbage is collected. Younger transactions wait;
 * they do not fail.
 */
export const TRANSACTION_BYTES_MAX: number = 224 * 1024 * 1024;
export const YOUNGER_TRANSACTIONS_BYTES_MAX: number = 32 * 1024 * 1024;

/** Approximate bytes of one flush; beyond it, further requests wait for the next group. */
export const GROUP_BYTES_MAX: number = 16 * 1024 * 1024;

/** Indexes of one collection: each is a key to write with every document. */
export const INDEXES_MAX = 64;

/**
 * Collections for which a store caches the records that every read and write needs. A caller with
 * full write permission can create any number of them; beyond the limit the cache is cleared.
 */
export const COLLECTIONS_REMEMBERED = 10_000;

/** Uploads of one site whose outcome is remembered; a peer has fewer than these in flight. */
export const UPLOADS_REMEMBERED = 1024;

/** Keys that one maintenance transaction may remove, so that it never delays writers for long. */
export const MAINTENANCE_BATCH = 5_000;

/**
 * Drift bound and longest rest of the clock, see crdt/clock.ts. The rest is shorter than the
 * horizon: an unnoticed leap must not put the horizon into the future.
 */
export const DRIFT_MS_MAX: number = 5 * 60_000;
export const REST_MS_MAX: number = 25 * 86_400_000;

/** After an accepted long rest nothing expires by age for this long: the clock may be wrong. */
export const RESTED_CARE_MS: number = 86_400_000;

/** An idle running store writes the time this often: its rest never looks like a leap. */
export const HEARTBEAT_MS: number = 86_400_000;

/** Default retention of the change log and of tombstones. */
export const LOG_AGE_MS: number = 7 * 86_400_000;
export const LOG_COUNT = 10_000_000;
export const LOG_BYTES: number = 4 * 1024 * 1024 * 1024;
export const HORIZON_MS: number = 30 * 86_400_000;

/** A document larger than this is written with a warning: it syncs slowly and as a whole. */
export const DOCUMENT_SIZE_SOFT_MAX: number = 256 * 1024;

/** A statement that would make a document larger than this is refused. */
export const DOCUMENT_SIZE_MAX: number = 5 * 1024 * 1024;

/**
 * Fields of a document, those of nested maps included, and all values in it: fields and array
 * elements at any depth, where ten elements that are neither arrays nor objects count as one. A
 * write visits all of them, and each pass blocks the event loop. A document below the soft size
 * limit has room for any number of fields, unless names and values are only a few bytes.
 */
export const DOCUMENT_FIELDS_MAX = 20_000;
export const DOCUMENT_VALUES_MAX = 200_000;

/**
 * Stamps in the state of a document: of fields and maps, of removed fields that are not collected
 * yet, and of the sum of each site in a counter. They do not show, and cost as much as fields.
 */
export const DOCUMENT_STAMPS_MAX = 40_000;

/** Characters of one statement: larger data comes as parameters. */
export const STATEMENT_LENGTH_MAX: number = 1024 * 1024;

/**
 * Tokens of one statement or filter; each literal document of an INSERT may have as many again.
 * Reading, planning and compiling each run without a pause, at about a microsecond a token. Longer
 * lists come as parameters.
 */
export const TOKENS_MAX = 55_000;

/** Characters of a directive: its JSON, a number or names of indexes, is parsed without a pause. */
export const DIRECTIVE_LENGTH_MAX: number = 64 * 1024;

/** Tokens of a subscription: its text is parsed, planned and compiled without a pause. */
export const SUBSCRIPTION_TOKENS_MAX = 10_000;

/**
 * Values in the arguments of one subscription: thousands of ids in a list. They are hashed and made
 * a condition without a pause.
 */
export const SUBSCRIPTION_VALUES_MAX = 20_000;

/** Nesting depth of parentheses, brackets, calls and the like: each level takes stack space. */
export const NESTING_MAX = 200;

/** Depth of an expression tree, which every later stage walks by recursion. */
export const EXPRESSION_DEPTH_MAX = 500;

/** Conditions in one chain of AND or OR. */
export const CONDITIONS_MAX = 10_000;

/** Expressions after GROUP BY, and after ORDER BY. */
export const TERMS_MAX = 64;

/** Joined terms of one statement; the directive #max_joins allows other numbers up to the limit. */
export const JOINS_MAX = 10;
export const JOINS_LIMIT = 64;

/** Nesting depth of queries, and all of them in one statement, arms of UNION included. */
export const SUBQUERY_DEPTH_MAX = 8;
export const SUBQUERIES_MAX = 64;

/**
 * Time limit of a statement, and memory limit of its rows, groups and sorting: the rows of the
 * largest answer fit.
 */
export const STATEMENT_MS_MAX = 30_000;
export const RESULT_BYTES_MAX: number = 160 * 1024 * 1024;

/** Length of a time slice: how long a read or a write runs before other work gets a turn. */
export const SLICE_MS = 10;

/**
 * Time limit of the expressions of one row, or of the permission check of one document, which run
 * without a pause: parsing the JSON text of a 4 MB document takes about 50 ms. A row may always
 * take the free steps, of about a microsecond each: a machine that stalls for a moment must not end
 * a row that does little.
 */
export const ROW_MS_MAX = 75;
export const ROW_STEPS_FREE = 40_000;

/**
 * Characters of a text, bytes of binary, elements of an array and fields of an object that an
 * expression produces: each call on such a value runs without a pause, and no document can be
 * larger.
 */
export const COMPUTED_SIZE_MAX: number = DOCUMENT_SIZE_MAX;

/**
 * Changes of one update command that build on each other: each costs as much as the whole document,
 * so a small request could block the writer for long.
 */
export const UPDATE_ROUNDS_MAX = 64;

/**
 * Cost limit, in bytes, of an upload's repeated writes to the same documents, and the weight of a
 * byte of metadata in it: each such write costs as much as the whole document and runs without a
 * pause.
 */
export const UPLOAD_COST_MAX: number = 256 * 1024 * 1024;
export const UPLOAD_META_WEIGHT = 16;

/** Metadata of a document beyond which no upload may add to it: all subscribers receive it. */
export const DOCUMENT_META_SIZE_MAX: number = 4 * 1024 * 1024;

/** Characters of all names and queries in the permissions of one credential. */
export const PERMISSION_LENGTH_MAX: number = 256 * 1024;

/**
 * Documents with a token of an attachment that a write checks, without a pause, to find one that
 * the caller may read. A download pauses instead, and continues until its time limit.
 */
export const REFERENCES_CHECKED_MAX = 10_000;

/** Remembered answers of idempotent requests: maximum size, and retention. */
export const REMEMBERED_ANSWER_BYTES_MAX: number = 1024 * 1024;
export const REMEMBERED_ANSWER_MS: number = 86_400_000;

/**
 * Retention of a site none of whose uploads was applied, from its last upload: refused uploads cost
 * nothing to make, and must not stay for ever. A peer that returns later takes a new site, which is
 * as good, because nothing under the former one had an effect.
 */
export const UNAPPLIED_SITE_MS: number = 86_400_000;

/**
 * Sites of Big Peers that a store remembers: its own former ones and those that linked stores send.
 * Each restore and each partner is one. More than a thousand indicate a fault, and all of them are
 * in one message.
 */
export const SERVER_SITES_MAX = 1_000;

/**
 * Rate limit of new sites of one credential: the burst, and the time for one more. Each is a
 * durable record. One API key may serve all devices of a company, set up in one morning; a device
 * takes another site when it is reset, copied, or used by another user.
 */
export const NEW_SITES_MAX = 20_000;
export const NEW_SITE_MS = 5_000;

/**
 * Rate limit of refused uploads of one credential: the burst, and the time for one more. Each is a
 * durable record and a log entry, and costs its sender nothing. A fleet whose permissions were
 * wrong for an hour stays below it; above it, peers retry later and lose nothing.
 */
export const REFUSED_UPLOADS_MAX = 5_000;
export const REFUSED_UPLOAD_MS = 100;

/** Shortest and longest delay after which a peer beyond these limits may retry. */
export const UPLOAD_WAIT_MS_MIN = 1_000;
export const UPLOAD_WAIT_MS_MAX = 60_000;

/** Memory that a live query may hold between commits, and all of one store. */
export const LIVE_QUERY_BYTES_MAX: number = 64 * 1024 * 1024;
export const LIVE_BYTES_MAX: number = 256 * 1024 * 1024;
