/**
 * Documents of the language benchmark and the expected answer to each question. The expected
 * answers come from plain loops over the documents, which share no code with any contestant.
 *
 * A document has about 290 bytes of JSON: ten fields, and an id in random order like a UUID. Each
 * value of `batch` occurs in 50 documents, `model` has 100 values, and `price` is different in each
 * document.
 */
import { createHash } from "node:crypto";

const COLORS = ["blue", "red", "green", "silver"];
const CITIES = ["Lisbon", "Oslo", "Nairobi", "Osaka", "Quito"];

export const HITS = 50;
export const TOP = 10;
export const GROUPS = 100;
/** Values of `batch` in a range delete: 5,000 documents. */
export const DELETED_BATCHES = 100;
export const COLOR = "green";
export const YEAR = 2012;

/** Whether all batches and groups have the same size, and a range delete leaves documents. */
export function isPossible(documents) {
  return documents % (HITS * GROUPS) === 0 && documents / HITS >= DELETED_BATCHES * 2;
}

export function idOf(i) {
  return createHash("md5").update(String(i)).digest("hex");
}

export function documentOf(i, documents) {
  return {
    _id: idOf(i),
    make: "Volvo",
    model: `V${i % GROUPS}`,
    color: COLORS[i % 4],
    year: 1990 + (i % 36),
    mileage: (i * 7919) % 300000,
    price: ((i * 104729) % 5000000) / 100,
    batch: i % (documents / HITS),
    sold: i % 3 === 0,
    owner: { name: `owner ${i % 5000}`, city: CITIES[i % 5], since: 1_700_000_000 + i },
    tags: ["used", `lot-${i % 17}`],
    updatedAt: "2026-01-01T12:00:00.000Z",
  };
}

/** Documents from number `from` on. */
export function documentsOf(from, count, documents) {
  return Array.from({ length: count }, (_, j) => documentOf(from + j, documents));
}

/** Visits all documents in a pseudo-random order, the same for every contestant. */
export function shuffled(k, documents) {
  return (k * 7919) % documents;
}

/** The mileage that update number `k` of a round sets. */
export function newMileage(k) {
  return 400_000 + k;
}

/** Expected answers. Ids are sorted if the question sets no order. */
export class Truth {
  constructor(documents) {
    this.documents = documents;
    this.ids = Array.from({ length: documents }, (_, i) => idOf(i));
    this.count = 0;
    const groups = new Map();
    const prices = [];
    for (let i = 0; i < documents; i++) {
      const { color, year, model, mileage, price } = documentOf(i, documents);
      if (color === COLOR && year >= YEAR) this.count++;
      const group = groups.get(model) ?? { model, n: 0, total: 0 };
      group.n++;
      group.total += mileage;
      groups.set(model, group);
      prices.push([price, i]);
    }
    this.groups = [...groups.values()].toSorted(byModel);
    prices.sort(([a], [b]) => b - a);
    this.top = prices.slice(0, TOP).map(([, i]) => this.ids[i]);
  }

  get batches() {
    return this.documents / HITS;
  }

  /** Ids of the documents of one batch. */
  batch(value) {
    const ids = [];
    for (let i = value; i < this.documents; i += this.batches) ids.push(this.ids[i]);
    return ids.toSorted(byText);
  }
}

/** Compares as JavaScript does; ids have only letters and digits. */
export function byText(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function byModel(a, b) {
  return byText(a.model, b.model);
}
