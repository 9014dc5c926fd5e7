/**
 * Contestant: SQLite with JSON. Documents are JSON text with an id, with an expression index. It uses
 * WAL with a sync for each commit, statements that are prepared once, and a cache for all pages. The
 * package is synchronous, so it runs writes that others have in flight as one transaction.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { COLOR, TOP, YEAR } from "./documents.mjs";

const SETTINGS = [
  "journal_mode = WAL",
  "synchronous = FULL",
  "cache_size = -1048576",
  "mmap_size = 2147483648",
  "temp_store = MEMORY",
];

function put(statement) {
  return (document) => statement.run(document["_id"], JSON.stringify(document));
}

export class Contestant {
  static async open(folder, from) {
    const Database = createRequire(from)("better-sqlite3");
    return new Contestant(new Database(join(folder, "cars.sqlite")));
  }

  constructor(database) {
    this.database = database;
    for (const setting of SETTINGS) database.pragma(setting);
    for (const table of ["cars", "arrivals"]) {
      database.exec(`CREATE TABLE ${table} (id TEXT PRIMARY KEY, doc TEXT NOT NULL)`);
    }
    const insertCar = database.prepare("INSERT INTO cars VALUES (?, ?)");
    const insertArrival = database.prepare("INSERT INTO arrivals VALUES (?, ?)");
    this.insert = put(insertArrival);
    this.insertMany = database.transaction((documents) => documents.forEach(put(insertCar)));
    this.insertGroup = database.transaction((documents) => documents.forEach(this.insert));
    this.arrivalCount = database.prepare("SELECT count(*) FROM arrivals").pluck();
    this.documentById = database.prepare("SELECT doc FROM cars WHERE id = ?").pluck();
    this.documentsByBatch = database
      .prepare("SELECT doc FROM cars WHERE json_extract(doc, '$.batch') = ?")
      .pluck();
    this.counted = database
      .prepare(
        "SELECT count(*) FROM cars WHERE json_extract(doc, '$.color') = ? AND json_extract(doc, '$.year') >= ?",
      )
      .pluck();
    this.grouped = database.prepare(
      "SELECT json_extract(doc, '$.model') AS model, count(*) AS n, sum(json_extract(doc, '$.mileage')) AS total FROM cars GROUP BY 1",
    );
    this.ordered = database
      .prepare("SELECT doc FROM cars ORDER BY json_extract(doc, '$.price') DESC LIMIT ?")
      .pluck();
    this.changed = database.prepare(
      "UPDATE cars SET doc = json_set(doc, '$.mileage', ?) WHERE id = ?",
    );
    this.updateGroup = database.transaction((changes) => {
      for (const [id, mileage] of changes) this.update(id, mileage);
    });
    this.whole = database.prepare("SELECT doc FROM cars").pluck();
    this.deleted = database.prepare(
      "DELETE FROM cars WHERE json_extract(doc, '$.batch') >= ? AND json_extract(doc, '$.batch') < ?",
    );
  }

  close() {
    this.database.close();
  }

  arrivals() {
    return this.arrivalCount.get();
  }

  byId(id) {
    return [JSON.parse(this.documentById.get(id))];
  }

  useIds(id) {
    return this.byId(id);
  }

  byBatch(batch) {
    return this.documentsByBatch.all(batch).map((text) => JSON.parse(text));
  }

  count() {
    return this.counted.get(COLOR, YEAR);
  }

  groups() {
    return this.grouped.all();
  }

  top() {
    return this.ordered.all(TOP).map((text) => JSON.parse(text));
  }

  createIndex() {
    this.database.exec("CREATE INDEX by_batch ON cars (json_extract(doc, '$.batch'))");
  }

  update(id, mileage) {
    this.changed.run(mileage, id);
  }

  all() {
    const found = [];
    for (const text of this.whole.iterate()) found.push(JSON.parse(text));
    return found;
  }

  deleteBatches(from, to) {
    return this.deleted.run(from, to).changes;
  }
}
