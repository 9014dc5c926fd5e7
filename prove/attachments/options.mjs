/**
 * Options of `npm run prove -- attachments`.
 */
import { parseArgs } from "node:util";

export const USAGE = `npm run prove -- attachments [options]

Sends files from one small peer to another over a server, while all connections are cut every second
and processes are killed. Checks that all files arrive whole, that no process uses much memory, and
that little is sent twice.

  --files N         number of files (default 50)
  --size-max MB     size of the largest of them (default 100)
  --large MB        size of one more file (default 1024)
  --cut-every MS    time between cuts (default 1000)
  --kill-every MS   time between kills (default 8000)
  --seed N          seed of sizes, contents and kills (default: random)
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      files: { type: "string", default: "50" },
      "size-max": { type: "string", default: "100" },
      large: { type: "string", default: "1024" },
      "cut-every": { type: "string", default: "1000" },
      "kill-every": { type: "string", default: "8000" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      help: { type: "boolean", default: false },
    },
  });
  return {
    help: values.help,
    files: integer("--files", values.files, 0),
    sizeMax: integer("--size-max", values["size-max"], 1) * 1_000_000,
    large: integer("--large", values.large, 0) * 1024 * 1024,
    cutMs: integer("--cut-every", values["cut-every"], 50),
    killMs: integer("--kill-every", values["kill-every"], 500),
    seed: integer("--seed", values.seed, 0),
  };
}

function integer(option, text, least) {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`expected an integer of at least ${least}, found '${text}' at ${option}`);
}
