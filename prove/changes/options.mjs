/**
 * Options of `npm run prove -- changes`.
 */
import { parseArgs } from "node:util";

export const USAGE = `npm run prove -- changes [options]

Writes changes under load while readers of the change feed and webhook receivers are killed at random.
Checks that each gets every change, once after removing repeats by id, in order, and that the memory
of the server is bounded, whatever other readers do.

  --changes N       number of changes (default 1000000)
  --minutes N       stop writing after this time (default: no limit)
  --readers N       readers that each follow one value (default 1000)
  --deaf N          how many of them do not read (default 100)
  --kill-every MS   time between kills (default 2000)
  --seed N          seed of the kills (default: random)
  --json FILE       also write the result as JSON
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      changes: { type: "string", default: "1000000" },
      minutes: { type: "string" },
      readers: { type: "string", default: "1000" },
      deaf: { type: "string", default: "100" },
      "kill-every": { type: "string", default: "2000" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const readers = integer("--readers", values.readers, 2);
  const deaf = integer("--deaf", values.deaf, 0);
  if (deaf >= readers) {
    throw new Error(`expected fewer than ${readers}, found '${values.deaf}' at --deaf`);
  }
  return {
    help: values.help,
    json: values.json,
    changes: integer("--changes", values.changes, 1),
    writeMs: values.minutes === undefined ? Infinity : minutes(values.minutes) * 60_000,
    readers,
    deaf,
    killMs: integer("--kill-every", values["kill-every"], 100),
    seed: integer("--seed", values.seed, 0),
  };
}

function integer(option, text, least) {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`expected an integer of at least ${least}, found '${text}' at ${option}`);
}

function minutes(text) {
  const number = Number(text);
  if (number > 0) return number;
  throw new Error(`expected a number of minutes, found '${text}' at --minutes`);
}
