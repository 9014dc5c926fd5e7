/**
 * The limits of the server that somebody outside can meet, named, with their reasons. Those of the
 * engine are in its own limits.ts; sizes of pieces and caches stand beside their code.
 */

import type { RateBounds } from "./http/minimum-rate.ts";
import type { NewcomerBounds } from "./newcomers.ts";
import type { ShareBounds } from "./shares.ts";

/** One request body. More than the documents of one call need; larger loads go in several calls. */
export const BODY_SIZE_MAX: number = 8 * 1024 * 1024;

/** One body of the management API: the largest JWK set and many permissions fit into it. */
export const MANAGEMENT_BODY_SIZE_MAX: number = 1024 * 1024;

/** All request bodies in memory at once: beyond it the answer is 503. */
export const BODIES_SIZE_MAX: number = 128 * 1024 * 1024;

/** Those of one credential: half, so that others always find room. */
export const BODIES_PER_CREDENTIAL_SIZE_MAX: number = 64 * 1024 * 1024;

/**
 * What the values of all request bodies may take in memory, and those of one credential: beyond it
 * the answer is 503, and 413 when one body alone is beyond it. Documents take three to eight times the size
 * of their JSON; what is made of empty lists, a hundred times.
 */
export const BODY_VALUES_SIZE_MAX: number = 160 * 1024 * 1024;
export const BODY_VALUES_PER_CREDENTIAL_SIZE_MAX: number = 96 * 1024 * 1024;

/** Fields of one object in a body, more than a document can have: it is put in order, and checked, in one piece. */
export const BODY_FIELDS_MAX = 32_768;

/** Keys that documents are sorted by: each of them is compared for each pair of documents. */
export const SORT_KEYS_MAX = 64;

/** Changes of one update command, and type overrides of one upsert: they are prepared in one piece. */
export const COMMAND_FIELDS_MAX = 5_000;

/** How long a body may take to arrive. */
export const BODY_MS_MAX = 30_000;

/** How long Node lets the headers of a request take to arrive. */
export const HEADERS_MS_MAX = 20_000;

/** Calls of the data API that are worked on at once: beyond it the answer is 503. */
export const CALLS_MAX = 2_000;

/** Those of one credential: half, so that others always find room. Beyond it the answer is 503. */
export const CALLS_PER_CREDENTIAL_MAX = 1_000;

/** One answer in bytes: more is 400, to be asked for in pieces. */
export const ANSWER_SIZE_MAX: number = 64 * 1024 * 1024;

/**
 * Long answers that their clients have not taken yet, all together and of one credential: beyond it
 * the answer is 503. The largest answer fits into half of it, so that others always find room.
 */
export const ANSWERS_SIZE_MAX: number = 192 * 1024 * 1024;
export const ANSWERS_PER_CREDENTIAL_SIZE_MAX: number = 96 * 1024 * 1024;

export const ANSWER_SHARES: ShareBounds = {
  max: ANSWERS_SIZE_MAX,
  perOwnerMax: ANSWERS_PER_CREDENTIAL_SIZE_MAX,
  areGrouped: true,
};

/** What an answer takes of it that is read from a file while it is sent: its buffers. */
export const STREAM_SIZE: number = 256 * 1024;

/**
 * Memory that all statements of the process may have together, beside what each has for free. What is
 * charged is about what values take; the process takes two to three times as much, until garbage is
 * collected: with all of this taken, about 600 MB.
 */
export const STATEMENTS_MEMORY_MAX: number = 192 * 1024 * 1024;

/** Characters of an Idempotency-Key. */
export const REPEAT_KEY_LENGTH_MAX = 255;

/** How long an upload may pause, and what must come of it: 4 KB/s, which the slowest networks have. */
export const UPLOAD_IDLE_MS_MAX = 30_000;
export const UPLOAD_RATE_MIN: RateBounds = { windowMs: 30_000, bytes: 120 * 1024 };

/**
 * Uploads at once, each with a file that is open: of all, of one app and of one credential, so that
 * others always find room. Beyond it the answer is 503.
 */
export const UPLOADS_MAX = 64;
export const UPLOADS_PER_APP_MAX = 32;
export const UPLOADS_PER_CREDENTIAL_MAX = 16;

/**
 * Apps that are open at once; beyond it the one that was longest without use is closed. Each has four
 * files, and a mapping of its store: of those, about twice as many fit into the address space.
 */
export const OPEN_APPS_MAX = 500;

/** What may stand around the content in the body of an upload: boundaries, names, headers. */
export const FORM_SIZE_MAX: number = 64 * 1024;

/** How long a connection may wait for its next request: longer than proxies keep theirs. */
export const KEEP_ALIVE_MS = 65_000;

/** How often Node looks for headers that do not come. */
export const CONNECTIONS_LOOK_MS = 5_000;

/** How long a client may stop taking a long answer, and what it must take of it: 4 KB/s. */
export const SEND_IDLE_MS_MAX = 60_000;
export const SEND_RATE_MIN: RateBounds = { windowMs: 60_000, bytes: 240 * 1024 };

/** Answers that are compressed at once; beyond it they go out as they are. */
export const COMPRESSIONS_MAX = 8;

/** Wrong credentials of one address within a minute that are answered 401; then it is 429. */
export const WRONG_CREDENTIALS_MAX = 20;

/**
 * The body of a login, and how long it may take to arrive: nobody is known yet. All of them in memory
 * at once: beyond it the answer is 503.
 */
export const LOGIN_SIZE_MAX: number = 64 * 1024;
export const LOGIN_BODY_MS_MAX = 5_000;
export const LOGIN_BODIES_SIZE_MAX: number = 64 * 1024 * 1024;

/** What their values may take in memory while they are read, and those of one address. */
export const LOGIN_VALUES_SIZE_MAX: number = 32 * 1024 * 1024;
export const LOGIN_VALUES_PER_ADDRESS_SIZE_MAX: number = 8 * 1024 * 1024;

/** What the values of bodies of the management API may take in memory. */
export const MANAGEMENT_VALUES_SIZE_MAX: number = 64 * 1024 * 1024;

/** What a provider may say of a user beside his permissions, as JSON. */
export const IDENTITY_SIZE_MAX: number = 4 * 1024;

/** Questions to webhooks that are under way, each with a connection: beyond it the answer is 503. */
export const QUESTIONS_MAX = 500;

/** How long a client may go on sending what will not be read, so that it sees the answer. */
export const LINGER_MS_MAX = 2_000;

/**
 * Connections at once: each costs memory and a file descriptor, whatever is asked on it. Those that
 * sync come on top; their number is a setting.
 */
export const CONNECTIONS_MAX = 10_000;

/**
 * What came on connections of HTTP and waits: requests that are sent before the answers of others, and
 * requests for which there was no time yet; of each listener, and of one credential or address. Beyond it
 * a client that does not wait for answers is cut.
 */
export const HTTP_UNREAD_SIZE_MAX: number = 64 * 1024 * 1024;
export const HTTP_UNREAD_PER_OWNER_SIZE_MAX: number = 32 * 1024 * 1024;

/** What a client may have sent behind a request that is not answered: beyond it the connection is cut. */
export const PIPELINED_SIZE_MAX: number = 1024 * 1024;

/** Those on which one credential was accepted first: half, so that others always find room. */
export const CONNECTIONS_PER_CREDENTIAL_MAX = 5_000;

/**
 * Connections of HTTP on which no credential was accepted yet, of all and of one address. Half of all
 * stay for those that have one. A network of many devices has far fewer of them at a time, because a
 * device shows its credential with its first request. Beyond the bound of its address, one that was
 * silent for some seconds gives way to a new one.
 */
export const HTTP_NEWCOMERS: NewcomerBounds = {
  max: 5_000,
  perAddressMax: 1_000,
  silentMsMax: 5_000,
};

/**
 * Peers whose credential was not accepted yet, of all and of one address: what those of one address
 * send fits into half of GREETINGS_SIZE_MAX. A device is one of them for as long as a message takes to
 * come and a credential to be checked, so thousands behind one address get in within seconds. Beyond
 * the bound of its address, one that said nothing for a second gives way to a new one.
 */
export const SYNC_NEWCOMERS: NewcomerBounds = {
  max: 2_000,
  perAddressMax: 100,
  silentMsMax: 1_000,
};

/**
 * The part of all peers that may have come with one credential, so that others always find room. Many
 * devices may share a credential, so it is nearly all.
 */
export const SYNC_CREDENTIAL_SHARE = 0.9;

/** How long a peer that wants to sync may take to say hello, and what it may send until it is known. */
export const SYNC_HELLO_MS_MAX = 5_000;
export const SYNC_HELLO_SIZE_MAX: number = 192 * 1024;

/**
 * Chunks, fragments and control frames that a hello may come in, or between: each costs some hundred bytes beside its own. Packets
 * of the smallest networks and clients that send a few kilobytes at a time need a fraction of it.
 */
export const HELLO_PIECES_MAX = 512;

/**
 * What all connections together have sent before it is known who they are, for peers and for links.
 * Connections of one address cannot take all of it.
 */
export const GREETINGS_SIZE_MAX: number = 64 * 1024 * 1024;

/** Fragments of one message: clients with buffers of 2 KB need as many for the largest. */
export const MESSAGE_FRAGMENTS_MAX = 8_192;

/** What is read, and forgotten, of a connection that was told `bye`: so that the client sees that. */
export const AFTER_END_SIZE_MAX: number = 64 * 1024;

/**
 * Messages of all peers of which only a part has come, or that are being read, with what their pieces
 * cost: beyond it whoever sends more is told `busy`. Several of the largest messages fit, and it stays far below the memory
 * that a small machine has.
 */
export const SYNC_UNREAD_SIZE_MAX: number = 96 * 1024 * 1024;

/** What one peer has not taken, whatever it is: beyond it the connection is cut. */
export const SYNC_UNSENT_SIZE_MAX: number = 32 * 1024 * 1024;

/** How long peers may take to close their connections when the server closes. */
export const SYNC_CLOSE_MS_MAX = 1_000;

/**
 * Links to other Big Peers: how many there may be that they have dialled, how many may be on their
 * way to be one, of all and from one address; how long the proof may take, and what may be sent before.
 * One that we dial may take longer: it is looked up, connected and encrypted in that time.
 */
export const LINKS_MAX = 1_000;
export const LINK_HANDSHAKES_MAX = 200;
export const LINK_HANDSHAKES_PER_ADDRESS_MAX = 20;
export const LINK_PROOF_MS_MAX = 5_000;
export const LINK_HANDSHAKE_MS_MAX = 10_000;
export const LINK_GREETING_SIZE_MAX: number = 4 * 1024;

/** Connections to the replication port on which no link was asked for yet, and those of one address. */
export const LINK_NEWCOMERS: NewcomerBounds = { max: 500, perAddressMax: 100 };

/** As SYNC_UNREAD_SIZE_MAX, for all links. */
export const LINK_UNREAD_SIZE_MAX: number = 128 * 1024 * 1024;

/**
 * Downloads of one app that wait for a content which other Big Peers may have, and how long. Beyond
 * it the answer is 503.
 */
export const CONTENT_SEARCHES_MAX = 256;
export const CONTENT_WAIT_MS_MAX = 20_000;

/**
 * Statements that run on peers at a time, of one app and of all: each may hold as many bytes of
 * answers as there are for one. Beyond it the answer is 503.
 */
export const REMOTE_RUNS_OF_APP_MAX = 16;
export const REMOTE_RUNS_MAX = 32;

/** Peers that one statement is run on. */
export const REMOTE_PEERS_MAX = 10_000;

/** What one peer may answer, and all of them together: beyond it the peer has an error instead. */
export const REMOTE_ANSWER_ROWS_MAX = 10_000;
export const REMOTE_ANSWER_BYTES_MAX: number = 4 * 1024 * 1024;
export const REMOTE_ANSWERS_BYTES_MAX: number = 32 * 1024 * 1024;

/** How long a peer is waited for behind its own deadline. */
export const REMOTE_LATE_MS = 1_000;

/** Connected peers on one page of their list, and about what they have in bytes. */
export const PEERS_PAGE_MAX = 1_000;
export const PEERS_PAGE_SIZE_MAX: number = 8 * 1024 * 1024;

/**
 * Devices that are remembered for each app: whoever may connect can make up any number of them. What
 * one may have on its record for what it subscribes to, as JSON.
 */
export const DEVICE_RECORDS_MAX = 100_000;
export const DEVICE_RECORDS_OF_ONE_MAX = 50_000;
export const DEVICE_SUBSCRIPTIONS_SIZE_MAX: number = 16 * 1024;

/**
 * Bytes that records of devices bring into the change log, of one credential and of all of an app: how
 * many at once, and how many in a second. Enough for 50,000 devices that come on one morning, and then for four
 * changes a day of each. All of an app take at most half of what the log keeps in its seven days, so that metadata
 * that change all the time do not drive out the history of documents.
 */
export const DEVICE_LOG_BYTES_OF_ONE: number = 64 * 1024 * 1024;
export const DEVICE_LOG_RATE_OF_ONE: number = 2 * 1024;
export const DEVICE_LOG_BYTES: number = 128 * 1024 * 1024;
export const DEVICE_LOG_RATE: number = 3 * 1024;

/** How long requests under way may take when the server closes. */
export const CLOSE_MS_MAX = 10_000;

/** The longest time that a statement can be given: storage ends a snapshot that is held longer. */
export const STATEMENT_TIMEOUT_MS_MAX = 60_000;

/** How much of a path an error repeats. */
export const PATH_SHOWN_MAX = 200;

/** Apps of a server. */
export const APPS_MAX = 10_000;

/** API keys of one app, and replications of one app. */
export const API_KEYS_MAX = 1_000;
export const REPLICATIONS_MAX = 100;

/** Auth providers of one app: a login may have to look at each of them. */
export const PROVIDERS_MAX = 20;

/** Characters of what somebody says about an API key. */
export const DESCRIPTION_LENGTH_MAX = 1_000;

/** How long the text of before may work after an API key was rotated: thirty days. */
export const KEY_GRACE_SECONDS_MAX: number = 30 * 86_400;

/** Addresses of one replication, and its queries over all collections. */
export const REPLICATION_ADDRESSES_MAX = 100;
export const REPLICATION_QUERIES_MAX = 1_000;

/** Changes that the audit log of a server remembers; older ones are forgotten. */
export const AUDIT_ENTRIES_MAX = 10_000;

/**
 * What a store may have rested when the server opens it, with a warning: a machine that was off for
 * months is far more common than one whose clock is months ahead. See docs/decisions/0020-rested-stores.md.
 */
export const START_REST_MS_MAX: number = 366 * 86_400_000;
