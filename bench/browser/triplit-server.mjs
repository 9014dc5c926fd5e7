/**
 * Triplit's server as its documentation starts it, in memory and without a schema. It is filled over
 * HTTP, as bench/sync/triplit.mjs does.
 */
import { createRequire } from "node:module";
import { answer } from "../sync/answers.mjs";
import { load } from "../sync/triplit-module.mjs";
import { batchesOf, documentsOf } from "./documents.mjs";

const SECRET = "bench";
const PROJECT = "bench";
const BATCH = 1_000;

const { from } = JSON.parse(process.argv[2]);
const require = createRequire(from);

answer({
  async open({ documents }) {
    const { createServer } = await load(from, "@triplit/server/dist/index.js");
    const { HttpClient } = await load(from, "@triplit/client/dist/index.js");
    const start = await createServer({
      jwtSecret: SECRET,
      projectId: PROJECT,
      logHandler: { log() {}, startSpan() {} },
    });
    const { port } = await new Promise((resolve) => {
      start(0, resolve);
    });
    const token = require("jsonwebtoken").sign(
      { "x-triplit-token-type": "secret", "x-triplit-project-id": PROJECT },
      SECRET,
    );
    const serverUrl = `http://127.0.0.1:${port}`;
    const client = new HttpClient({ serverUrl, token });
    for (const [first, end] of batchesOf(documents, BATCH)) {
      await client.bulkInsert({ cars: documentsOf(first, end, "id") });
    }
    return { serverUrl, token };
  },
});
