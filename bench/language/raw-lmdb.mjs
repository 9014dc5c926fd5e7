/**
 * Floor of the language benchmark: the lmdb package alone, with the settings of the store and its
 * own msgpack encoding with shared structures. Each operation does the least work that can answer
 * it, as its comment says. There are no statements, no metadata, no change log and no checks.
 */
import { openRaw } from "../floor/raw-lmdb.mjs";
import { COLOR, TOP, YEAR } from "./documents.mjs";

const CARS = { start: "c", end: "d" };

function indexKey(batch, id) {
  return `i${String(batch).padStart(8, "0")}${id}`;
}

const ID_AT = indexKey(0, "").length;

export class Contestant {
  static async open(folder) {
    const contestant = new Contestant();
    contestant.raw = openRaw(folder);
    return contestant;
  }

  close() {
    return this.raw.close();
  }

  /** One batch, one sync, a put for each document. */
  insertMany(documents) {
    return this.raw.batch(() => {
      for (const document of documents) this.raw.put(`c${document["_id"]}`, document);
    });
  }

  /** One put. Several in flight become one commit with one sync. */
  insert(document) {
    return this.raw.put(`a${document["_id"]}`, document);
  }

  arrivals() {
    return this.raw.getKeysCount({ start: "a", end: "b" });
  }

  /** One get with decoding. */
  byId(id) {
    return [this.raw.get(`c${id}`)];
  }

  useIds(id) {
    return this.byId(id);
  }

  /** Without the index: scans and decodes all documents, compares one field. */
  byBatch(batch) {
    return this.isIndexed ? this.byIndex(batch) : this.scanned(batch);
  }

  scanned(batch) {
    const found = [];
    for (const { value } of this.raw.getRange(CARS)) if (value.batch === batch) found.push(value);
    return found;
  }

  /** Scans the index entries of one value, with a get for each. */
  byIndex(batch) {
    const found = [];
    const range = { start: indexKey(batch, ""), end: indexKey(batch + 1, "") };
    for (const key of this.raw.getKeys(range)) found.push(this.raw.get(`c${key.slice(ID_AT)}`));
    return found;
  }

  /** Scans and decodes all documents, compares two fields. */
  count() {
    let n = 0;
    for (const { value } of this.raw.getRange(CARS)) {
      if (value.color === COLOR && value.year >= YEAR) n++;
    }
    return n;
  }

  /** Scans and decodes all documents, with a map of sums. */
  groups() {
    const groups = new Map();
    for (const { value } of this.raw.getRange(CARS)) {
      const group = groups.get(value.model);
      if (group === undefined) {
        groups.set(value.model, { model: value.model, n: 1, total: value.mileage });
      } else {
        group.n++;
        group.total += value.mileage;
      }
    }
    return [...groups.values()];
  }

  /** Scans and decodes all documents, keeps the best ten in order. */
  top() {
    const best = [];
    for (const { value } of this.raw.getRange(CARS)) {
      if (best.length === TOP && value.price <= best[TOP - 1].price) continue;
      let at = best.length;
      while (at > 0 && best[at - 1].price < value.price) at--;
      best.splice(at, 0, value);
      if (best.length > TOP) best.pop();
    }
    return best;
  }

  /** Scans and decodes all documents, sorts the keys, puts them in one batch with one sync. */
  async createIndex() {
    const keys = [];
    for (const { value } of this.raw.getRange(CARS)) keys.push(indexKey(value.batch, value["_id"]));
    keys.sort();
    await this.raw.batch(() => {
      for (const key of keys) this.raw.put(key, null);
    });
    this.isIndexed = true;
  }

  /** One get, one put: the index does not have the field. */
  update(id, mileage) {
    const document = this.raw.get(`c${id}`);
    document.mileage = mileage;
    return this.raw.put(`c${id}`, document);
  }

  /** Scans and decodes all documents into a list. */
  all() {
    const found = [];
    for (const { value } of this.raw.getRange(CARS)) found.push(value);
    return found;
  }

  /** Scans the index entries; removes both keys of each document in one batch with one sync. */
  async deleteBatches(from, to) {
    let deleted = 0;
    const range = { start: indexKey(from, ""), end: indexKey(to, "") };
    await this.raw.batch(() => {
      for (const key of this.raw.getKeys(range)) {
        this.raw.remove(key);
        this.raw.remove(`c${key.slice(ID_AT)}`);
        deleted++;
      }
    });
    return deleted;
  }
}
