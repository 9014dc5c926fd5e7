/**
 * How the tests run. `unit` and `isolated` are everything that is quick and repeatable; the others
 * are random and endurance testing, which takes minutes.
 *
 * The files of `unit` share the modules of a process: a module is read once, not once for each file.
 * A file that changes its process for good is in `isolated` and gets a process of its own. A file
 * of `pair 1` and so on runs beside one other of it, and a file that needs the whole machine is in `alone`.
 *
 * `npm test` and `npm run test:long` run the built packages, which their set-up brings up to date.
 * `npx vitest`, `npm run coverage` and the files of `isolated` read the sources (the "source" export
 * condition), so no build is needed before them.
 */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { builtPackages, isBuilt } from "./test/support/built-packages.ts";

const conditions = ["source", "node", "module", "import", "default"];
const sources = { resolve: { conditions }, ssr: { resolve: { conditions } } };
const packages = isBuilt ? { plugins: [builtPackages()] } : sources;

/** `npm run test:full` runs all generated cases, `npm test` a part of them. */
const isFullSize = process.env["TEST_SIZE"] === "full";

/** No time decides a test: this is only for one that hangs, on any machine. */
const TIMEOUT_MS = isFullSize ? 300_000 : 120_000;

/** A wait ends when what it waits for has come, so a long limit costs nothing on a quiet machine. */
const patient = {
  setupFiles: ["./test/support/patient-waits.ts"],
  expect: { poll: { timeout: 30_000 } },
};

const longTests = ["packages/*/test/**/*.long.test.ts", "test/**/*.long.test.ts"];

/** Wait for a browser for most of their time. */
const browserTests = [
  "packages/console/test/**/*.long.test.ts",
  "packages/peer/test/web/**/*.long.test.ts",
  "packages/peer/test/react/*.long.test.ts",
];

/**
 * Files of many processes that leave room for one other. The first two have bounds on the time without
 * writes; the files beside them need little of the disk.
 */
const pairs = [
  [
    "packages/server/test/cluster/failures.long.test.ts",
    "packages/peer/test/presence-churn.long.test.ts",
    "packages/peer/test/ring.long.test.ts",
  ],
  ["packages/server/test/cluster/prove.long.test.ts", "test/bundlers.long.test.ts"],
  [
    "packages/peer/test/attachments.long.test.ts",
    "packages/server/test/delivery/changes.long.test.ts",
  ],
];

const aloneTests = [
  // Hundreds of peers in several processes; some watch memory.
  "packages/peer/test/*.long.test.ts",
  // Builds the packages and the documentation site, which other files read.
  "test/packages.long.test.ts",
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

/** Long tests that replace a module, which only works in the sources. */
const replacingTests = ["packages/engine/test/query/planted-fault.long.test.ts"];

/** The longest files, longest first: each starts before what is shorter, so that none is left over. */
const longest = [
  "sim/sim.long.test.ts",
  "management/management-kill.long.test.ts",
  "crdt/history.long.test.ts",
  "sim/crash.long.test.ts",
  "sim/link-simulation.long.test.ts",
  "killed-build.long.test.ts",
  "sync/stream-history.long.test.ts",
  "sigkill.long.test.ts",
  "damaged-store.long.test.ts",
  "permission-fuzz.long.test.ts",
  "web/tabs.long.test.ts",
  "web/storage/storage.long.test.ts",
  "cluster/failures.long.test.ts",
  // These wait much of their time.
  "maintenance/backup-schedule.test.ts",
  "client/test/recipes.test.ts",
  "peer/test/attachments.test.ts",
  "client/test/retries.test.ts",
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
    // Of the tests in one file that are marked as concurrent: they wait for other processes.
    maxConcurrency: 3,
    projects: [
      {
        ...packages,
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "test/*.test.ts"],
          exclude: [...longTests, ...isolatedTests],
          isolate: false,
          provide: { isFullSize },
          ...patient,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
        },
      },
      {
        ...sources,
        test: {
          name: "isolated",
          include: isolatedTests,
          provide: { isFullSize },
          ...patient,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
        },
      },
      {
        ...packages,
        test: {
          name: "long",
          include: longTests,
          exclude: [...pairs.flat(), ...aloneTests, ...browserTests, ...replacingTests],
          maxWorkers: 2,
          provide: { isFullSize: true },
          sequence: { groupOrder: 2 },
          ...patient,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...sources,
        test: {
          name: "replacing",
          include: replacingTests,
          maxWorkers: 2,
          provide: { isFullSize: true },
          sequence: { groupOrder: 2 },
          ...patient,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...packages,
        test: {
          name: "browsers",
          include: browserTests,
          maxWorkers: 2,
          provide: { isFullSize: true },
          sequence: { groupOrder: 3 },
          ...patient,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      ...pairs.map((include, i) => ({
        ...packages,
        test: {
          name: `pair ${i + 1}`,
          include,
          maxWorkers: 2,
          provide: { isFullSize: true },
          sequence: { groupOrder: 4 + i },
          ...patient,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      })),
      {
        ...packages,
        test: {
          name: "alone",
          include: aloneTests,
          exclude: pairs.flat(),
          maxWorkers: 1,
          provide: { isFullSize: true },
          sequence: { groupOrder: 4 + pairs.length },
          ...patient,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
