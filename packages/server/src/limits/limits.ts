/**
 * Limits of the server that clients can reach, with their reasons. Limits of the engine are in its
 * own limits.ts; sizes of pieces and caches are beside their code.
 */

import type { RateBounds } from "./minimum-rate.ts";
import type { NewcomerBounds } from "./newcomers.ts";
import type { ShareBounds } from "./shares.ts";

/** Bytes of one request body. Enough for the documents of one call; split larger loads. */
export const BODY_SIZE_MAX: number = 8 * 1024 * 1024;

/** Bytes of one body of the management API: the largest JWK set and many permissions fit. */
export const MANAGEMENT_BODY_SIZE_MAX: number = 1024 * 1024;

/** Bytes of all request bodies in memory; beyond it the answer is 503. */
export const BODIES_SIZE_MAX: number = 128 * 1024 * 1024;

/** Bytes of the bodies of one credential: half, so that others always find space. */
export const BODIES_PER_CREDENTIAL_SIZE_MAX: number = 64 * 1024 * 1024;

/**
 * Memory of the decoded values of all request bodies, and of one credential. Beyond it the answer
 * is 503, or 413 when one body alone exceeds it. Documents take three to eight times the size of
 * their JSON; nested empty lists take a hundred times.
 */
export const BODY_VALUES_SIZE_MAX: number = 160 * 1024 * 1024;
export const BODY_VALUES_PER_CREDENTIAL_SIZE_MAX: number = 96 * 1024 * 1024;

/** Fields of one object in a body, more than a document can have: it is sorted in one step. */
export const BODY_FIELDS_MAX = 32_768;

/** Sort keys: each of them is compared for each pair of documents. */
export const SORT_KEYS_MAX = 64;

/** Changes of an update command, and type overrides of an upsert: they are prepared in one step. */
export const COMMAND_FIELDS_MAX = 5_000;

/** How long a body may take to arrive. */
export const BODY_MS_MAX = 30_000;

/** How long the headers of a request may take to arrive. */
export const HEADERS_MS_MAX = 20_000;

/** Concurrent calls of the data API; beyond it the answer is 503. */
export const CALLS_MAX = 2_000;

/** Concurrent calls of one credential: half, so that others always find space. */
export const CALLS_PER_CREDENTIAL_MAX = 1_000;

/** Bytes of one answer; a larger one is 400, and must be requested in pieces. */
export const ANSWER_SIZE_MAX: number = 64 * 1024 * 1024;

/**
 * Bytes of long answers that clients have not taken yet, of all and of one credential; beyond it
 * the answer is 503. The largest answer fits into half, so that others always find space.
 */
export const ANSWERS_SIZE_MAX: number = 192 * 1024 * 1024;
export const ANSWERS_PER_CREDENTIAL_SIZE_MAX: number = 96 * 1024 * 1024;

export const ANSWER_SHARES: ShareBounds = {
  max: ANSWERS_SIZE_MAX,
  perOwnerMax: ANSWERS_PER_CREDENTIAL_SIZE_MAX,
  areGrouped: true,
};

/** Exports that are written to disk at the same time, over all apps. */
export const EXPORTS_MAX = 8;

/** What a streamed answer counts as: its buffers. */
export const STREAM_SIZE: number = 256 * 1024;

/**
 * Memory of all statements of the process, beyond what each has for free. The charge is about what
 * values take; the process takes two to three times as much until garbage is collected. With all of
 * this in use, that is about 600 MB.
 */
export const STATEMENTS_MEMORY_MAX: number = 192 * 1024 * 1024;

/** Maximum characters of an Idempotency-Key. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

/** Longest pause of an upload, and its minimum rate: 4 KB/s, which the slowest networks reach. */
export const UPLOAD_IDLE_MS_MAX = 30_000;
export const UPLOAD_RATE_MIN: RateBounds = { windowMs: 30_000, bytes: 120 * 1024 };

/**
 * Concurrent uploads, each with an open file: of all, of one app and of one credential, so that
 * others always find space. Beyond it the answer is 503.
 */
export const UPLOADS_MAX = 64;
export const UPLOADS_PER_APP_MAX = 32;
export const UPLOADS_PER_CREDENTIAL_MAX = 16;

/**
 * Uploads of one app that wait to be continued, each with a file, and those of one credential, so
 * that others always find space. Beyond it, the one without progress for the longest time is removed.
 */
export const PARTIAL_UPLOADS_MAX = 4_096;
export const PARTIAL_UPLOADS_PER_CREDENTIAL_MAX = 1_024;

/**
 * Apps open at once; beyond it the least recently used one is closed. Each has four files, up
 * to two more for its journal, and a memory map of its store, of which about twice as many fit into
 * the address space.
 */
export const OPEN_APPS_MAX = 500;

/** Bytes of the form around the content of an upload: boundaries, names, headers. */
export const FORM_SIZE_MAX: number = 64 * 1024;

/** How long an idle connection is kept: longer than proxies keep theirs. */
export const KEEP_ALIVE_MS = 65_000;

/** How often Node checks for headers that are late. */
export const CONNECTIONS_LOOK_MS = 5_000;

/** Longest pause of a client that takes a long answer, and its minimum rate: 4 KB/s. */
export const SEND_IDLE_MS_MAX = 60_000;
export const SEND_RATE_MIN: RateBounds = { windowMs: 60_000, bytes: 240 * 1024 };

/** Concurrent compressions; beyond it answers are sent uncompressed. */
export const COMPRESSIONS_MAX = 8;

/** Invalid credentials of one address within a minute that get 401; further ones get 429. */
export const WRONG_CREDENTIALS_MAX = 20;

/**
 * Bytes of the body of a login, and its time to arrive: small, because the caller is unknown. Bytes
 * of all of them in memory; beyond it the answer is 503.
 */
export const LOGIN_SIZE_MAX: number = 64 * 1024;
export const LOGIN_BODY_MS_MAX = 5_000;
export const LOGIN_BODIES_SIZE_MAX: number = 64 * 1024 * 1024;

/** Memory of their decoded values, of all and of one address. */
export const LOGIN_VALUES_SIZE_MAX: number = 32 * 1024 * 1024;
export const LOGIN_VALUES_PER_ADDRESS_SIZE_MAX: number = 8 * 1024 * 1024;

/** Memory of the decoded values of bodies of the management API. */
export const MANAGEMENT_VALUES_SIZE_MAX: number = 64 * 1024 * 1024;

/** Bytes of the identity metadata of a user, as JSON. */
export const IDENTITY_SIZE_MAX: number = 4 * 1024;

/** Concurrent requests to webhooks, each with a connection; beyond it the answer is 503. */
export const QUESTIONS_MAX = 500;

/** How long a refused client may keep sending, so that it receives the answer. */
export const LINGER_MS_MAX = 2_000;

/**
 * HTTP connections at once: each costs memory and a file descriptor. Sync connections come on top;
 * a setting limits them.
 */
export const CONNECTIONS_MAX = 10_000;

/** Open streams of changes, and those of one credential. */
export const CHANGE_STREAMS_MAX = 4_000;
export const CHANGE_STREAMS_PER_CREDENTIAL_MAX = 2_000;

/** Streams of changes that are compressed; the others are sent as they are. */
export const LIVE_COMPRESSIONS_MAX = 500;

/** A stream of changes without anything to send sends a heartbeat at least this often. */
export const CHANGES_BEAT_MS = 15_000;

/** Longest wait of a request for changes, in seconds. */
export const CHANGES_WAIT_S_MAX = 300;

/** Tickets for streams that are not used yet, and those of one credential; how long one is valid. */
export const TICKETS_MAX = 10_000;
export const TICKETS_PER_CREDENTIAL_MAX = 1_000;
export const TICKET_MS_MAX = 60_000;

/**
 * Bytes that wait on HTTP connections: pipelined requests, and requests for which there was no time
 * yet; of each listener, and of one credential or address. Beyond it the connection of a client
 * that pipelines is closed.
 */
export const HTTP_UNREAD_SIZE_MAX: number = 64 * 1024 * 1024;
export const HTTP_UNREAD_PER_OWNER_SIZE_MAX: number = 32 * 1024 * 1024;

/** Bytes after an unanswered request of one connection; beyond it the connection is closed. */
export const PIPELINED_SIZE_MAX: number = 1024 * 1024;

/** Connections of one credential: half, so that others always find space. */
export const CONNECTIONS_PER_CREDENTIAL_MAX = 5_000;

/**
 * HTTP connections without an accepted credential, of all and of one address. Half of all
 * connections remain for those with one. Even a large network has few of them at a time, because a
 * device sends its credential with its first request. At the limit of its address, a connection
 * that was open for some seconds gives way to a new one.
 */
export const HTTP_NEWCOMERS: NewcomerBounds = {
  max: 5_000,
  perAddressMax: 1_000,
  silentMsMax: 5_000,
};

/**
 * Peers without an accepted credential, of all and of one address. What those of one address send
 * fits into half of GREETINGS_SIZE_MAX. A device is one only until its first message has arrived
 * and its credential is checked, so thousands behind one address get in within seconds. At the
 * limit of its address, one that was open for a second gives way to a new one.
 */
export const SYNC_NEWCOMERS: NewcomerBounds = {
  max: 2_000,
  perAddressMax: 100,
  silentMsMax: 1_000,
};

/**
 * Share of all peers that one credential may have, so that others always find space. Nearly all,
 * because many devices may share a credential.
 */
export const SYNC_CREDENTIAL_SHARE = 0.9;

/** How long a peer may take to send `hello`, and how many bytes it may send until then. */
export const SYNC_HELLO_MS_MAX = 5_000;
export const SYNC_HELLO_SIZE_MAX: number = 192 * 1024;

/**
 * Chunks, fragments and control frames of a `hello`: each costs some hundred bytes of overhead. The
 * smallest packets, and clients that send a few kilobytes at a time, need a fraction.
 */
export const HELLO_PIECES_MAX = 512;

/**
 * Bytes that all connections have sent before they are authenticated, for peers and for links.
 * Those of one address cannot take all of it.
 */
export const GREETINGS_SIZE_MAX: number = 64 * 1024 * 1024;

/** Fragments of one message: clients with buffers of 2 KB need as many for the largest. */
export const MESSAGE_FRAGMENTS_MAX = 8_192;

/** Bytes that are read and discarded after `bye`, so that the client receives it. */
export const AFTER_END_SIZE_MAX: number = 64 * 1024;

/**
 * Bytes of messages of all peers that are incomplete or being decoded, with their overhead; beyond
 * it a peer that sends more gets `busy`. Several of the largest messages fit, and it stays far
 * below the memory of a small machine.
 */
export const SYNC_UNREAD_SIZE_MAX: number = 96 * 1024 * 1024;

/** Bytes that one peer has not taken yet; beyond it the connection is closed. */
export const SYNC_UNSENT_SIZE_MAX: number = 32 * 1024 * 1024;

/** How long peers may take to close their connections when the server closes. */
export const SYNC_CLOSE_MS_MAX = 1_000;

/**
 * Links to other Big Peers: inbound links, handshakes in progress of all and of one address, time
 * for the proof, and bytes before it. An outbound handshake may take longer: it includes name
 * resolution, connecting and encryption.
 */
export const LINKS_MAX = 1_000;
export const LINK_HANDSHAKES_MAX = 200;
export const LINK_HANDSHAKES_PER_ADDRESS_MAX = 20;
export const LINK_PROOF_MS_MAX = 5_000;
export const LINK_HANDSHAKE_MS_MAX = 10_000;
export const LINK_GREETING_SIZE_MAX: number = 4 * 1024;

/** Connections to the replication port without a link request yet, of all and of one address. */
export const LINK_NEWCOMERS: NewcomerBounds = { max: 500, perAddressMax: 100 };

/** As SYNC_UNREAD_SIZE_MAX, for all links. */
export const LINK_UNREAD_SIZE_MAX: number = 128 * 1024 * 1024;

/**
 * Downloads of one app that wait for a content from other Big Peers, and how long. Beyond it the
 * answer is 503.
 */
export const CONTENT_SEARCHES_MAX = 256;
export const CONTENT_WAIT_MS_MAX = 20_000;

/**
 * Concurrent statements on peers, of one app and of all: each may hold the maximum of answer bytes.
 * Beyond it the answer is 503.
 */
export const REMOTE_RUNS_OF_APP_MAX = 16;
export const REMOTE_RUNS_MAX = 32;

/** Peers that one statement may run on. */
export const REMOTE_PEERS_MAX = 10_000;

/** Rows and bytes of a peer's answer, and bytes of all; beyond it the peer has an error instead. */
export const REMOTE_ANSWER_ROWS_MAX = 10_000;
export const REMOTE_ANSWER_BYTES_MAX: number = 4 * 1024 * 1024;
export const REMOTE_ANSWERS_BYTES_MAX: number = 32 * 1024 * 1024;

/** How long the server waits for a peer after the deadline of the peer. */
export const REMOTE_LATE_MS = 1_000;

/** Connected peers on one page of their list, and about how many bytes. */
export const PEERS_PAGE_MAX = 1_000;
export const PEERS_PAGE_SIZE_MAX: number = 8 * 1024 * 1024;

/**
 * Records of devices of each app, and of one credential: a client can invent any number of them.
 * Bytes of the subscriptions in one record, as JSON.
 */
export const DEVICE_RECORDS_MAX = 100_000;
export const DEVICE_RECORDS_OF_ONE_MAX = 50_000;
export const DEVICE_SUBSCRIPTIONS_SIZE_MAX: number = 16 * 1024;

/**
 * Bytes that records of devices add to the change log, of one credential and of all of an app:
 * burst, and rate per second. Enough for 50,000 devices that connect on one morning, then four
 * changes a day of each. An app can fill at most half of what the log keeps in its seven days, so
 * that metadata that change often do not displace the history of documents.
 */
export const DEVICE_LOG_BYTES_OF_ONE: number = 64 * 1024 * 1024;
export const DEVICE_LOG_RATE_OF_ONE: number = 2 * 1024;
export const DEVICE_LOG_BYTES: number = 128 * 1024 * 1024;
export const DEVICE_LOG_RATE: number = 3 * 1024;

/** How long requests in progress may take when the server closes. */
export const CLOSE_MS_MAX = 10_000;

/** Longest time limit of a statement: storage ends a snapshot that is held longer. */
export const STATEMENT_TIMEOUT_MS_MAX = 60_000;

/** Characters of a path in an error. */
export const PATH_SHOWN_MAX = 200;

/** Apps of a server. */
export const APPS_MAX = 10_000;

/** API keys of one app, and replications of one app. */
export const API_KEYS_MAX = 1_000;
export const REPLICATIONS_MAX = 100;

/** Webhooks of one app, and sinks of one app. */
export const DESTINATIONS_MAX = 50;

/** Changes of one delivery, and about how many bytes. */
export const DELIVERY_CHANGES_MAX = 100;
export const DELIVERY_SIZE_MAX: number = 256 * 1024;

/** Dead letters of one webhook or sink; with more its deliveries stop. */
export const DEAD_LETTERS_MAX = 1_000;

/** Auth providers of one app: a login may have to try each of them. */
export const PROVIDERS_MAX = 20;

/** Characters of the description of an API key. */
export const DESCRIPTION_LENGTH_MAX = 1_000;

/** Longest grace period of the previous text of a rotated API key: thirty days. */
export const KEY_GRACE_SECONDS_MAX: number = 30 * 86_400;

/** Addresses of one replication, and its queries over all collections. */
export const REPLICATION_ADDRESSES_MAX = 100;
export const REPLICATION_QUERIES_MAX = 1_000;

/** How long a browser stays signed in to the console: a week. */
export const CONSOLE_SESSION_MS: number = 7 * 86_400_000;

/** Browsers that are signed in to the console; with more, the oldest session ends. */
export const CONSOLE_SESSIONS_MAX = 100;

/** Entries of each audit log; older ones are removed. */
export const AUDIT_ENTRIES_MAX = 10_000;

/**
 * How long a store may have rested when the server opens it, with a warning: a machine that was off
 * for months is far more common than a clock that is months ahead. See
 * docs/decisions/0020-rested-stores.md.
 */
export const START_REST_MS_MAX: number = 366 * 86_400_000;
