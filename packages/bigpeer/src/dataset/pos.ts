/**
 * Dataset `pos`: the tills of a chain of cafés. Each sale names its till and its store.
 */

import type { Random } from "./random.ts";
import type { Sample } from "./sample.ts";
import { city, personName, sampleId, timeAt } from "./sample-values.ts";

const STORES = 5;
const REGISTERS_PER_STORE = 2;
const PAYMENTS = ["card", "cash", "voucher"] as const;
const MENU = [
  { name: "Espresso", price: 2.5, group: "coffee" },
  { name: "Cappuccino", price: 3.5, group: "coffee" },
  { name: "Green tea", price: 3, group: "tea" },
  { name: "Lemonade", price: 4, group: "cold" },
  { name: "Croissant", price: 2, group: "bakery" },
  { name: "Cheese roll", price: 4.5, group: "bakery" },
  { name: "Carrot cake", price: 5, group: "cake" },
] as const;

export function* pos(random: Random, size: number): Generator<Sample> {
  for (let store = 1; store <= STORES; store++) {
    const people = { city: city(random), manager: personName(random) };
    const document = { _id: sampleId("store", store), ...people };
    yield { collection: "stores", document };
  }
  for (const [index, item] of MENU.entries()) {
    yield { collection: "menu", document: { _id: sampleId("item", index + 1), ...item } };
  }
  const registers = STORES * REGISTERS_PER_STORE;
  for (let register = 1; register <= registers; register++) {
    const storeId = sampleId("store", storeOf(register));
    yield { collection: "registers", document: { _id: sampleId("register", register), storeId } };
  }
  for (let number = 1; number <= size; number++) {
    const register = random.between(1, registers);
    const lines = saleLines(random);
    yield {
      collection: "sales",
      document: {
        _id: sampleId("sale", number),
        storeId: sampleId("store", storeOf(register)),
        registerId: sampleId("register", register),
        soldAt: timeAt(number * 3),
        cashier: personName(random),
        payment: random.one(PAYMENTS),
        lines,
        total: lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0),
      },
    };
  }
}

function storeOf(register: number): number {
  return Math.ceil(register / REGISTERS_PER_STORE);
}

function saleLines(random: Random) {
  return Array.from({ length: random.between(1, 5) }, () => {
    const index = random.below(MENU.length);
    const { name, price } = MENU[index] ?? MENU[0];
    return { itemId: sampleId("item", index + 1), name, price, quantity: random.between(1, 2) };
  });
}
