/**
 * Alternative to Big Peer for comparison: a bare `node:http` server that stores documents in
 * PostgreSQL through node-postgres. It answers the upserts of `POST /api/v4/store/write` when they
 * are durable, with one database connection for each upsert in flight. It does not authenticate
 * callers.
 *
 * Arguments: the package.json beside which `pg` is installed, the folder of PostgreSQL's socket,
 * and the number of connections.
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";

const [from, host, connections] = process.argv.slice(2);
const { Pool } = createRequire(from)("pg");
const pool = new Pool({ host, user: "bench", database: "postgres", max: Number(connections) });
// PostgreSQL stops before this server; the errors of its connections are ignored.
pool.on("error", () => {});

const UPSERT = {
  name: "upsert",
  text: "INSERT INTO cars (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = cars.doc || excluded.doc",
};

async function write({ commands }) {
  const [{ method, id, value }] = commands;
  await pool.query({ ...UPSERT, values: [id, JSON.stringify(value)] });
  return { results: [{ method, transactionId: 0 }] };
}

/** A failed request ends this process and its parent. */
async function answer(chunks, response) {
  const body = JSON.stringify(await write(JSON.parse(Buffer.concat(chunks).toString())));
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => void answer(chunks, response));
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
