/**
 * The statement language against the recorded cases, on LMDB: the same outcomes as in memory.
 */

import { StatementRunner } from "@bigpeer/engine/query";
import { Store } from "@bigpeer/engine/store";
import { expect, test } from "vitest";
import { readCases } from "../../engine/test/conformance/cases.ts";
import { DIFFERENCES } from "../../engine/test/conformance/differences.ts";
import { complainAbout, type Executor } from "../../engine/test/conformance/runner.ts";
import { isFullSize } from "../../protocol/test/support/test-size.ts";
import { openLmdb } from "../src/lmdb/lmdb-key-value.ts";
import { nodePlatform } from "../src/node-platform.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

test.runIf(isFullSize)(
  "every recorded case has the recorded result on LMDB, or is a known difference",
  async () => {
    const store = await Store.open(openLmdb(temporaryFolder()), nodePlatform);
    const runner = new StatementRunner({ store, platform: nodePlatform, appId: "conformance" });
    const executor: Executor = {
      execute: (statement, args) => runner.execute({ statement, args }),
    };
    expect(await complainAbout(readCases(), executor, DIFFERENCES)).toEqual([]);
    await store.close();
  },
  300_000,
);
