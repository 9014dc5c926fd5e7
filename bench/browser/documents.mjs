/**
 * What every contestant stores: documents of about 260 bytes of JSON, with ids in no order.
 * `recordsOf` are the keys and values that the store of a peer has for such a document: 5 keys and
 * about 626 bytes.
 */

const COLORS = ["red", "green", "blue", "white", "black", "silver"];

export function idOf(number) {
  return `document-${String((number * 7919) % 10_000_019).padStart(8, "0")}`;
}

export function documentOf(number) {
  return {
    name: `Car number ${number}`,
    color: COLORS[number % COLORS.length],
    price: (number * 37) % 90_000,
    mileage: (number * 7) % 300_000,
    isSold: number % 3 === 0,
    owner: {
      name: `Owner ${number % 1000}`,
      city: `City ${number % 100}`,
      zip: 10_000 + (number % 900),
    },
    tags: ["car", `tag${number % 10}`, `tag${number % 7}`],
    note: "A text of some length, as documents of an app have it, with a number in it: ".concat(
      number,
    ),
  };
}

/** The documents from `from` to below `to`, each with its id as the field `idField`. */
export function documentsOf(from, to, idField) {
  return Array.from({ length: to - from }, (_, i) => ({
    [idField]: idOf(from + i),
    ...documentOf(from + i),
  }));
}

/** Splits documents into lists of `size`, as ranges of their numbers. */
export function* batchesOf(count, size) {
  for (let from = 0; from < count; from += size) yield [from, Math.min(from + size, count)];
}

/** What a page returns that has read all documents, and `expectedOf` what it must be. */
export function readingOf(documents) {
  let sum = 0;
  for (const { mileage } of documents) sum += mileage;
  return { count: documents.length, sum };
}

export function expectedOf(count) {
  return readingOf(Array.from({ length: count }, (_, number) => documentOf(number)));
}

/** The document that the commit of this number changes: its new price. */
export function changeOf(round, count) {
  const number = (round * 101) % count;
  return { number, id: idOf(number), price: 100_000 + round };
}

/** Entries for a KeyValue. */
export function recordsOf(number, document = documentOf(number)) {
  const id = idOf(number);
  const transaction = String(number).padStart(10, "0");
  return [
    [`d/cars/${id}`, document],
    [`m/cars/${id}`, bytes(number, 32)],
    [`i/cars/color/${document.color}/${id}`, null],
    [`l/${transaction}`, { id, collection: "cars", kind: "insert", state: bytes(number, 150) }],
    [`t/${transaction}/${id}`, [number, bytes(number, 34)]],
  ];
}

function bytes(seed, size) {
  return Uint8Array.from({ length: size }, (_, i) => (seed * 31 + i * 17) % 256);
}
