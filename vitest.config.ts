/**
 * How the tests run. Packages are read from their sources (the "source" export condition), so no
 * build is needed before a test. `unit` is everything that is quick and repeatable; `long` is
 * random and endurance testing, which may take minutes.
 */
import { defineConfig } from "vitest/config";

const conditions = ["source", "node", "module", "import", "default"];
const resolve = { conditions };
const ssr = { resolve: { conditions } };

const longTests = ["packages/*/test/**/*.long.test.ts", "test/**/*.long.test.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        ssr,
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "test/*.test.ts"],
          exclude: longTests,
          testTimeout: 60_000,
        },
      },
      {
        resolve,
        ssr,
        test: {
          name: "long",
          include: longTests,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
