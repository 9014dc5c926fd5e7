/**
 * Datasets: sample documents to try the server with. Each dataset is the same for the same seed and
 * size. Its ids begin with `demo-`, so they are told from the documents of the user.
 */

import { pos } from "./pos.ts";
import { Random } from "./random.ts";
import { retail } from "./retail.ts";
import type { Sample } from "./sample.ts";
import { tasks } from "./tasks.ts";

export interface Dataset {
  readonly name: string;
  readonly meaning: string;
  readonly collections: readonly string[];
  /** Documents of the largest collection, unless another number is given. */
  readonly size: number;
  readonly create: (random: Random, size: number) => Iterable<Sample>;
}

export const DATASETS: readonly [Dataset, ...Dataset[]] = [
  {
    name: "tasks",
    meaning: "a task list of a team",
    collections: ["tasks"],
    size: 100,
    create: tasks,
  },
  {
    name: "retail",
    meaning: "products, customers and orders of a shop",
    collections: ["products", "customers", "orders"],
    size: 500,
    create: retail,
  },
  {
    name: "pos",
    meaning: "menus, tills and sales of a chain of cafés",
    collections: ["stores", "menu", "registers", "sales"],
    size: 1_000,
    create: pos,
  },
];

export function createSamples({ create }: Dataset, seed: number, size: number): Iterable<Sample> {
  return create(new Random(seed), size);
}
