/**
 * `bigpeer dataset`: loads sample documents to try the server with.
 */

import { dataClient, findAddresses } from "../connection/addresses.ts";
import { loadDataset, removeDataset } from "../dataset/dataset-load.ts";
import { DATASETS, type Dataset } from "../dataset/datasets.ts";
import type { Call, CommandDefinition } from "../program/definition.ts";
import { confirm } from "../terminal/confirm.ts";
import { DATA, OUTPUT, own, YES } from "./shared-options.ts";

const NAME = {
  name: "name",
  meaning: "name of the dataset",
  choices: DATASETS.map(({ name }) => name),
};

const SIZE = {
  name: "size",
  argument: "N",
  meaning: "documents of its largest collection; dataset list shows the default",
};

const SEED = {
  name: "seed",
  argument: "N",
  meaning: "other numbers give other documents; default: 1",
};

export const DATASET: CommandDefinition = {
  name: "dataset",
  meaning: "load sample documents, the same every time",
  group: "Work with documents",
  examples: ["dataset list", "dataset load tasks", "dataset load pos --size 10000"],
  commands: [
    {
      name: "list",
      meaning: "list the datasets",
      examples: ["dataset list"],
      groups: [OUTPUT],
      run: list,
    },
    {
      name: "load",
      meaning: "load a dataset; documents that are there stay as they are",
      examples: ["dataset load tasks", "dataset load retail --size 5000 --seed 7"],
      words: [NAME],
      groups: [own(SIZE, SEED), DATA, OUTPUT],
      run: load,
    },
    {
      name: "reset",
      meaning: "delete the documents of a dataset, whose ids begin with demo-, and load it again",
      examples: ["dataset reset tasks", "dataset reset tasks --yes  # without a question"],
      words: [NAME],
      groups: [own(SIZE, SEED, YES), DATA, OUTPUT],
      run: reset,
    },
  ],
};

async function list({ output }: Call): Promise<void> {
  const rows = DATASETS.map(({ name, meaning, collections, size }) => {
    return { name, size, collections: collections.join(", "), meaning };
  });
  await output.rows(rows);
}

async function load(call: Call): Promise<void> {
  const { options, host, output } = call;
  const dataset = datasetOf(call);
  const size = options.number("size") ?? dataset.size;
  const seed = options.number("seed", 0) ?? 1;
  const client = dataClient(findAddresses(options, host), host);
  await output.rows(await loadDataset(client, dataset, { seed, size, signal: host.signal }));
  output.note(`next: bigpeer query "SELECT * FROM ${dataset.collections.at(-1)} LIMIT 5"`);
}

async function reset(call: Call): Promise<void> {
  const { options, host } = call;
  const dataset = datasetOf(call);
  const collections = dataset.collections.join(", ");
  await confirm(call, `Delete the documents demo-… of ${collections} and load them again?`);
  await removeDataset(dataClient(findAddresses(options, host), host), dataset, host.signal);
  await load(call);
}

/** The parser accepts no other name. */
function datasetOf({ words }: Call): Dataset {
  return DATASETS.find(({ name }) => name === words[0]) ?? DATASETS[0];
}
