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
npm run compare -- quickstart PATH

Runs generated statements in the reference engine and in Big Peer, and reports the differences.

  --seed N        seed of the generated statements (default: a new one for each run)
  --statements N  number of statements to compare (default ${STATEMENTS})
  --examples N    examples to print for each class of differences (default 3)

With quickstart it runs the terminal app and the web app of a checkout of the public quick start
(github.com/getditto/quickstart) on Big Peer, with the import of the SDK aliased. It needs Chromium.

The reference SDK is proprietary. npm installs it in the user's cache; only its public API is used.`;
