/**
 * Options of `npm run prove -- cluster`.
 */
import { parseArgs } from "node:util";
import { PLANTS } from "./checker.mjs";

export const USAGE = `npm run prove -- cluster [options]

Breaks a cluster at random while clients write, and checks that nothing is lost or done twice.

  --seed N          seed of the first run, which decides the faults (default: random)
  --runs N          number of runs, each with the next seed (default 1)
  --minutes N       duration of each run (default 3)
  --peers N         number of small peers (default 100)
  --plant FAULT     plant a fault into the recorded history: ${Object.keys(PLANTS).join(", ")}
  --json FILE       also write the results as JSON
  --keep            keep the folder of each run
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      runs: { type: "string", default: "1" },
      minutes: { type: "string", default: "3" },
      peers: { type: "string", default: "100" },
      plant: { type: "string" },
      json: { type: "string" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { plant } = values;
  if (plant !== undefined && !Object.hasOwn(PLANTS, plant)) {
    const names = Object.keys(PLANTS).join(", ");
    throw new Error(`expected one of ${names}, found '${plant}' at --plant`);
  }
  return {
    ...values,
    seed: integer("--seed", values.seed, 0),
    runs: integer("--runs", values.runs, 1),
    peers: integer("--peers", values.peers, 0),
    minutes: positive("--minutes", values.minutes),
  };
}

function positive(option, text) {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new Error(`expected a number above 0, found '${text}' at ${option}`);
}

function integer(option, text, least) {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`expected an integer of at least ${least}, found '${text}' at ${option}`);
}
