/**
 * `bigpeer dataset` against a real server.
 */

import { beforeAll, expect, test } from "vitest";
import { createSamples, DATASETS } from "../../src/dataset/datasets.ts";
import { startTestServer, type TestServer } from "../support/run-bigpeer.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

async function json(...words: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await server.run(words);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stdout) as unknown;
}

async function count(statement: string): Promise<unknown> {
  return json("query", statement, "--format", "json");
}

test.each(DATASETS.map((dataset) => [dataset.name, dataset] as const))(
  "the dataset %s is the same for the same seed, and another one for another",
  (_, dataset) => {
    const samples = [...createSamples(dataset, 1, 40)];
    expect([...createSamples(dataset, 1, 40)]).toEqual(samples);
    expect([...createSamples(dataset, 2, 40)]).not.toEqual(samples);
    expect(new Set(samples.map(({ collection }) => collection))).toEqual(
      new Set(dataset.collections),
    );
    const ids = samples.map(({ collection, document: { _id } }) => `${collection} ${_id}`);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+ demo-/);
  },
);

test("list shows the datasets, load adds what is not there", async () => {
  expect(await json("dataset", "list")).toMatchObject(DATASETS.map(({ name }) => ({ name })));
  expect(await json("dataset", "load", "tasks", "--size", "10")).toEqual([
    { collection: "tasks", documents: 10, added: 10 },
  ]);
  await server.run(["query", "UPDATE tasks SET title = 'mine' WHERE _id = 'demo-task-00001'"]);
  expect(await json("dataset", "load", "tasks", "--size", "12")).toEqual([
    { collection: "tasks", documents: 12, added: 2 },
  ]);
  expect(await count("SELECT _id FROM tasks WHERE title = 'mine'")).toHaveLength(1);
});

test("reset brings the dataset back and leaves other documents", async () => {
  await server.run(["query", "INSERT INTO stores DOCUMENTS ({'_id': 'own'})"]);
  await json("dataset", "load", "pos", "--size", "20");
  await server.run(["query", "DELETE FROM sales WHERE true"]);
  expect((await server.run(["dataset", "reset", "pos"])).code).toBe(2);
  const rows = (await json("dataset", "reset", "pos", "--size", "5", "--yes")) as {
    collection: string;
    added: number;
  }[];
  expect(rows.find(({ collection }) => collection === "sales")?.added).toBe(5);
  expect(await count("SELECT * FROM sales")).toHaveLength(5);
  expect(await count("SELECT * FROM stores")).toHaveLength(6);
});

test("an unknown dataset is wrong usage", async () => {
  const { code, stderr } = await server.run(["dataset", "load", "cars"]);
  expect(code).toBe(2);
  expect(stderr).toContain("Allowed choices are tasks, retail, pos");
});
