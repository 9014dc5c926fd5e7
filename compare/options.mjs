/**
 * Command-line options of `npm run compare`.
 */
import { parseArgs } from "node:util";

const STATEMENTS = 20_000;

export function parseOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      statements: { type: "string", default: String(STATEMENTS) },
      examples: { type: "string", default: "3" },
      help: { type: "boolean", default: false },
    },
  });
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  const statements = Number(values.statements);
  const examples = Number(values.examples);
  for (const [name, value] of Object.entries({ seed, statements, examples })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new Error(`expected a whole number after --${name}, found ${values[name]}`);
    }
  }
  return { seed, statements, examples, isHelp: values.help };
}

export const HELP = `npm run compare -- [--seed N] [--statements N] [--examples N]

Runs generated statements in the reference engine and in ours, and reports how much agrees.

  --seed N        the seed of the statements; another one for each run unless it is given
  --statements N  how many are compared (default ${STATEMENTS})
  --examples N    examples of each class of differences (default 3)

The reference SDK is proprietary: npm fetches it into the user's cache, and its public API alone is used.`;
