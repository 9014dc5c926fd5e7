/**
 * Hocuspocus as its documentation starts it, without a storage extension. It parses a write like
 * the other servers and sets it in a map of the one document that all clients follow, through a
 * direct connection. Its timeout for idle connections is off, because raw clients do not send a
 * sign of life every 30 s.
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { answer } from "./answers.mjs";

const { from } = JSON.parse(process.argv[2]);
const { Server } = createRequire(from)("@hocuspocus/server");

const server = new Server({ port: 0, address: "127.0.0.1", quiet: true, timeout: 3_600_000 });

answer({
  async listen() {
    await server.listen();
    const direct = await server.hocuspocus.openDirectConnection("cars", {});
    const writes = createServer((request, response) => {
      const chunks = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        const { id, value } = JSON.parse(Buffer.concat(chunks).toString());
        void direct.transact((document) => document.getMap("cars").set(id, value));
        response.setHeader("content-type", "application/json");
        response.end("{}");
      });
    });
    await new Promise((resolve) => {
      writes.listen(0, "127.0.0.1", resolve);
    });
    return { port: server.address.port, writePort: writes.address().port };
  },
});
