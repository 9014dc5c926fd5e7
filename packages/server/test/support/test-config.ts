/**
 * The configuration of a server in a test: the defaults, a folder of its own, a free port.
 */

import { type Config, readConfig } from "../../src/config.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export function testConfig(changes: Partial<Config> = {}): Config {
  const defaults = readConfig(new Map([["--port", "0"]]), {});
  return { ...defaults, dataDir: changes.dataDir ?? temporaryFolder(), ...changes };
}
