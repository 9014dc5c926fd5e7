/**
 * Floor of HTTP answers: `node:http` alone. The server reads the body, parses it and answers with
 * JSON of the same size as Big Peer. Its first argument has the answer for each path.
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
