/**
 * Triplit's server as its documentation starts it, in memory and without a schema. Its other
 * storages need native modules. It is filled over HTTP.
 */
import { createRequire } from "node:module";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer } from "./answers.mjs";
import { load } from "./triplit-module.mjs";

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
    const url = `http://127.0.0.1:${port}`;
    const client = new HttpClient({ serverUrl: url, token });
    for (let i = 0; i < documents; i += BATCH) {
      const cars = Array.from({ length: Math.min(BATCH, documents - i) }, (_, j) => ({
        id: idOf(i + j),
        ...fieldsOf(i + j),
      }));
      await client.bulkInsert({ cars });
    }
    return { url, token };
  },
});
