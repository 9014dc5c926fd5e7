/**
 * Process of the reference engine. Each message is a list of statements, and the answer is a list
 * of their outcomes. It uses only the public API: `store.execute`, the values of the items, the ids
 * and the error codes.
 */
import { createRequire } from "node:module";

const DATABASE = "0f2c6a52-5c5e-4e0e-9a6e-6b1f6f0a7d12";

const [folder, from] = process.argv.slice(2);
const { Ditto, DittoConfig, init, Logger } = createRequire(from)("@dittolive/ditto");
await init();
Logger.enabled = false;
const ditto = await Ditto.open(new DittoConfig(DATABASE, { mode: "smallPeersOnly" }, folder));

async function run({ statement, args }) {
  try {
    const result = await ditto.store.execute(statement, args);
    return {
      items: result.items.map((item) => item.value),
      ids: result.mutatedDocumentIDsV2(),
    };
  } catch (error) {
    return { error: String(error?.code ?? "unknown"), message: String(error?.message ?? error) };
  }
}

async function runAll(statements) {
  const answers = [];
  for (const each of statements) answers.push(await run(each));
  process.send(answers);
}

process.on("message", (statements) => void runAll(statements));
process.on("disconnect", () => process.exit(0));
process.send("ready");
