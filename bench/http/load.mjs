/**
 * HTTP load generator, a process of its own. It keeps connections open, with one request in flight
 * on each, and sends the next request when the answer has arrived.
 *
 * It implements just enough HTTP on plain sockets to cost much less than any server: requests are
 * bytes that it prepared before, and of an answer it reads the status and the size. Each message of
 * the parent process is one round. The reply has the number of requests, the duration, and the
 * latencies in milliseconds.
 */
import { connect } from "node:net";
import { CASES } from "./cases.mjs";

const HEAD_END = Buffer.from("\r\n\r\n");
const OK = "HTTP/1.1 200 ";

function requestBytes({ path, body }, i, token) {
  const content = JSON.stringify(body(i));
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`,
  );
}

/** Returns the size of the answer that begins with `chunk`, including its headers. */
function answerSize(chunk) {
  const end = chunk.indexOf(HEAD_END);
  const head = chunk.latin1Slice(0, end);
  const size = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (end < 0 || !head.startsWith(OK) || size === undefined) {
    throw new Error(`expected an answer with status 200, found ${chunk.toString()}`);
  }
  return end + HEAD_END.length + Number(size);
}

/** One connection. Sends requests until `next` returns none. */
function drive(port, next, times) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let sentAt = 0;
    let missing = 0;
    const send = () => {
      const request = next();
      if (request === undefined) socket.end(resolve);
      else {
        sentAt = performance.now();
        socket.write(request);
      }
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      if (missing === 0) missing = answerSize(chunk);
      missing -= chunk.length;
      if (missing > 0) return;
      times.push(performance.now() - sentAt);
      send();
    });
  });
}

async function round({ port, token, name, from, connections, seconds, count }) {
  const requests = Array.from({ length: count }, (_, i) =>
    requestBytes(CASES[name], from + i, token),
  );
  const times = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  let sent = 0;
  const next = () => (performance.now() < end ? requests[sent++ % count] : undefined);
  await Promise.all(Array.from({ length: connections }, () => drive(port, next, times)));
  return { count: times.length, elapsedMs: performance.now() - start, times };
}

process.on("message", (asked) => {
  // A failed request ends this process and its parent.
  void round(asked).then((result) => process.send?.(result));
});
