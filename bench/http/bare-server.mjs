/**
 * The floor of an answer over HTTP: `node:http` alone. It reads the body, parses it, and answers with
 * JSON of the size that our server would answer with; what that is stands in its first argument, by
 * path.
 */
import { createServer } from "node:http";

const answers = JSON.parse(process.argv[2] ?? "{}");

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString());
    const isAnswered = typeof asked === "object" && request.url in answers;
    const body = JSON.stringify(isAnswered ? answers[request.url] : {});
    response.writeHead(isAnswered ? 200 : 404, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
