/**
 * Options of `npm run prove -- browser`.
 */
import { parseArgs } from "node:util";

const BROWSERS = ["chromium", "firefox"];

export const USAGE = `npm run prove -- browser [options]

Kills real browsers at random times while two tabs write to their peer. Checks that no acknowledged
write is lost, and that the server gets each exactly once.

  --kills N         number of kills, divided between the browsers (default 100)
  --browser NAME    one browser only: ${BROWSERS.join(", ")}
  --storage         the storage alone, without a peer and a server
  --seed N          seed of the times of the kills (default: random)
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      kills: { type: "string", default: "100" },
      browser: { type: "string" },
      storage: { type: "boolean", default: false },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      help: { type: "boolean", default: false },
    },
  });
  const { browser } = values;
  if (browser !== undefined && !BROWSERS.includes(browser)) {
    throw new Error(`expected one of ${BROWSERS.join(", ")}, found '${browser}' at --browser`);
  }
  return {
    help: values.help,
    browsers: browser === undefined ? BROWSERS : [browser],
    isStorage: values.storage,
    kills: integer("--kills", values.kills, 1),
    seed: integer("--seed", values.seed, 0),
  };
}

function integer(option, text, least) {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`expected an integer of at least ${least}, found '${text}' at ${option}`);
}
