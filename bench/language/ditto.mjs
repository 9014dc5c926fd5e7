/**
 * Contestant: the reference SDK, used offline through the public API of its npm package, with a
 * folder of its own and default settings. Rows are decoded by reading the value of each. The
 * statements are those of Big Peer. The SDK does not document how durable an answered write is.
 */
import { createRequire } from "node:module";
import { COLOR, TOP, YEAR } from "./documents.mjs";

const DATABASE = "0f2c6a52-5c5e-4e0e-9a6e-6b1f6f0a7d11";

export class Contestant {
  static async open(folder, from) {
    const { Ditto, DittoConfig, init, Logger } = createRequire(from)("@dittolive/ditto");
    await init();
    Logger.enabled = false;
    const contestant = new Contestant();
    const config = new DittoConfig(DATABASE, { mode: "smallPeersOnly" }, folder);
    contestant.ditto = await Ditto.open(config);
    return contestant;
  }

  close() {
    return this.ditto.close();
  }

  run(statement, args) {
    return this.ditto.store.execute(statement, args);
  }

  async values(statement, args) {
    const { items } = await this.run(statement, args);
    return items.map((item) => item.value);
  }

  insertMany(documents) {
    return this.run("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  }

  insert(document) {
    return this.run("INSERT INTO arrivals DOCUMENTS (:document)", { document });
  }

  async arrivals() {
    const [{ n }] = await this.values("SELECT count(*) AS n FROM arrivals");
    return n;
  }

  byId(id) {
    return this.values("SELECT * FROM cars WHERE _id = :id", { id });
  }

  useIds(id) {
    return this.values("SELECT * FROM cars USE IDS :id", { id });
  }

  byBatch(batch) {
    return this.values("SELECT * FROM cars WHERE batch = :batch", { batch });
  }

  async count() {
    const [{ n }] = await this.values(
      "SELECT count(*) AS n FROM cars WHERE color = :color AND year >= :year",
      { color: COLOR, year: YEAR },
    );
    return n;
  }

  groups() {
    return this.values(
      "SELECT model, count(*) AS n, sum(mileage) AS total FROM cars GROUP BY model",
    );
  }

  top() {
    return this.values("SELECT * FROM cars ORDER BY price DESC LIMIT :top", { top: TOP });
  }

  createIndex() {
    return this.run("CREATE INDEX by_batch ON cars (batch)");
  }

  update(id, mileage) {
    return this.run("UPDATE cars SET mileage = :mileage WHERE _id = :id", { id, mileage });
  }

  all() {
    return this.values("SELECT * FROM cars");
  }

  async deleteBatches(from, to) {
    const result = await this.run("DELETE FROM cars WHERE batch >= :from AND batch < :to", {
      from,
      to,
    });
    return result.mutatedDocumentIDsV2().length;
  }
}
