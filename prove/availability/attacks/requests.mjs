/**
 * Attacks with requests that are cheap to send and may be expensive to serve: unusual headers,
 * public pages, calls that wait, pipelines whose answers are not read.
 */

const HEADERS_SIZE = 15_000;

function long(part) {
  return part.repeat(Math.floor(HEADERS_SIZE / part.length));
}

/** Headers of one request each, as sent on the wire. */
const HEADERS = [
  `Accept: ${long("a/b;q=0.1,")}a/c`,
  `Accept: ${long(";")}`,
  `Accept: ${long(" ")}x`,
  `Accept-Encoding: ${long("x;q=0.5,")}br`,
  `Accept-Encoding: ${long("gzip;q=0,")}identity`,
  `Authorization: Bearer ${long("a")}`,
  `Authorization: ${long("Bearer ")}`,
  `Authorization: Bearer ${long("a.")}`,
  `Cookie: ${long("a=b; ")}`,
  `X-Forwarded-For: ${long("1.2.3.4, ")}1.1.1.1`,
  `X-Forwarded-For: ${long("::ffff:")}1`,
  `Forwarded: ${long("for=a;by=b,")}for=c`,
  `Origin: ${long("http://a")}`,
  `Range: bytes=${long("0-1,")}0-2`,
  `If-None-Match: ${long('"a",')}"b"`,
  `Content-Type: multipart/form-data; ${long("a=b;")}boundary=b`,
  `Content-Type: application/json; charset=${long("u")}`,
  `Sec-WebSocket-Extensions: ${long("permessage-deflate; a,")}x`,
  `Sec-WebSocket-Protocol: ${long("a,")}b`,
  `X-SERVICE-TXN-ID: ${long("9")}`,
  long("X-SERVICE-TXN-ID: 1\r\n").trimEnd(),
  `Idempotency-Key: ${long("k")}`,
  long("a:b\r\n").trimEnd(),
];

const PATHS = [
  "/api/v4/store/execute",
  "/sync",
  "/auth/login",
  "/api/v4/attachments/upload",
  `/${"%41".repeat(300)}`,
  `/${"a/".repeat(500)}`,
  `/health/live?${"a=b&".repeat(300)}`,
  "/docs/../../../../etc/passwd",
];

async function oddHeaders(target) {
  await target.many(24, async (i, round) => {
    const socket = await target.socket();
    if (socket === undefined) return;
    const at = i + round * 24;
    const headers = HEADERS[at % HEADERS.length];
    const path = PATHS[at % PATHS.length];
    const method = ["GET", "POST", "OPTIONS"][at % 3];
    const upgrade =
      path === "/sync"
        ? "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        : "";
    const answered = new Promise((resolve) => {
      socket.once("data", (chunk) => resolve(chunk.latin1Slice(9, 12)));
      socket.once("close", () => resolve("closed"));
    });
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: a\r\n${upgrade}${headers}\r\nContent-Length: 0\r\n\r\n`,
    );
    target.tally(await answered);
    socket.destroy();
  });
}

async function publicPages(target) {
  const pages = [
    "/openapi.json",
    "/api/v4/swagger.json",
    "/docs",
    "/docs/",
    "/docs/api",
    "/metrics",
    "/health/ready",
  ];
  const encodings = ["br", "gzip", "identity"];
  await target.many(60, (i, round) =>
    target.send({
      method: "GET",
      path: pages[(i + round) % pages.length],
      headers: { "accept-encoding": encodings[i % encodings.length] },
    }),
  );
}

/** Calls that wait for a future transaction and so use up the limit of calls. */
async function waitingCalls(target) {
  const body = Buffer.from(JSON.stringify({ statement: "SELECT 1 AS a FROM system:dual" }));
  await target.many(2_200, () =>
    target.send({
      path: "/api/v4/store/execute",
      key: target.keys.empty,
      body,
      headers: { "x-service-txn-id": "9007199254740991" },
    }),
  );
}

/** Pipelines requests on a connection that never reads. */
async function pipelined(target, request) {
  const bytes = Buffer.from(request(target).repeat(500));
  await target.many(20, async () => {
    const socket = await target.socket();
    if (socket === undefined) return;
    socket.pause();
    while (!target.isOver && (await target.pour(socket, bytes)));
    await target.pause(20);
  });
}

function getNothing() {
  return "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n";
}

function selectSmall({ keys }) {
  const body = JSON.stringify({ statement: "SELECT 1 AS a FROM system:dual" });
  return (
    `POST /api/v4/store/execute HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${keys.empty}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}

export const REQUEST_ATTACKS = [
  {
    name: "pipelined",
    credential: "none",
    what: "pipelined requests of unknown paths whose answers are not read",
    run: (target) => pipelined(target, getNothing),
  },
  {
    name: "pipelined-calls",
    credential: "empty key",
    what: "pipelined statements whose answers are not read",
    run: (target) => pipelined(target, selectSmall),
  },
  {
    name: "odd-headers",
    credential: "none",
    what: "headers and paths of unusual shapes",
    run: oddHeaders,
  },
  {
    name: "public-pages",
    credential: "none",
    what: "pages that need no credential, sixty at once",
    run: publicPages,
  },
  {
    name: "waiting-calls",
    credential: "empty key",
    what: "2,200 calls that wait for a transaction",
    run: waitingCalls,
  },
];
