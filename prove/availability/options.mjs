/**
 * Options of `npm run prove -- availability`.
 */
import { parseArgs } from "node:util";

export const USAGE = `npm run prove -- availability [options]

Attacks the server in many ways and checks that it stays available.

  --only NAMES      run only these attacks: names or first words of names, separated by commas
  --list            list the attacks and exit
  --seconds N       duration of each attack (default 10)
  --store FOLDER    folder of the prepared store; created if it does not exist
  --documents N     number of documents in the prepared store (default 50000)
  --profile FOLDER  write a CPU profile of each attacked server, and print its longest piece of work
  --json FILE       also write the figures as JSON
  --help            show this text
`;

/** Throws an error with a sentence if the arguments are invalid. */
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

/** Attacks whose names equal or begin with one of `only`; all attacks without `only`. */
export function chooseAttacks(attacks, only) {
  if (only === undefined) return attacks;
  const unknown = only.find((word) => !attacks.some(({ name }) => isChosen(name, word)));
  if (unknown !== undefined) {
    throw new Error(`expected the name of an attack, found '${unknown}' at --only; see --list`);
  }
  return attacks.filter(({ name }) => only.some((word) => isChosen(name, word)));
}
