/**
 * Floor of a fan-out: a server on `node:http` without authentication and storage, which sends each
 * write as one Server-Sent Event to all connections in turn. It receives and parses writes like Big
 * Peer, makes the bytes of an event once, and its events have the same size.
 */
import { createServer } from "node:http";
import { answer } from "../sync/answers.mjs";

let size = 0;
let number = 0;
const readers = new Set();

function eventOf(value) {
  const head = `id: ${++number}\ndata: {"type":"update","document":`;
  const text = JSON.stringify(value);
  const missing = Math.max(0, size - head.length - text.length - '""}\n\n'.length - 1);
  return Buffer.from(`${head}${text},"${".".repeat(missing)}"}\n\n`);
}

function follow(response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write('data: {"marker":"ready"}\n\n');
  readers.add(response);
  response.on("close", () => readers.delete(response));
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    follow(response);
    return;
  }
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { value } = JSON.parse(Buffer.concat(chunks).toString());
    const event = eventOf(value);
    for (const reader of readers) reader.write(event);
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
});

// Writes pause while the rounds of the others run.
server.keepAliveTimeout = 600_000;

answer({
  listen: () =>
    new Promise((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve(server.address()));
    }),
  size(given) {
    size = given.bytes;
  },
});
