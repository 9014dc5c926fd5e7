/**
 * A receiver of a webhook in a process of its own, which may be killed at any time: it notes the
 * changes of a delivery in a file before it answers. It prints its port. After a line of input it
 * kills itself when it has noted the next delivery, whose answer the server then never gets.
 */
import { createServer } from "node:http";
import { TakenChanges } from "./taken-changes.mjs";

const { port, file } = JSON.parse(process.argv[2]);
const taken = new TakenChanges(file);
taken.restore();

let isEnding = false;
process.stdin.once("data", () => {
  isEnding = true;
});

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { data } = JSON.parse(Buffer.concat(chunks).toString());
    const changes = data.map(({ cursor, document }) => ({ cursor, number: document.number }));
    taken.add(changes, request.headers["webhook-id"]);
    if (isEnding) process.kill(process.pid, "SIGKILL");
    response.writeHead(204).end();
  });
});
server.listen(port, "127.0.0.1", () => console.log(server.address().port));
