/**
 * Every limit of the server, named, with its reason. Those of the engine are in its own limits.ts.
 */

/** One request body. More than the documents of one call need; larger loads go in several calls. */
export const BODY_SIZE_MAX: number = 8 * 1024 * 1024;

/** All request bodies in memory at once: beyond it the answer is 503. */
export const BODIES_SIZE_MAX: number = 256 * 1024 * 1024;

/** How long a body may take to arrive. Shorter than REQUEST_MS_MAX, so that we give the answer. */
export const BODY_MS_MAX = 30_000;

/** How long Node lets a request, and its headers alone, take to arrive. */
export const REQUEST_MS_MAX = 60_000;
export const HEADERS_MS_MAX = 20_000;

/** How long a client may go on sending what will not be read, so that it sees the answer. */
export const LINGER_MS_MAX = 2_000;

/** Connections at once: each costs memory and a file descriptor, whatever is asked on it. */
export const CONNECTIONS_MAX = 10_000;

/** How long requests under way may take when the server closes. */
export const CLOSE_MS_MAX = 10_000;

/** The longest time that a statement can be given: storage ends a snapshot that is held longer. */
export const STATEMENT_TIMEOUT_MS_MAX = 60_000;

/** How much of a path an error repeats. */
export const PATH_SHOWN_MAX = 200;
