/**
 * An HTTP endpoint for the replication of RxDB, which has no server of its own: all documents in
 * their order, and the number of the next one as the checkpoint.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { answer } from "../sync/answers.mjs";
import { documentsOf } from "./documents.mjs";

answer({
  async open({ documents: count }) {
    const all = documentsOf(0, count, "id").map((document) => ({ ...document, _deleted: false }));
    const server = createServer((request, response) => {
      const { searchParams } = new URL(request.url, "http://server");
      const [start, size] = ["start", "size"].map((name) => Number(searchParams.get(name)));
      const documents = all.slice(start, start + size);
      const checkpoint = { next: start + documents.length };
      response.writeHead(200, {
        "content-type": "application/json",
        "access-control-allow-origin": "*",
      });
      response.end(JSON.stringify({ documents, checkpoint }));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return { serverUrl: `http://127.0.0.1:${server.address().port}/pull` };
  },
});
