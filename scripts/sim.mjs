/**
 * Runs the simulator of sync: `npm run sim -- --seed 1 --seeds 500`, or `--minutes 10` for as many as
 * fit. A seed that fails is printed with the step, what was broken and the last events; the same seed
 * fails in the same way again. `--verbose` prints all events of a run, `--length` sets how many things
 * happen in it, `--all` goes on behind a failure, `--links` runs several sites that are linked,
 * `--cluster` runs a server of three nodes over one log, `--browser` runs peers with the storage of
 * browsers on a simulated IndexedDB, `--attachments` runs peers with attachments.
 *
 * The simulator is test code in TypeScript: it is bundled here, as the tests read it, and then run.
 */
import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string" },
    minutes: { type: "string" },
    length: { type: "string" },
    verbose: { type: "boolean", default: false },
    all: { type: "boolean", default: false },
    links: { type: "boolean", default: false },
    cluster: { type: "boolean", default: false },
    browser: { type: "boolean", default: false },
    attachments: { type: "boolean", default: false },
  },
});

const first = Number(values.seed);
const most = values.seeds === undefined ? undefined : Number(values.seeds);
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
const count = most ?? (minutes === undefined ? 1 : Number.POSITIVE_INFINITY);
const endMs = minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + minutes * 60_000;

const KINDS = {
  links: ["packages/engine/test/sim/link-simulation.ts", "simulateLinks"],
  cluster: ["packages/engine/test/sim/cluster-simulation.ts", "simulateCluster"],
  browser: ["packages/peer/test/sim/indexed-simulation.ts", "simulateIndexed"],
  attachments: ["packages/engine/test/sim/attachment-simulation.ts", "simulateAttachments"],
  usual: ["packages/engine/test/sim/simulation.ts", "simulate"],
};
const chosen =
  ["links", "cluster", "browser", "attachments"].find((kind) => values[kind]) ?? "usual";
const [file, name] = KINDS[chosen];
const kinds = await bundled(file);
const simulate = kinds[name];

const startMs = Date.now();
const failures = [];
let done = 0;
let steps = 0;
let notifiedMs = startMs;
while (done < count && Date.now() < endMs) {
  const seed = first + done;
  try {
    const options = values.length === undefined ? {} : { length: Number(values.length) };
    const report = await simulate(seed, { ...options, isVerbose: values.verbose });
    steps += report.steps;
    if (count === 1) console.log(report);
  } catch (error) {
    if (!(error instanceof kinds.SimRunError)) throw error;
    console.log(error.message);
    failures.push(seed);
    if (!values.all) break;
  }
  done++;
  if (Date.now() - notifiedMs > 10_000) {
    notifiedMs = Date.now();
    console.log(`${done} seeds, ${failures.length} failed, up to seed ${seed}`);
  }
}

const seconds = (Date.now() - startMs) / 1000;
console.log(
  `${done} seeds from ${first}, ${steps} events, ${seconds.toFixed(1)} s; ` +
    (failures.length === 0 ? "all hold" : `failed: ${failures.join(", ")}`),
);
process.exitCode = failures.length === 0 ? 0 : 1;

async function bundled(entry) {
  const conditions = ["source", "node", "module", "import", "default"];
  const outDir = `${root}node_modules/.cache/sim-${process.pid}`;
  mkdirSync(outDir, { recursive: true });
  try {
    await build({
      root,
      configFile: false,
      logLevel: "error",
      resolve: { conditions },
      ssr: { noExternal: [/^@bigpeer\//], resolve: { conditions } },
      build: {
        ssr: `${root}${entry}`,
        outDir,
        target: "node20",
        minify: false,
        rollupOptions: { output: { entryFileNames: "simulation.mjs" } },
      },
    });
    return await import(pathToFileURL(`${outDir}/simulation.mjs`).href);
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}
