/**
 * Contestant: Big Peer in process. It runs statements on a store on LMDB with the settings of the
 * server. A write is answered when it is durable.
 */

import { setTimeout } from "node:timers/promises";
import { StatementRunner } from "@bigpeer/engine/query";
import { Store } from "@bigpeer/engine/store";
import { nodePlatform, openStorage } from "@bigpeer/node";
import { COLOR, TOP, YEAR } from "./documents.mjs";

/** Limit that fits all documents of a large run in one answer. */
const LIMITS = { timeMs: 3_600_000, bytes: 16 * 1024 ** 3 };
const POLL_MS = 2;

export class Contestant {
  static async open(folder) {
    const contestant = new Contestant();
    contestant.storage = await openStorage(folder);
    contestant.store = await Store.open(contestant.storage, nodePlatform);
    contestant.runner = new StatementRunner({
      store: contestant.store,
      platform: nodePlatform,
      appId: "bench",
      limits: LIMITS,
    });
    return contestant;
  }

  async close() {
    await this.store.close();
    await this.storage.close();
  }

  /** Returns no promise if there is nothing to wait for, as in the server. */
  start(statement, args) {
    return this.runner.start({ statement, args });
  }

  items(statement, args) {
    const result = this.start(statement, args);
    return result instanceof Promise ? result.then(({ items }) => items) : result.items;
  }

  insertMany(documents) {
    return this.start("INSERT INTO cars DOCUMENTS (:documents)", { documents });
  }

  insert(document) {
    return this.start("INSERT INTO arrivals DOCUMENTS (:document)", { document });
  }

  async arrivals() {
    const [{ n }] = await this.items("SELECT count(*) AS n FROM arrivals");
    return n;
  }

  byId(id) {
    return this.items("SELECT * FROM cars WHERE _id = :id", { id });
  }

  useIds(id) {
    return this.items("SELECT * FROM cars USE IDS :id", { id });
  }

  byBatch(batch) {
    return this.items("SELECT * FROM cars WHERE batch = :batch", { batch });
  }

  async count() {
    const [{ n }] = await this.items(
      "SELECT count(*) AS n FROM cars WHERE color = :color AND year >= :year",
      { color: COLOR, year: YEAR },
    );
    return n;
  }

  groups() {
    return this.items(
      "SELECT model, count(*) AS n, sum(mileage) AS total FROM cars GROUP BY model",
    );
  }

  top() {
    return this.items("SELECT * FROM cars ORDER BY price DESC LIMIT :top", { top: TOP });
  }

  async createIndex() {
    await this.start("CREATE INDEX by_batch ON cars (batch)");
    await this.store.whenIndexesReady?.();
    while (await this.isIndexBuilding()) await setTimeout(POLL_MS);
  }

  async isIndexBuilding() {
    const indexes = await this.items("SELECT * FROM system:indexes");
    return indexes.some(({ state }) => state === "building");
  }

  update(id, mileage) {
    return this.start("UPDATE cars SET mileage = :mileage WHERE _id = :id", { id, mileage });
  }

  all() {
    return this.items("SELECT * FROM cars");
  }

  async deleteBatches(from, to) {
    const { mutatedDocumentIds } = await this.start(
      "DELETE FROM cars WHERE batch >= :from AND batch < :to",
      { from, to },
    );
    return mutatedDocumentIds.length;
  }
}
