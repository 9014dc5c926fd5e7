/**
 * Sample data: a small shop with customers, products with a counter, and orders. The same documents
 * each time, so that they can be inserted again.
 */

export interface SampleCollection {
  readonly name: string;
  /** The collection with the types of its fields. */
  readonly target: string;
  readonly documents: readonly Readonly<Record<string, unknown>>[];
}

const NAMES =
  "Ada Alan Barbara Claude Donald Edsger Frances Grace Hedy Joan Ken Leslie Niklaus Radia Tony".split(
    " ",
  );
const CITIES = ["Turin", "Lyon", "Graz", "Porto", "Ghent", "Aarhus"];
const PRODUCTS: readonly (readonly [name: string, kind: string, price: number])[] = [
  ["Espresso", "drink", 2.2],
  ["Cappuccino", "drink", 3.1],
  ["Lemonade", "drink", 3.4],
  ["Croissant", "food", 2.6],
  ["Focaccia", "food", 4.5],
  ["Quiche", "food", 5.9],
  ["Granola", "food", 6.2],
  ["Beans, 500 g", "shelf", 12.5],
  ["Filter papers", "shelf", 3.9],
  ["Mug", "shelf", 9],
];
const STATES = ["open", "paid", "sent", "returned"];
const ORDERS = 240;
const FIRST_DAY = Date.UTC(2026, 0, 2, 8);
const HOUR_MS = 3_600_000;

/** Numbers that look random and are the same each time. */
function scattered(i: number, size: number): number {
  return (Math.imul(i + 7, 2_654_435_761) >>> 8) % size;
}

function pick<T>(all: readonly T[], i: number): T {
  return all[scattered(i, all.length)] as T;
}

export function sampleData(): readonly SampleCollection[] {
  const customers = NAMES.map((name, i) => {
    const address = { city: pick(CITIES, i), street: `${pick(NAMES, i + 3)} street ${i + 1}` };
    return {
      _id: `c${i + 1}`,
      name,
      address,
      isMember: i % 3 === 0,
      phone: i % 4 === 0 ? null : `+39 555 0${i}`,
    };
  });
  const products = PRODUCTS.map(([name, kind, price], i) => {
    return {
      _id: `p${i + 1}`,
      name,
      kind,
      price,
      stock: 20 + scattered(i, 80),
      tags: [kind, price > 5 ? "large" : "small"],
    };
  });
  const orders = Array.from({ length: ORDERS }, (_, i) => orderOf(i));
  return [
    { name: "customers", target: "customers", documents: customers },
    { name: "products", target: "COLLECTION products (stock COUNTER)", documents: products },
    { name: "orders", target: "orders", documents: orders },
  ];
}

function orderOf(i: number): Readonly<Record<string, unknown>> {
  const lines = Array.from({ length: 1 + scattered(i, 3) }, (_, line) => {
    const product = scattered(i * 5 + line, PRODUCTS.length);
    return {
      product: `p${product + 1}`,
      count: 1 + scattered(i + line, 4),
      price: PRODUCTS[product]?.[2] ?? 0,
    };
  });
  const total = lines.reduce((sum, { count, price }) => sum + count * price, 0);
  return {
    _id: `o${String(i + 1).padStart(4, "0")}`,
    customer: `c${1 + scattered(i, NAMES.length)}`,
    state: pick(STATES, i),
    placedAt: new Date(FIRST_DAY + i * 5 * HOUR_MS).toISOString(),
    total: Math.round(total * 100) / 100,
    lines,
  };
}
