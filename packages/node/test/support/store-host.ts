/**
 * What the stores of a process share, for tests: the real platform, and a log that is kept.
 */

import { nodePlatform } from "../../src/node-platform.ts";
import type { StoreHost } from "../../src/store-folder.ts";

export interface TestHost extends StoreHost {
  /** As the server has it as well: it tells of more than warnings. */
  readonly log: (level: string, message: string) => void;
  /** `level message` for each event so far, but for those that nobody sees unless he asks. */
  readonly lines: string[];
}

export function testHost(): TestHost {
  const lines: string[] = [];
  const log = (level: string, message: string): void => {
    if (level !== "debug") lines.push(`${level} ${message}`);
  };
  return { platform: nodePlatform, log, options: {}, lines };
}
