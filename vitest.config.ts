/**
 * How the tests run. Packages are read from their sources (the "source" export condition), so no
 * build is needed before a test. `unit` and `isolated` are everything that is quick and repeatable;
 * `long` and `alone` are random and endurance testing, which takes minutes.
 *
 * The files of `unit` share the modules of a process: a module is read once, not once for each file.
 * A file that changes its process for good is in `isolated` and gets a process of its own. A file
 * that needs the whole machine is in `alone`.
 */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const conditions = ["source", "node", "module", "import", "default"];
const resolve = { conditions };
const ssr = { resolve: { conditions } };

/** `npm run test:full` runs all generated cases, `npm test` a part of them. */
const isFullSize = process.env["TEST_SIZE"] === "full";

const longTests = ["packages/*/test/**/*.long.test.ts", "test/**/*.long.test.ts"];

const aloneTests = [
  // Hundreds of peers in several processes; some watch time and memory.
  "packages/peer/test/**/*.long.test.ts",
  // Limits the time of a statement.
  "packages/engine/test/query/mangled-statement.long.test.ts",
];

const isolatedTests = [
  // Count the steps of code, which must be compiled after counting began.
  "packages/*/test/**/*growth.test.ts",
  "packages/server/test/http/body-decoder.test.ts",
  // Measure the heap.
  "packages/protocol/test/decoded-size.test.ts",
  "packages/server/test/observability/process-stats.test.ts",
  // Replaces a module.
  "packages/engine/test/peer/peer-bookkeeping.test.ts",
];

/** The longest files, longest first: each starts before what is shorter, so that none is left over. */
const longest = [
  "sim/sim.long.test.ts",
  "crdt/history.long.test.ts",
  "sim/link-simulation.long.test.ts",
  "sim/crash.long.test.ts",
  "sigkill.long.test.ts",
  "damaged-store.long.test.ts",
  "permission-fuzz.long.test.ts",
  // These wait much of their time.
  "sync/device-records.test.ts",
  "peer/test/documentation.test.ts",
  "link/links.test.ts",
  "link/link-tls.test.ts",
];

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex((name) => moduleId.endsWith(name));
  return place === -1 ? longest.length : place;
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts"],
      reporter: ["text-summary", "json-summary"],
    },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "test/*.test.ts"],
          exclude: [...longTests, ...isolatedTests],
          isolate: false,
          provide: { isFullSize },
          testTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "isolated",
          include: isolatedTests,
          provide: { isFullSize },
          testTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "long",
          include: longTests,
          exclude: aloneTests,
          maxWorkers: 2,
          provide: { isFullSize: true },
          sequence: { groupOrder: 2 },
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "alone",
          include: aloneTests,
          maxWorkers: 1,
          provide: { isFullSize: true },
          sequence: { groupOrder: 3 },
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
