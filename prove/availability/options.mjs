/**
 * Options of `npm run prove -- availability`.
 */
import { parseArgs } from "node:util";

export const USAGE = `npm run prove -- availability [options]

  --only NAMES      these attacks alone: names or beginnings of names, with commas between
  --list            prints the attacks and exits
  --seconds N       how long each attack runs (default 10)
  --store FOLDER    takes the prepared store from this folder; prepares it there when it is absent
  --documents N     documents of the prepared store (default 50000)
  --profile FOLDER  writes a CPU profile of each attacked server, and prints its longest piece
  --json FILE       writes the figures as JSON as well
`;

/** Throws with a sentence where the arguments are wrong. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      seconds: { type: "string", default: "10" },
      store: { type: "string" },
      documents: { type: "string", default: "50000" },
      profile: { type: "string" },
      json: { type: "string" },
    },
  });
  return {
    ...values,
    only: values.only?.split(",").filter((name) => name !== ""),
    seconds: positive("--seconds", values.seconds),
    documents: positive("--documents", values.documents),
  };
}

function positive(option, text) {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new Error(`expected a number above 0, found '${text}' at ${option}`);
}

function isChosen(name, word) {
  return name === word || name.startsWith(`${word}-`);
}

/** The attacks whose names are, or begin with, one of `only`; all of them without it. */
export function chooseAttacks(attacks, only) {
  if (only === undefined) return attacks;
  const unknown = only.find((word) => !attacks.some(({ name }) => isChosen(name, word)));
  if (unknown !== undefined) {
    throw new Error(`expected the name of an attack, found '${unknown}' at --only; see --list`);
  }
  return attacks.filter(({ name }) => only.some((word) => isChosen(name, word)));
}
