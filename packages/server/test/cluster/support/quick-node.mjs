/**
 * A node of a cluster as `bigpeer` starts it, which trims logs and brings closed apps up to date
 * after seconds, not after minutes and hours. It runs the built server.
 */
import { parseArgs } from "node:util";
import { createLog, readConfig, SETTINGS, startServer } from "../../../dist/index.js";

const UPKEEP = { trimMs: 500, catchUpMs: 1_000, keptEntries: 20, copyHoldMs: 1_000 };

const options = {};
for (const { flag, type } of SETTINGS) {
  if (flag !== undefined)
    options[flag.slice(2)] = { type: type === "switch" ? "boolean" : "string" };
}
const { values } = parseArgs({ options });
const flags = new Map(
  Object.entries(values).map(([name, value]) => [`--${name}`, value === true ? "1" : value]),
);
const { cluster, ...config } = readConfig(flags, process.env);
const write = (line) => process.stderr.write(line);
const log = createLog({ level: "debug", format: "json", write });
const server = await startServer(
  { ...config, cluster: { ...cluster, upkeep: UPKEEP } },
  { log, onFatal: () => process.exit(1) },
);
process.once("SIGTERM", () => void server.close());
process.stdout.write(`  url ${server.url}\n  manage ${server.managementUrl}\n  stop kill\n`);
