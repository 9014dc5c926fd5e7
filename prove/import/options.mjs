/**
 * Options of `npm run prove -- import`.
 */
import { parseArgs } from "node:util";

export const USAGE = `npm run prove -- import [options]

Imports documents with the command bigpeer and loads as many over HTTP, in alternating rounds; exports
them and imports the export into an empty server; and imports and exports them while the command and
the server are killed at random. Checks that all stores are equal, and the rate and memory of the import.

  --documents N     number of documents (default 1000000)
  --rounds N        rounds in which both loads alternate (default 4)
  --kills N         how often the command or the server is killed (default 20)
  --seed N          seed of documents and kills (default: random)
  --json FILE       also write the result as JSON
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      documents: { type: "string", default: "1000000" },
      rounds: { type: "string", default: "4" },
      kills: { type: "string", default: "20" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const rounds = integer("--rounds", values.rounds, 1);
  return {
    help: values.help,
    json: values.json,
    documents: integer("--documents", values.documents, rounds),
    rounds,
    kills: integer("--kills", values.kills, 0),
    seed: integer("--seed", values.seed, 0),
  };
}

function integer(option, text, least) {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`expected an integer of at least ${least}, found '${text}' at ${option}`);
}
