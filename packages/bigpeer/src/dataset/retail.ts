/**
 * Dataset `retail`: products, customers and orders of a shop. Each order names a customer and
 * products that are in it.
 */

import type { Random } from "./random.ts";
import type { Sample } from "./sample.ts";
import { city, personName, sampleId, timeAt } from "./sample-values.ts";

const ADJECTIVES = [
  "Small",
  "Large",
  "Light",
  "Warm",
  "Folding",
  "Wooden",
  "Blue",
  "Green",
] as const;
const NOUNS = [
  "tent",
  "lamp",
  "chair",
  "jacket",
  "backpack",
  "kettle",
  "blanket",
  "table",
] as const;
const CATEGORIES = ["camping", "clothing", "furniture", "kitchen"] as const;
const STATES = ["placed", "paid", "packed", "shipped", "delivered", "returned"] as const;

/** Orders for each product and for each customer. */
const ORDERS_PER_PRODUCT = 10;
const ORDERS_PER_CUSTOMER = 5;

interface Product {
  readonly id: string;
  readonly cents: number;
}

export function* retail(random: Random, size: number): Generator<Sample> {
  const products: Product[] = [];
  for (let number = 1; number <= Math.ceil(size / ORDERS_PER_PRODUCT); number++) {
    const product = { id: sampleId("product", number), cents: random.between(5, 400) * 50 };
    products.push(product);
    yield {
      collection: "products",
      document: {
        _id: product.id,
        name: `${random.one(ADJECTIVES)} ${random.one(NOUNS)}`,
        category: random.one(CATEGORIES),
        price: product.cents / 100,
        stock: random.between(0, 200),
      },
    };
  }
  const customers = Math.ceil(size / ORDERS_PER_CUSTOMER);
  for (let number = 1; number <= customers; number++) {
    yield {
      collection: "customers",
      document: {
        _id: sampleId("customer", number),
        name: personName(random),
        email: `customer${number}@example.com`,
        address: { street: `${random.between(1, 99)} High Street`, city: city(random) },
      },
    };
  }
  for (let number = 1; number <= size; number++) {
    const lines = orderLines(random, products);
    yield {
      collection: "orders",
      document: {
        _id: sampleId("order", number),
        customerId: sampleId("customer", random.between(1, customers)),
        placedAt: timeAt(number * 53),
        status: random.one(STATES),
        lines,
        total: lines.reduce((sum, { price, quantity }) => sum + price * quantity * 100, 0) / 100,
      },
    };
  }
}

function orderLines(random: Random, products: readonly Product[]) {
  return Array.from({ length: random.between(1, 4) }, () => {
    const { id = "", cents = 0 } = products[random.below(products.length)] ?? {};
    return { productId: id, quantity: random.between(1, 3), price: cents / 100 };
  });
}
