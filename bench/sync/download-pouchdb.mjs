/**
 * Client of the download benchmark: PouchDB replicates a database once, into memory or LevelDB. It
 * uses batches of 1,000, its fastest size; the default of 100 is slower.
 */
import { createRequire } from "node:module";
import { fieldsOf, idOf } from "../floor/cars.mjs";
import { answer, cpuSecondsSince } from "./answers.mjs";

const BATCH = 1_000;

answer({
  async download({ from, url, documents, folder }) {
    const require = createRequire(from);
    const PouchDB = require("pouchdb");
    PouchDB.plugin(require("pouchdb-adapter-memory"));
    const options = folder === undefined ? { adapter: "memory" } : {};
    const local = new PouchDB(folder ?? "cars", options);
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await PouchDB.replicate(url, local, { batch_size: BATCH });
    const ms = performance.now() - startedAt;
    const cpuSeconds = cpuSecondsSince(cpu);
    const { doc_count: count } = await local.info();
    const one = await local.get(idOf(documents - 1));
    if (count !== documents || one.mileage !== fieldsOf(documents - 1).mileage) {
      throw new Error(`expected ${documents} documents, found ${count}`);
    }
    await local.close();
    return { ms, cpuSeconds };
  },
});
