/**
 * Requests that are wrong before their body: method, path, headers, credential. The body is a valid
 * one, so that nothing else can be the reason of a refusal.
 */

import type { Random } from "../../../engine/test/support/random.ts";
import { type CallBody, validBody } from "./malformed-body.ts";
import { type RequestParts, requestBytes } from "./raw-connection.ts";
import { OPERATION_PATHS, VALID_CALLS, WRITING_CALLS } from "./valid-call.ts";

/** The server that is asked. */
export interface Target {
  /** As in the header Host. */
  readonly host: string;
  readonly appId: string;
  readonly apiKey: string;
  /** Of an attachment that is there. */
  readonly attachmentId: string;
}

/** How bytes are sent, and what must come back. */
export interface Sending {
  /** Sent one after the other. */
  readonly pieces: readonly Uint8Array[];
  /** Milliseconds between the pieces. */
  readonly pauseMs?: number;
  /**
   * `answer`: it is answered, and the connection can be used again unless the answer says no.
   * `end`: nothing more is sent; it is answered, or the connection is closed.
   * `leave`: the client is gone before it could be answered.
   */
  readonly ending: "answer" | "end" | "leave";
  /** How many answers must come. */
  readonly answers: number;
  /** Whose failure it is, an operationId; undefined where it is that of no operation. */
  readonly operation: string | undefined;
  /** Whether it was sent to exactly that operation, by its method. */
  readonly isExact: boolean;
  readonly isHead: boolean;
}

/** A request, and whose failure its answer must be. */
export interface Head extends RequestParts {
  readonly operation: string | undefined;
  readonly isExact?: boolean;
}

type Headers = readonly (readonly [name: string, value: string])[];

const ACCEPTS: readonly string[] = [
  "application/json",
  "application/cbor",
  "*/*",
  "application/cbor;q=0, */*",
  "",
  ";;;,,,=",
  "application/cbor;q=99",
  "text/html",
  "\xff\xfe",
  "a/b,".repeat(500),
];

const CODINGS: readonly string[] = [
  "gzip",
  "br",
  "gzip;q=nonsense",
  "*;q=-1",
  ",,;",
  "identity;q=0",
];

/** What a server must not mind, beside what it must. */
function noise(random: Random): Headers {
  const headers: (readonly [string, string])[] = [];
  if (random.oneIn(3)) headers.push(["Accept", random.pick(ACCEPTS)]);
  if (random.oneIn(3)) headers.push(["Accept-Encoding", random.pick(CODINGS)]);
  if (random.oneIn(20)) headers.push(["Origin", random.pick(["null", "http://localhost", "\xff"])]);
  if (random.oneIn(20)) headers.push(["Expect", "the unexpected"]);
  if (random.oneIn(30)) headers.push(["Cookie", "a=b; ".repeat(random.below(500))]);
  return headers;
}

function prefixOf(random: Random, { appId }: Target): string {
  const app = random.oneIn(3) ? `/${random.oneIn(2) ? appId : appId.toUpperCase()}` : "";
  return `${app}/api/${random.pick(["v4", "v5"])}`;
}

/** Where and who, as it should be. */
export function goodHeaders({ host, apiKey }: Target): Headers {
  return [
    ["Host", host],
    ["Authorization", `Bearer ${apiKey}`],
  ];
}

export function answered({ operation, isExact = true, ...parts }: Head): Sending {
  const isHead = parts.method === "HEAD";
  const pieces = [requestBytes(parts)];
  return { pieces, ending: "answer", answers: 1, operation, isExact, isHead };
}

/** A call with all that it needs, and with this body. */
export function headOf(random: Random, target: Target, { operation, type, bytes }: CallBody): Head {
  return {
    operation,
    method: "POST",
    target: prefixOf(random, target) + OPERATION_PATHS[operation],
    headers: [...goodHeaders(target), ["Content-Type", type], ...noise(random)],
    body: bytes,
  };
}

/** The header of that name left out, then these put in. */
function withHeaders(headers: Headers, name: string, ...values: readonly string[]): Headers {
  const others = headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase());
  return [...others, ...values.map((value) => [name, value] as const)];
}

const METHODS = "GET HEAD PUT DELETE PATCH OPTIONS TRACE PROPFIND MKCOL LOCK SEARCH PURGE REPORT";

export function wrongMethod(random: Random, target: Target): Head {
  const good = headOf(random, target, validBody(random));
  return { ...good, method: random.pick(METHODS.split(" ")) };
}

const TYPES: readonly string[] = [
  "",
  "text/plain",
  "text/json",
  "application/xml",
  "application/jsonp",
  "application/json; charset=latin1",
  "application/json;charset=utf-16",
  "application/cbor;charset=\xff",
  "application/json, application/cbor",
  "application / json",
  "json",
  "*/*",
  "application/vnd.api+json",
  "multipart/form-data",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  ";",
  "\xe9",
  `application/${"json".repeat(1_000)}`,
];

const ENCODINGS: readonly string[] = ["gzip", "br", "deflate", "identity, gzip", "zzz", "", "\xff"];

export function wrongType(random: Random, target: Target): Head {
  const good = headOf(random, target, validBody(random));
  const name = random.oneIn(3) ? "Content-Encoding" : "Content-Type";
  if (name === "Content-Type" && random.oneIn(8)) {
    return { ...good, headers: withHeaders(good.headers, name) };
  }
  const value = random.pick(name === "Content-Type" ? TYPES : ENCODINGS);
  // Of several the first counts.
  const second = random.oneIn(10) && name === "Content-Type" ? ["application/json"] : [];
  return { ...good, headers: withHeaders(good.headers, name, value, ...second) };
}

const TRANSACTIONS: readonly string[] = [
  "",
  "abc",
  "1.5",
  "1e3",
  "0x10",
  "--1",
  "+-1",
  "1 2",
  "1,x",
  ",1",
  "null",
  "\xb2",
  "9223372036854775808",
  "-9223372036854775809",
  "9".repeat(400),
  "1\t1",
  "Infinity",
];

/** Integers of 64 bits, of transactions that do not come. */
const FAR_TRANSACTIONS: readonly string[] = ["9223372036854775807", "+9223372036854775806"];

const REPEAT_KEYS: readonly string[] = [
  "",
  "a b",
  "\xe9",
  "x".repeat(256),
  "a\tb",
  "x ".repeat(99),
];

const TRANSACTION_NAMES = ["X-SERVICE-TXN-ID", "x-ditto-txn-id", "X-Hydra-Txn-Id"];

/** A header of the data API that says nothing that it could mean. */
export function wrongHeader(random: Random, target: Target): Head {
  const isKey = random.oneIn(3);
  const calls = isKey
    ? WRITING_CALLS
    : VALID_CALLS.filter(({ operation }) => operation !== "remote_execute");
  const good = headOf(random, target, validBody(random, calls));
  if (isKey) {
    const isTwice = random.oneIn(4);
    const keys = isTwice ? ["one", "two"] : [random.pick(REPEAT_KEYS)];
    return { ...good, headers: withHeaders(good.headers, "Idempotency-Key", ...keys) };
  }
  const name = random.pick(TRANSACTION_NAMES);
  const isFar = random.oneIn(5);
  const wrong = random.pick(isFar ? FAR_TRANSACTIONS : TRANSACTIONS);
  // Of several each counts.
  const values = random.oneIn(6) ? ["0", wrong] : [wrong];
  return { ...good, headers: withHeaders(good.headers, name, ...values) };
}

/** Each is made of the key that opens. */
const CREDENTIALS: readonly ((apiKey: string) => string)[] = [
  () => "",
  () => "Bearer",
  () => "Bearer ",
  () => "Bearer null",
  (apiKey) => apiKey,
  (apiKey) => `Basic ${apiKey}`,
  (apiKey) => `Bearer ${apiKey}x`,
  (apiKey) => `Bearer ${apiKey.slice(0, -1)}`,
  (apiKey) => `Bearer ${apiKey.toUpperCase()}`,
  (apiKey) => `Bearer ${apiKey} ${apiKey}`,
  (apiKey) => `Bearer\t${apiKey}`,
  (apiKey) => `Bearer, ${apiKey}`,
  (apiKey) => `Bearer ${apiKey.slice(0, 12)}${"A".repeat(43)}`,
  () => `Bearer ${"a".repeat(4_000)}`,
  () => `Bearer bp_00000000_${"A".repeat(43)}`,
  () => "Bearer bp_\xff\xff",
  () => "Bearer eyJhbGciOiJub25lIn0.e30.",
];

const OTHER_APP = "00000000-0000-4000-8000-000000000000";

export function wrongCredential(random: Random, target: Target): Head {
  const good = headOf(random, target, validBody(random));
  if (random.oneIn(6)) return { ...good, headers: withHeaders(good.headers, "Authorization") };
  if (random.oneIn(5)) {
    // The key of another app: there is none of this name.
    const app = random.pick([OTHER_APP, "default", "%00", "..", "x".repeat(2_000)]);
    const path = good.target.slice(good.target.indexOf("/api/"));
    return { ...good, target: `/${app}${path}` };
  }
  const value = random.pick(CREDENTIALS)(target.apiKey);
  return { ...good, headers: withHeaders(good.headers, "Authorization", value) };
}

const NOWHERE: readonly string[] = [
  "/",
  "/api",
  "/api/",
  "/api/v4",
  "/api/v4/",
  "/api/v4/store",
  "/api/v4/store/",
  "/api/v4/store/nothing",
  "/api/v4/store/find_by_id",
  "/api/v4/sync/execute",
  "/api/v3/store/count",
  "/api/v6/store/count",
  "/api/v4//store/count",
  "//api/v4/store/count",
  "/API/v4/store/count",
  "/api/v4/store/%63ount",
  "/api/v4/store/count%00",
  "/api/v4/store/count%2f",
  "/api/v4/store/coun%",
  "/api/v4/store/%zz",
  "/api/v4/store/%ff%fe",
  "/api/v4/store/Count",
  "/api/v4/store/count;x=1",
  "/api/v4/store/../store/count",
  "/api/v4/./store/count",
  "/a/b/api/v4/store/count",
  "/../../etc/passwd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/health",
  "/health/../metrics",
  "/metrics/",
  "/store/count",
  "*",
  "http://elsewhere/nothing",
  "/__proto__",
  "/constructor/api/v4/store",
];

/** Nothing is there; at and below an operation the failure is that of the operation. */
export function wrongPath(random: Random, target: Target): Head {
  const good = headOf(random, target, validBody(random));
  if (random.oneIn(3)) {
    const end = random.pick(["/", "/x", "//", "/../count", "/%00", `/${"y".repeat(3_000)}`]);
    return { ...good, target: good.target + end, isExact: false };
  }
  const long = `/${"long/".repeat(random.below(1_000))}`;
  const path = random.oneIn(10) ? long : random.pick(NOWHERE);
  // A HEAD has no body that could be looked at.
  const methods = METHODS.replace("HEAD ", "").split(" ");
  const method = random.oneIn(2) ? "POST" : random.pick(methods);
  return { ...good, method, target: path, operation: undefined };
}
