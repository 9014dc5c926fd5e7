/**
 * PouchDB Server on Express, in memory: its other storages need native modules. It is filled over
 * HTTP, as bench/sync/pouchdb.mjs does.
 */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { answer } from "../sync/answers.mjs";
import { batchesOf, documentsOf } from "./documents.mjs";

const BATCH = 1_000;

const { from } = JSON.parse(process.argv[2]);
const require = createRequire(from);

answer({
  async open({ documents, folder }) {
    mkdirSync(folder, { recursive: true });
    // Its log goes into the working folder.
    process.chdir(folder);
    const server = appOf().listen(0, "127.0.0.1");
    await once(server, "listening");
    const serverUrl = `http://127.0.0.1:${server.address().port}/cars`;
    await fetch(serverUrl, { method: "PUT" });
    for (const [first, end] of batchesOf(documents, BATCH)) await fill(serverUrl, first, end);
    return { serverUrl };
  },
});

function appOf() {
  const PouchDB = require("pouchdb-core").plugin(require("pouchdb-adapter-memory"));
  const app = require("express")();
  app.use(allowPages);
  const options = { mode: "minimumForPouchDB", inMemoryConfig: true };
  app.use("/", require("express-pouchdb")(PouchDB.defaults({ adapter: "memory" }), options));
  return app;
}

/** The page is of another origin, and PouchDB sends its cookies. */
function allowPages(request, response, next) {
  response.set({
    "access-control-allow-origin": request.headers.origin ?? "*",
    "access-control-allow-credentials": "true",
    "access-control-allow-headers": "content-type, accept",
    "access-control-allow-methods": "GET, PUT, POST, DELETE",
  });
  if (request.method === "OPTIONS") response.end();
  else next();
}

async function fill(serverUrl, first, end) {
  const { status } = await fetch(`${serverUrl}/_bulk_docs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ docs: documentsOf(first, end, "_id") }),
  });
  if (status !== 201) throw new Error(`expected status 201 of _bulk_docs, found ${status}`);
}
