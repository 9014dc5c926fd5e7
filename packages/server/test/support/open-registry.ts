/**
 * A registry that is open for one test, on a clock that the test may set.
 */

import { onTestFinished } from "vitest";
import { type TestPlatform, testPlatform } from "../../../engine/test/support/test-platform.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { Registry } from "../../src/registry/registry.ts";

export interface OpenRegistry {
  readonly registry: Registry;
  readonly dataDir: string;
  readonly platform: TestPlatform;
  /** What it logged. */
  readonly lines: readonly string[];
  /** Closes it and opens it again. */
  readonly reopen: () => Promise<Registry>;
}

export async function openRegistry(): Promise<OpenRegistry> {
  const dataDir = temporaryFolder();
  const platform = testPlatform();
  const { lines, ...host } = { ...testHost(), platform };
  let registry = await Registry.open(dataDir, host);
  onTestFinished(() => registry.close());
  const reopen = async (): Promise<Registry> => {
    await registry.close();
    registry = await Registry.open(dataDir, host);
    return registry;
  };
  return { registry, dataDir, platform, lines, reopen };
}
