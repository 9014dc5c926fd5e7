/**
 * PouchDB Server on Express with LevelDB in a folder, as its documentation starts it. It is filled
 * over HTTP.
 */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer } from "./answers.mjs";

const BATCH = 1_000;

const { from } = JSON.parse(process.argv[2]);
const require = createRequire(from);

answer({
  async open({ documents, folder }) {
    mkdirSync(folder, { recursive: true });
    // Its log goes into the working folder.
    process.chdir(folder);
    const PouchDB = require("pouchdb").defaults({ prefix: join(folder, "data-") });
    const app = require("express")();

    app.use(
      "/",
      require("express-pouchdb")(PouchDB, { mode: "minimumForPouchDB", inMemoryConfig: true }),
    );
    const server = await new Promise((resolve) => {
      const listening = app.listen(0, "127.0.0.1", () => resolve(listening));
    });
    const url = `http://127.0.0.1:${server.address().port}/cars`;
    await fetch(url, { method: "PUT" });
    for (let i = 0; i < documents; i += BATCH) {
      const docs = Array.from({ length: Math.min(BATCH, documents - i) }, (_, j) => ({
        _id: idOf(i + j),
        ...fieldsOf(i + j),
      }));
      const { status } = await fetch(`${url}/_bulk_docs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ docs }),
      });
      if (status !== 201) throw new Error(`expected status 201 of _bulk_docs, found ${status}`);
    }
    return { url };
  },
});
