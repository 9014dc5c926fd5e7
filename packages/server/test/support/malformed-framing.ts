/**
 * Requests that are wrong in how they are sent: lengths and chunks that do not fit, broken lines,
 * bodies that are cut off, slow or too large, and bytes that are no HTTP at all.
 *
 * Bodies are those of writes wherever they could be taken for a whole: so that a server which does
 * would be found out.
 */

import { stringifyJson } from "@bigpeer/protocol";
import type { Random } from "../../../engine/test/support/random.ts";
import { BODY_SIZE_MAX } from "../../src/limits/limits.ts";
import { validBody } from "./malformed-body.ts";
import { goodHeaders, headOf, type Sending, type Target } from "./malformed-head.ts";
import { contentLength, type RequestParts, requestBytes } from "./raw-connection.ts";
import { WRITING_CALLS } from "./valid-call.ts";

/** A write without its framing, and its body. */
interface Write {
  readonly operation: string | undefined;
  readonly parts: RequestParts;
  readonly body: Buffer;
}

function writeOf(random: Random, target: Target): Write {
  const { operation, body, ...parts } = headOf(random, target, validBody(random, WRITING_CALLS));
  return { operation, parts, body: Buffer.from(body ?? "") };
}

function head(
  parts: RequestParts,
  ...headers: readonly (readonly [name: string, value: string])[]
): Buffer {
  return Buffer.from(requestBytes({ ...parts, headers: [...parts.headers, ...headers] }));
}

const CHUNKED = ["Transfer-Encoding", "chunked"] as const;

function chunk(bytes: Uint8Array): Buffer {
  const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
  return Buffer.concat([size, bytes, Buffer.from("\r\n")]);
}

type Framing = (write: Write, random: Random) => Uint8Array;

const BAD_LENGTHS = "-5|abc|1e3|0x10|1 2|+5|18446744073709551616|5,5|5;5|٣|0.5|\xb2".split("|");

const BAD_CODINGS =
  "identity|gzip|chunked, gzip|gzip, chunked|xchunked|chunked-x|,|chunked;q=1,x".split("|");

const BAD_CHUNKS: readonly ((body: Buffer) => string)[] = [
  () => "zz\r\n",
  () => "-1\r\n",
  () => "\r\n\r\n",
  () => `${"f".repeat(17)}\r\n`,
  () => "0x5\r\nhello\r\n0\r\n\r\n",
  (body) => `${body.length.toString(16)}\r\n${body.toString("latin1")}0\r\n\r\n`,
  (body) => `${(body.length - 1).toString(16)}\r\n${body.toString("latin1")}\r\n0\r\n\r\n`,
  (body) => `${(body.length + 9).toString(16)}\r\n${body.toString("latin1")}\r\n`,
  (body) => `${body.length.toString(16)};${"x".repeat(20_000)}\r\n`,
  (body) => `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n0\r\nno colon\r\n\r\n`,
  (body) => `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n`,
  (body) => `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n0`,
  (body) => `${body.length.toString(16)}\r\n${body.toString("latin1")}\r\n0\r\n`,
];

const BAD_LINES: readonly string[] = [
  "no colon",
  ": no name",
  "space before : x",
  " : x",
  "X-Nul: a\0b",
  "X-Control: a\x01b",
  "X(Y): x",
  "X\xffY: x",
  "X-Return: a\rb",
  "X-Folded: a\r\n b",
  "X-Feed: a\nX: b",
  "Host: elsewhere",
  `X-Long: ${"x".repeat(20_000)}`,
  `X: y\r\n`.repeat(3_000),
];

const BAD_FIRST_LINES: readonly ((path: string) => string)[] = [
  (path) => `POST ${path} HTTP/9.9`,
  (path) => `POST ${path} HTTP/2.0`,
  (path) => `POST ${path} HTTP/0.9`,
  (path) => `POST ${path} HTTP/1`,
  (path) => `POST ${path} http/1.1`,
  (path) => `POST ${path} HTTPS/1.1`,
  (path) => `post ${path} HTTP/1.1`,
  (path) => `YEET ${path} HTTP/1.1`,
  (path) => `POST${path} HTTP/1.1`,
  (path) => `POST\t${path}\tHTTP/1.1`,
  (path) => `POST ${path} and more HTTP/1.1`,
  (path) => `POST ${path}\0 HTTP/1.1`,
  (path) => `POST ${path}${"x".repeat(20_000)} HTTP/1.1`,
  () => "POST",
  () => "POST HTTP/1.1",
  () => "CONNECT 127.0.0.1:1 HTTP/1.1",
  () => "HTTP/1.1 200 OK",
];

/** Content-Length as the last header. */
function withLength({ parts, body }: Write, value: string): Buffer {
  return Buffer.concat([head(parts, ["Content-Length", value]), body]);
}

function withChunks({ parts }: Write, text: string): Buffer {
  return Buffer.concat([head(parts, CHUNKED), Buffer.from(text, "latin1")]);
}

const FRAMINGS: readonly Framing[] = [
  (write, random) => withLength(write, String(write.body.length + 1 + random.below(1_000))),
  (write, random) => withLength(write, String(random.below(write.body.length))),
  (write, random) => withLength(write, random.pick(BAD_LENGTHS)),
  ({ parts, body }) => {
    const lengths = [contentLength(body.length), contentLength(body.length - 1)] as const;
    return Buffer.concat([head(parts, ...lengths), body]);
  },
  ({ parts, body }, random) => {
    const both = random.shuffle([contentLength(body.length), CHUNKED]);
    return Buffer.concat([head(parts, ...both), random.oneIn(2) ? body : chunk(body)]);
  },
  ({ parts, body }, random) => {
    const coding = ["Transfer-Encoding", random.pick(BAD_CODINGS)] as const;
    return Buffer.concat([head(parts, coding), chunk(body), Buffer.from("0\r\n\r\n")]);
  },
  (write, random) => withChunks(write, random.pick(BAD_CHUNKS)(write.body)),
  ({ parts, body }, random) => {
    const bytes = requestBytes({ ...parts, body });
    const end = Buffer.from(bytes).indexOf("\r\n");
    return Buffer.concat([
      bytes.subarray(0, end + 2),
      Buffer.from(`${random.pick(BAD_LINES)}\r\n`, "latin1"),
      bytes.subarray(end + 2),
    ]);
  },
  ({ parts, body }, random) => {
    const bytes = requestBytes({ ...parts, body });
    const line = random.pick(BAD_FIRST_LINES)(parts.target);
    const rest = bytes.subarray(Buffer.from(bytes).indexOf("\r\n"));
    return Buffer.concat([Buffer.from(line, "latin1"), rest]);
  },
  ({ parts, body }) => {
    const headers = parts.headers.filter(([name]) => name !== "Host");
    return requestBytes({ ...parts, headers, body });
  },
];

export function brokenFraming(random: Random, target: Target): Sending {
  const write = writeOf(random, target);
  const bytes = random.pick(FRAMINGS)(write, random);
  return ended([bytes], write.operation);
}

function ended(pieces: readonly Uint8Array[], operation: string | undefined): Sending {
  return { pieces, ending: "end", answers: 0, operation, isExact: true, isHead: false };
}

const TLS_HELLO = "16030100c8010000c40303";

const GARBAGE: readonly ((random: Random) => Uint8Array)[] = [
  (random) => randomBytes(random, 1 + random.below(2_000)),
  () => Buffer.alloc(0),
  () => Buffer.from("\r\n".repeat(2_000)),
  () => Buffer.alloc(100_000, "A"),
  () => Buffer.alloc(5_000),
  () => Buffer.from(`${TLS_HELLO}${"00".repeat(200)}`, "hex"),
  () => Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  () => Buffer.from("SSH-2.0-OpenSSH_9.6\r\n"),
  () => Buffer.from("*1\r\n$4\r\nPING\r\n"),
  () => Buffer.from("EHLO example.com\r\nQUIT\r\n"),
  () => Buffer.from("GET\r\n\r\n"),
  () => Buffer.from("GET /health/live\r\n\r\n"),
  () => Buffer.from("\0\0\0\x08\x04\xd2\x16\x2f"),
  () => Buffer.from('{"statement":"SELECT * FROM cars"}\n'),
  () => Buffer.from(stringifyJson(["not", "HTTP"])),
];

function randomBytes(random: Random, size: number): Uint8Array {
  return Uint8Array.from({ length: size }, () => random.below(256));
}

export function garbage(random: Random): Sending {
  const bytes = random.pick(GARBAGE)(random);
  const at = random.below(bytes.length + 1);
  const pieces = random.oneIn(2) ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at)];
  return ended(pieces, undefined);
}

/** The beginning of a write, or all of it but the sign that it is all. */
function begun(random: Random, target: Target): Write & { readonly bytes: Uint8Array } {
  const write = writeOf(random, target);
  const { parts, body } = write;
  if (random.oneIn(3)) {
    return { ...write, bytes: Buffer.concat([head(parts, CHUNKED), chunk(body)]) };
  }
  if (random.oneIn(3)) {
    // Room is kept for what is announced.
    const size = contentLength(BODY_SIZE_MAX - random.below(100));
    return { ...write, bytes: Buffer.concat([head(parts, size), body]) };
  }
  const bytes = requestBytes({ ...parts, body });
  return { ...write, bytes: bytes.subarray(0, random.below(bytes.length)) };
}

export function cutRequest(random: Random, target: Target): Sending {
  const { bytes, operation } = begun(random, target);
  const ending = random.oneIn(2) ? "leave" : "end";
  return { ...ended([bytes], operation), ending };
}

/** A byte now and then; then it is cut. */
export function slowRequest(random: Random, target: Target): Sending {
  const { bytes, operation } = begun(random, target);
  const slow = Math.min(bytes.length, 1 + random.below(20));
  const from = bytes.length - slow;
  const single = Array.from({ length: slow }, (_, i) => bytes.subarray(from + i, from + i + 1));
  const ending = random.oneIn(2) ? "leave" : "end";
  const pauseMs = 1 + random.below(10);
  return { ...ended([bytes.subarray(0, from), ...single], operation), ending, pauseMs };
}

/** Several at once: each is answered, in their order. */
export function pipelined(
  generate: (random: Random, target: Target) => Sending,
): (random: Random, target: Target) => Sending {
  return (random, target) => {
    const { operation } = generate(random, target);
    const all: Uint8Array[] = [];
    while (all.length < 5) {
      const next = generate(random, target);
      if (next.operation === operation) all.push(...next.pieces);
    }
    const pieces = [Buffer.concat(all)];
    return { ...ended(pieces, operation), ending: "answer", answers: all.length };
  };
}

const PIECE = Buffer.alloc(64 * 1024, " ");

/** More than a body may have: announced, or only found out while it comes. */
export function largeBody(random: Random, target: Target): Sending {
  const { parts, operation } = writeOf(random, target);
  const large = BODY_SIZE_MAX + 1 + random.below(100_000);
  const pieces = Array.from({ length: Math.ceil(large / PIECE.length) }, () => PIECE);
  const answer = { ...ended([], operation), ending: "answer", answers: 1 } as const;
  switch (random.below(4)) {
    case 0: {
      const size = random.pick([large, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]);
      return { ...answer, pieces: [head(parts, contentLength(size))] };
    }
    case 1: {
      const expect = ["Expect", "100-continue"] as const;
      return { ...answer, pieces: [head(parts, contentLength(large), expect)] };
    }
    case 2:
      return {
        ...answer,
        pieces: [head(parts, contentLength(pieces.length * PIECE.length)), ...pieces],
      };
    default: {
      const chunks = pieces.map(chunk);
      return { ...answer, pieces: [head(parts, CHUNKED), ...chunks, Buffer.from("0\r\n\r\n")] };
    }
  }
}

/** Requests that stop in the middle and stay: only their time ends them. */
export function stalledRequests(target: Target): Sending[] {
  const write = WRITING_CALLS.find(({ operation }) => operation === "write");
  const body = Buffer.from(stringifyJson(write?.body ?? {}));
  const headers = [...goodHeaders(target), ["Content-Type", "application/json"] as const];
  const parts = { method: "POST", target: "/api/v4/store/write", headers };
  const form = ["Content-Type", "multipart/form-data; boundary=x"] as const;
  const upload = {
    method: "POST",
    target: "/api/v4/attachments/upload",
    headers: [...goodHeaders(target), form],
  };
  const answer = { ...ended([], write?.operation), ending: "answer", answers: 1 } as const;
  return [
    { ...answer, pieces: [head(parts, contentLength(body.length + 1)), body] },
    { ...answer, pieces: [head(parts, CHUNKED), chunk(body)] },
    { ...answer, pieces: [head(parts, contentLength(BODY_SIZE_MAX))] },
    {
      ...answer,
      operation: "upload_attachment",
      pieces: [head(upload, contentLength(1_000)), Buffer.from("--x\r\n")],
    },
    { ...answer, operation: undefined, pieces: [head(parts).subarray(0, -2)] },
    { ...answer, operation: undefined, pieces: [Buffer.from("POST /api/v4/store/wri")] },
  ];
}
