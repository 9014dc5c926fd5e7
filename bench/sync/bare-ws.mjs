/**
 * Floor of a fan-out: a server on the `ws` package that has no authentication and no storage, and
 * sends each message to all connections in turn, as the documentation of `ws` shows. It receives
 * and parses writes over HTTP like Big Peer, and its messages have the same size.
 *
 * For the download benchmark, it sends prepared JSON in messages of 256 KB, as fast as the
 * connection accepts them.
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer } from "./answers.mjs";

const PIECE_BYTES = 256 * 1024;

const { from } = JSON.parse(process.argv[2]);
const { WebSocketServer } = createRequire(from)("ws");

let size = 0;
let pieces = [];

function messageOf(mark) {
  const message = Buffer.alloc(Math.max(size, mark.length), ".");
  message.write(mark, 0, "latin1");
  return message;
}

/** Sends each piece when the socket has accepted the one before. */
function sendPieces(socket, i = 0) {
  if (i < pieces.length) socket.send(pieces[i], () => sendPieces(socket, i + 1));
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { value } = JSON.parse(Buffer.concat(chunks).toString());
    const message = messageOf(value.turn);
    for (const client of sockets.clients) client.send(message);
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
});
const sockets = new WebSocketServer({ server });
sockets.on("connection", (socket, { url }) => {
  if (url === "/documents") sendPieces(socket);
});

function makePieces(documents) {
  const made = [];
  let texts = [];
  let bytes = 0;
  for (let i = 0; i < documents; i++) {
    const text = JSON.stringify({ _id: idOf(i), ...fieldsOf(i) });
    texts.push(text);
    bytes += text.length + 1;
    if (bytes < PIECE_BYTES && i < documents - 1) continue;
    made.push(Buffer.from(`[${texts.join(",")}]`));
    texts = [];
    bytes = 0;
  }
  return made;
}

answer({
  listen: () =>
    new Promise((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve(server.address()));
    }),
  size(given) {
    size = given.bytes;
  },
  documents(given) {
    pieces = makePieces(given.count);
  },
});
